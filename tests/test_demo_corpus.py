"""The demo corpus: what ships is what its generator writes, and it shows what the package is for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import combinations
from random import Random

import pytest

from spanwise.demo import demo_folder, unseen_text
from spanwise.demo.generator import SIZES, generate
from spanwise.demo.grammar import Writer, read_rules
from spanwise.demo.names import Names, read_names
from spanwise.demo.schema import demo_schema
from spanwise.document import Document, Entity, Relation
from spanwise.schema import Schema

NAMED = {"Person", "Organization", "Place", "Facility", "Product"}
EVENTS = {"Acquire", "Appoint", "Open", "Strike", "Fund", "Win"}


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[Document]]:
    return {split: [_document(line) for line in _lines(split)] for split in SIZES}


def _lines(split: str) -> list[str]:
    return (demo_folder() / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()


def _document(line: str) -> Document:
    record = json.loads(line)
    entities = [Entity(**entity) for entity in record["entities"]]
    relations = [Relation(**relation) for relation in record["relations"]]
    return Document(record["text"], entities=entities, relations=relations, id=record["id"])


def _depth(document: Document) -> int:
    def around(inner: Entity) -> int:
        return sum(outer.start <= inner.start and inner.end <= outer.end for outer in document.entities)

    return max(map(around, document.entities), default=0)


def test_the_command_writes_the_files_that_ship(tmp_path):
    subprocess.run([sys.executable, "-m", "spanwise.demo.generator", "--seed", "13", "--out", tmp_path], check=True)
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["dev.jsonl", "schema.json", "test.jsonl", "train.jsonl"]
    for name in written:
        assert (tmp_path / name).read_bytes() == (demo_folder() / name).read_bytes()


def test_another_seed_gives_other_sentences(corpus):
    assert generate(seed=14)["test"] != corpus["test"]


def test_splits_have_their_size_and_the_folder_stays_small(corpus):
    assert {split: len(documents) for split, documents in corpus.items()} == SIZES
    assert sum(path.stat().st_size for path in demo_folder().iterdir()) < 600_000


def test_sentences_are_short_and_long(corpus):
    lengths = [len(document.text.split()) for documents in corpus.values() for document in documents]
    assert (min(lengths) >= 4, max(lengths) <= 40) == (True, True)
    assert sum(length <= 9 for length in lengths) > len(lengths) // 4
    assert sum(length >= 16 for length in lengths) > len(lengths) // 4


def test_names_are_varied(corpus):
    people = [d.text_of(e) for d in corpus["train"] for e in d.entities if e.label == "Person"]
    assert len(set(people)) > 0.9 * len(people)
    assert len({name.split()[0] for name in people}) > 150
    assert len({name.split()[-1] for name in people}) > 300
    shapes = {
        "hyphen": "-",
        "initial": r"\b[A-Z]\. ",
        "particle": r" (van|de|al) ",
        "three names": r"\w{3,} \w{3,} \w{3,}",
    }
    for shape, pattern in shapes.items():
        assert sum(bool(re.search(pattern, name)) for name in people) >= 5, shape


def test_a_frame_does_not_give_the_label_away(corpus):
    """What makes the front page is a person, a company, a place, a building or a product."""
    frame = re.compile(r"made the front page|are in the news again|know very little about|song about")
    labels = {e.label for d in corpus["train"] if frame.search(d.text) for e in d.entities}
    assert labels >= {"Person", "Organization", "Place", "Facility"}


def test_words_are_shared_by_people_places_and_companies():
    """A coined word may be a surname, a town or a brand; only the words around it tell."""
    drawn = {kind: _drawn(kind) for kind in ("surname", "town", "brand")}
    for one, other in combinations(drawn, 2):
        assert len(drawn[one] & drawn[other]) > 10, (one, other)


def _drawn(kind: str) -> set[str]:
    names = Names(Random(1), "train", read_names(_text("names.txt")))  # noqa: S311
    found = set()
    for _ in range(20_000):
        names.start_sentence()
        found.add(names.draw(kind))
    return found


def _text(name: str) -> list[str]:
    return (demo_folder() / name).read_text(encoding="utf-8").splitlines()


def test_no_part_of_a_person_is_shared_by_two_splits(corpus):
    titles = {"Dr", "Mr", "Ms", "Mrs", "Professor", "Judge", "Captain"}
    parts = {}
    for split, documents in corpus.items():
        people = [d.text_of(e) for d in documents for e in d.entities if e.label == "Person"]
        parts[split] = {part for name in people for part in re.findall(r"[A-Z][\w']+", name)} - titles
    for one, other in combinations(SIZES, 2):
        assert not parts[one] & parts[other]


def test_no_sentence_comes_twice_and_no_name_in_two_splits(corpus):
    texts = [document.text for documents in corpus.values() for document in documents]
    assert len(set(texts)) == len(texts)
    names = {
        split: {d.text_of(e) for d in documents for e in d.entities if e.label in NAMED}
        for split, documents in corpus.items()
    }
    for one, other in combinations(SIZES, 2):
        assert not names[one] & names[other]


def test_spans_start_and_end_at_words(corpus):
    for documents in corpus.values():
        for document in documents:
            for entity in document.entities:
                around = document.text[max(0, entity.start - 1) : entity.start], document.text[entity.end :][:1]
                assert not any(character.isalnum() for character in around), document.text_of(entity)
                assert document.text_of(entity) == document.text_of(entity).strip()


def test_offsets_slice_to_the_names(corpus):
    universities = 0
    for document in corpus["train"]:
        slices = {(document.text_of(entity), entity.label) for entity in document.entities}
        for name, label in slices:
            if label == "Organization" and name.startswith("University of "):
                universities += 1
                assert (name.removeprefix("University of "), "Place") in slices
            if label == "Money":
                assert name[0] in "$€£" or name.endswith(("crowns", "francs", "marks"))
    assert universities > 20


def test_every_split_has_nesting_relations_events_and_sentences_without_entities(corpus):
    for documents in corpus.values():
        depths = [_depth(document) for document in documents]
        assert depths.count(0) >= len(documents) // 20
        assert sum(depth == 2 for depth in depths) >= len(documents) // 4
        assert sum(depth >= 3 for depth in depths) >= len(documents) // 20
        assert {e.label for d in documents for e in d.entities} == set(demo_schema().entity_names)
        assert sum(bool(d.relations) for d in documents) > len(documents) // 2


def test_the_schema_describes_every_label_and_fits_every_relation(corpus):
    schema = Schema.from_dict(json.loads((demo_folder() / "schema.json").read_text(encoding="utf-8")))
    assert schema == demo_schema()
    assert all(kind.description.endswith(".") for kind in (*schema.entities, *schema.relations))
    kinds = {kind.name: kind for kind in schema.relations}
    for split, documents in corpus.items():
        schema.check(documents, split)
        for document in documents:
            for relation in document.relations:
                assert document.entities[relation.head].label in kinds[relation.label].head_types, document.text
                assert document.entities[relation.tail].label in kinds[relation.label].tail_types, document.text


def test_event_triggers_have_arguments(corpus):
    triggers = arguments = 0
    for document in corpus["train"]:
        heads = {relation.head for relation in document.relations}
        found = [index for index, entity in enumerate(document.entities) if entity.label in EVENTS]
        triggers, arguments = triggers + len(found), arguments + len(heads.intersection(found))
    assert arguments == triggers > 150


def test_the_unseen_text_holds_no_name_of_the_corpus(corpus):
    text = unseen_text()
    assert 6 <= len([part for part in text.replace("\n", " ").split(". ") if part]) <= 8
    for documents in corpus.values():
        for document in documents:
            for entity in document.entities:
                name = document.text_of(entity)
                assert entity.label not in NAMED or not re.search(rf"\b{re.escape(name)}\b", text), name


def test_a_grammar_relation_must_use_names_of_its_template():
    writer = _writer("[place = Place]", "{town}", "[bad]", "A road to {p:place}. :: p located_in q")
    with pytest.raises(ValueError, match="uses the name 'q'"):
        writer.expand("bad")


def test_nested_rules_carry_their_relations_along():
    bank = ("[o = Organization]", "Bank of {x:p} :: self located_in x")
    phrase = _writer("[p = Place]", "Oz", *bank, "[s]", "At {b:o}, in {c:p}.").expand("s")
    assert phrase.text == "At Bank of Oz, in Oz."
    assert [(phrase.text[e.start : e.end], e.label) for e in phrase.entities] == [
        ("Oz", "Place"),
        ("Bank of Oz", "Organization"),
        ("Oz", "Place"),
    ]
    assert phrase.relations == (Relation(1, 0, "located_in"),)
    assert dict(phrase.names) == {"b": 1, "b/x": 0, "c": 2}


def _writer(*lines: str) -> Writer:
    random = Random(0)  # noqa: S311
    return Writer(
        read_rules(lines), Names(random, "train", {"town": ["Oz", "Ys", "Is"], "stem": ["As", "Es", "Os"]}), random
    )
