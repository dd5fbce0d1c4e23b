"""What a run is trained and scored on: descriptions, fewer documents or labels, heads, and each document once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import corpora
from spanwise.corpora import Corpus
from spanwise.corpora.options import DataOptions
from spanwise.corpora.selection import Selection, select
from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import CorpusError, RecipeError, SchemaError
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.text.alignment import AlignedDocument, align
from spanwise.text.profile import profile
from spanwise.text.words import segment

PEOPLE, PLACES = {"Person": "people, by name"}, {"Place": "towns and countries"}


@pytest.fixture
def files(easy_files: Path, tmp_path: Path) -> Path:
    """A copy of the easy corpus, without descriptions."""
    return Path(shutil.copytree(easy_files, tmp_path / "files"))


def chosen(files: Path, seed: int = 1, **options: Any) -> Selection:
    paths = {split: files / f"{split}.jsonl" for split in ("train", "dev", "test")}
    return select(DataOptions(**{**paths, **options}), seed=seed)


def given_corpus(corpus: Corpus, seed: int = 1, **options: Any) -> Selection:
    return select(DataOptions(corpus="demo", **options), seed=seed, corpus=corpus)


def describe(path: Path, **sections: dict[str, str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(sections))
    return path


def texts_of(schema: Schema) -> dict[str, str]:
    return {kind.name: kind.description for kind in schema.entities}


def documents(rows: Sequence[AlignedDocument]) -> tuple[Document, ...]:
    return tuple(row.document for row in rows)


def ids(rows: Sequence[AlignedDocument]) -> list[str]:
    return [row.document.id for row in rows]


def labels_of(document: Document) -> set[str]:
    return {entity.label for entity in document.entities}


def test_descriptions_beside_the_training_file_are_taken(files: Path) -> None:
    assert texts_of(chosen(files).schema) == {"Person": "", "Place": ""}
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    assert texts_of(chosen(files).schema) == {**PEOPLE, **PLACES}


def test_descriptions_beside_the_first_training_file_that_has_some_are_taken(files: Path) -> None:
    both = [files / name / "train.jsonl" for name in ("one", "two")]
    for path in both:
        path.parent.mkdir()
        shutil.copy(files / "train.jsonl", path)
    describe(files / "two" / "descriptions.yaml", entities=PLACES)
    assert texts_of(chosen(files, train=both).schema) == {"Person": "", **PLACES}
    describe(files / "one" / "descriptions.yaml", entities=PEOPLE)
    assert texts_of(chosen(files, train=both).schema) == {**PEOPLE, "Place": ""}


def test_descriptions_of_the_recipe_go_before_those_beside_the_file(files: Path) -> None:
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    mine = describe(files / "other" / "mine.yaml", entities={"Person": "someone"})
    assert texts_of(chosen(files, descriptions=mine).schema) == {"Person": "someone", "Place": ""}
    inline = {"entities": {"Place": "somewhere"}}
    assert texts_of(chosen(files, descriptions=inline).schema) == {"Person": "", "Place": "somewhere"}


def test_descriptions_of_the_recipe_take_the_place_of_those_of_a_corpus(flat_corpus: Corpus) -> None:
    own = texts_of(flat_corpus.schema)
    found = given_corpus(flat_corpus, descriptions={"entities": {"Place": "somewhere"}})
    assert texts_of(found.schema) == {**own, "Place": "somewhere"} != own
    assert given_corpus(flat_corpus).schema == flat_corpus.schema


def test_this_many_sentences_of_each_description_are_kept(files: Path) -> None:
    person, place = "Someone, e.g. Ann. Not a god! Not a dog.", "Somewhere."
    describe(files / "descriptions.yaml", entities={"Person": person, "Place": place})
    first = {n: texts_of(chosen(files, description_sentences=n).schema) for n in (1, 2, 3, 9)}
    assert first[1] == {"Person": "Someone, e.g. Ann.", "Place": place}
    assert first[2] == {"Person": "Someone, e.g. Ann. Not a god!", "Place": place}
    assert first[3] == first[9] == texts_of(chosen(files).schema) == {"Person": person, "Place": place}


def test_relations_are_described_as_well(flat_corpus: Corpus) -> None:
    corpus = replace(flat_corpus, schema=replace(flat_corpus.schema, relations=(RelationType("in", "at"),)))
    found = given_corpus(corpus, descriptions={"relations": {"in": "is found in"}})
    assert found.schema.relations == (RelationType("in", "is found in"),)


def test_a_description_of_a_label_that_the_data_lacks_is_refused(files: Path) -> None:
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES, "Planet": "worlds"})
    with pytest.raises(SchemaError, match=r"'Planet' has a description, but the data has no such entity type"):
        chosen(files)


def test_a_sample_is_the_same_for_every_seed(files: Path) -> None:
    whole, drawn = chosen(files), [chosen(files, seed, sample=10) for seed in (1, 2, 3)]
    assert len({tuple(ids(selection.train)) for selection in drawn}) == 1
    assert len(set(ids(drawn[0].train))) == 10
    assert [id for id in ids(whole.train) if id in ids(drawn[0].train)] == ids(drawn[0].train)
    assert drawn[0].split("dev") == whole.split("dev")


def test_the_sample_is_the_one_of_earlier_versions(files: Path) -> None:
    drawn = ids(chosen(files, sample=5).train)
    assert drawn == ["train-8", "train-16", "train-27", "train-36", "train-44"]


def test_the_shots_are_those_of_earlier_versions(files: Path) -> None:
    assert ids(chosen(files, 3, shots=2).train) == ["train-32", "train-41", "train-54", "train-55"]


def test_a_larger_sample_holds_the_smaller_one_and_at_most_everything(files: Path) -> None:
    small, large = (set(ids(chosen(files, sample=size).train)) for size in (5, 20))
    assert small < large
    assert chosen(files, sample=1000).train == chosen(files).train


def test_shots_are_drawn_for_each_label_by_the_seed(files: Path) -> None:
    one = chosen(files, 1, shots=3)
    assert len(set(ids(one.train))) == len(one.train) == 2 * 3  # three for each of two labels: there are enough
    for label in ("Person", "Place"):
        assert sum(label in labels_of(document) for document in documents(one.train)) >= 3
    assert chosen(files, 1, shots=3).train == one.train
    assert len({tuple(ids(chosen(files, seed, shots=3).train)) for seed in range(1, 6)}) == 5


def test_with_shots_there_is_no_dev_split_to_score_on(files: Path) -> None:
    assert chosen(files).splits == ("dev", "test")
    assert chosen(files, shots=3).splits == ("test",)
    assert chosen(files, shots=3).split("test") == chosen(files).split("test")


def test_a_label_with_few_documents_gives_all_it_has(files: Path) -> None:
    marked = [row.document.id for row in chosen(files).train if row.document.entities]
    assert ids(chosen(files, shots=1000).train) == marked


marked_texts = st.lists(st.sets(st.sampled_from("ABCD"), max_size=4), min_size=1, max_size=14)


@settings(max_examples=80)
@given(marked_texts, st.integers(1, 4), st.integers(0, 5))
def test_shots_bring_this_many_documents_of_every_label_that_has_them(
    texts: list[set[str]], shots: int, seed: int
) -> None:
    train = tuple(
        Document("word", entities=tuple(Entity(0, 4, label) for label in sorted(labels)), id=str(number))
        for number, labels in enumerate(texts)
    )
    schema = Schema(tuple(map(EntityType, "ABCD")))
    corpus = Corpus("drawn", {"train": train, "dev": train[:1], "test": train[-1:]}, schema)
    found = documents(given_corpus(corpus, seed, shots=shots).train)
    for label in "ABCD":
        there, taken = (sum(label in labels_of(document) for document in row) for row in (train, found))
        assert taken >= min(shots, there)
    assert len(found) <= shots * len(set().union(*texts))
    assert [document.id for document in train if document.id in {d.id for d in found}] == [d.id for d in found]


def test_shots_are_drawn_from_a_sample(files: Path) -> None:
    few = chosen(files, sample=6, shots=1)
    assert set(ids(few.train)) < set(ids(chosen(files, sample=6).train))


def test_several_splits_are_trained_on_together_and_only_others_are_to_be_scored(files: Path) -> None:
    whole, both = chosen(files), chosen(files, train_on=["train", "dev"])
    assert both.train == (*whole.train, *whole.split("dev"))
    assert both.splits == ("test",)
    assert both.split("dev") == whole.split("dev")  # for an evaluation that asks for it
    other = chosen(files, train_on=["dev"])
    assert (other.train, other.splits) == (whole.split("dev"), ("train", "test"))
    assert other.split("train") == whole.train


def test_a_sample_is_drawn_from_all_splits_that_are_trained_on_and_leaves_the_scored_ones_alone(files: Path) -> None:
    drawn = chosen(files, train_on=["dev", "train"], sample=40)
    assert {id.partition("-")[0] for id in ids(drawn.train)} == {"train", "dev"}
    assert drawn.split("train") == chosen(files).train
    assert drawn.split("test") == chosen(files).split("test")


def test_a_sample_of_dev_is_the_same_for_every_seed_and_leaves_the_other_splits_alone(files: Path) -> None:
    everything, few = chosen(files), chosen(files, sample_dev=3)
    assert len(few.split("dev")) == 3 < len(everything.split("dev"))
    assert ids(few.split("dev")) == ids(chosen(files, seed=2, sample_dev=3).split("dev"))
    assert set(ids(few.split("dev"))) <= set(ids(everything.split("dev")))
    assert ids(few.train) == ids(everything.train)
    assert ids(few.split("test")) == ids(everything.split("test"))
    assert len(chosen(files, sample_dev=10_000).split("dev")) == len(everything.split("dev"))


def test_dev_documents_that_are_trained_on_are_not_sampled(files: Path) -> None:
    both = chosen(files, train_on=("train", "dev"), sample_dev=3)
    assert ids(both.train) == ids(chosen(files, train_on=("train", "dev")).train)


def test_an_unknown_split_is_refused_with_those_there_are(files: Path) -> None:
    with pytest.raises(CorpusError, match=r"has no split 'eval'; it has \['dev', 'test', 'train'\]"):
        chosen(files).split("eval")
    with pytest.raises(CorpusError, match="has no split 'eval'"):
        chosen(files, train_on=["train", "eval"])
    with pytest.raises(CorpusError, match="has no split 'eval'"):
        chosen(files, leave_out=["Place"]).held_out("eval")


def test_a_type_that_is_left_out_is_in_no_split_and_not_in_the_schema(files: Path) -> None:
    whole, seen = chosen(files), chosen(files, leave_out=["Place"])
    assert seen.schema.entity_names == ("Person",)
    assert seen.splits == whole.splits
    rows = [(seen.train, whole.train), *((seen.split(name), whole.split(name)) for name in ("train", "dev", "test"))]
    for found, before in rows:  # documents stay, also those where nothing else was marked
        assert found == tuple(align(document.filter_labels(["Person"])) for document in documents(before))
    assert sum(len(document.entities) for document in documents(seen.train)) > 10


def test_a_type_that_is_left_out_may_but_need_not_be_described(files: Path) -> None:
    describe(files / "descriptions.yaml", entities=PEOPLE)
    assert texts_of(chosen(files, leave_out=["Place"]).schema) == PEOPLE
    describe(files / "descriptions.yaml", entities={**PEOPLE, **PLACES})
    assert texts_of(chosen(files, leave_out=["Place"]).schema) == PEOPLE


def test_shots_are_drawn_for_the_types_that_are_not_left_out(files: Path) -> None:
    few = chosen(files, leave_out=["Person"], shots=3)
    assert [labels_of(document) for document in documents(few.train)] == [{"Place"}] * 3


def test_a_type_to_leave_out_that_is_not_there_is_refused(files: Path) -> None:
    with pytest.raises(SchemaError, match=r"unknown entity type 'Town' in data.leave_out; choose from .*Place"):
        chosen(files, leave_out=["Place", "Town"])


def test_leaving_out_every_type_leaves_nothing_to_learn(files: Path) -> None:
    with pytest.raises(RecipeError, match="contains no entities; check the files"):
        chosen(files, leave_out=["Person", "Place"])


def test_a_corpus_without_training_documents_is_refused(flat_corpus: Corpus) -> None:
    with pytest.raises(RecipeError, match="corpus 'flat' has no training documents; it has dev"):
        given_corpus(replace(flat_corpus, splits={"dev": flat_corpus.splits["dev"]}))


def test_labels_left_out_are_there_to_be_asked_for_with_their_descriptions(files: Path) -> None:
    describe(files / "descriptions.yaml", entities={**PEOPLE, "Place": "towns. And countries."})
    schema, gold = chosen(files, leave_out=["Place"], description_sentences=1).held_out("test")
    assert schema == Schema((EntityType("Place", "towns."),))
    whole = documents(chosen(files).split("test"))
    assert gold == tuple(align(document.filter_labels(["Place"])) for document in whole)
    assert chosen(files).held_out("test") == (Schema(), ())


def test_relations_go_with_the_entities_that_are_left_out(flat_corpus: Corpus) -> None:
    """Of the first sentence's persons one knows the other, and lives in the place, which lies in itself."""
    document = flat_corpus.splits["train"][0]
    links = [Relation(0, 1, "knows"), Relation(0, 2, "lives in"), Relation(2, 2, "in")]
    linked = document.with_annotations(document.entities, links)
    schema = replace(flat_corpus.schema, relations=tuple(map(RelationType, ("knows", "lives in", "in"))))
    corpus = Corpus("linked", {"train": (linked,), "test": (linked,)}, schema)
    found = given_corpus(corpus, leave_out=["Place"])
    assert found.schema.relation_names == schema.relation_names
    for (row,) in (found.train, found.split("test")):
        assert row.document.relations == (Relation(0, 1, "knows"),)
    hidden, gold = found.held_out("test")
    assert [labels_of(row.document) for row in gold] == [{"Place"}]
    hidden.check(documents(gold), "what is asked for")  # so that it has no relations either


def test_entities_are_narrowed_to_their_heads_everywhere_where_the_recipe_says_so() -> None:
    """Both places of the sentence have the same head."""
    named = Document.from_words(
        ["Upper", "Dale", "rained", "on", "Ann"], [(0, 2, "Place"), (1, 2, "Place"), (4, 5, "P")]
    )
    headed = named.with_annotations([replace(named.entities[0], head=Offsets(6, 10)), *named.entities[1:]])
    corpus = Corpus("headed", {"train": (headed,), "test": (headed,)}, Schema.from_documents([headed]))
    whole, heads = (given_corpus(corpus, heads=heads, leave_out=["P"]) for heads in (False, True))
    for rows in (whole.train, whole.split("test")):
        assert [row.spans for row in rows] == [((0, 2), (1, 2))]
    for rows in (heads.train, heads.split("test")):
        assert [row.spans for row in rows] == [((1, 2), (1, 2))]
    corpus = replace(corpus, schema=Schema((EntityType("P"), EntityType("Place"))))
    assert given_corpus(corpus, heads=True, leave_out=["Place"]).held_out("test")[1] == heads.train


def test_flat_training_entities_are_the_outermost_and_what_is_scored_keeps_all(nested_corpus: Corpus) -> None:
    first, *others = nested_corpus.splits["train"]
    linked = first.with_annotations(first.entities, [Relation(0, 1, "in"), Relation(0, 0, "is")])
    schema = replace(nested_corpus.schema, relations=(RelationType("in"), RelationType("is")))
    whole = given_corpus(Corpus("nested", {"train": (linked, *others), "dev": (linked,)}, schema))
    assert whole.profile.nested
    flat, entities, relations = whole.flattened()
    assert not flat.profile.nested
    assert not flat.profile.shared_entities
    assert (entities, relations) == (5, 1)
    assert flat.train[0].document.relations == (Relation(0, 0, "is"),)
    assert sum(len(row.spans) for row in whole.train) - sum(len(row.spans) for row in flat.train) == entities
    assert flat.train == tuple(map(align, documents(flat.train)))
    assert (flat.split("dev"), flat.split("train")) == (whole.split("dev"), whole.train)
    assert (flat.name, flat.schema, flat.splits) == (whole.name, whole.schema, whole.splits)
    assert flat.flattened()[1:] == (0, 0)


def test_of_two_labels_on_one_span_the_first_is_kept_and_a_repeated_entity_stays() -> None:
    document = Document.from_words("ab", [(0, 1, "Y"), (0, 1, "X"), (0, 1, "Y"), (1, 2, "X")])
    corpus = Corpus("shared", {"train": (document,)}, Schema.from_documents([document]))
    flat, entities, _ = given_corpus(corpus).flattened()
    assert [entity.label for entity in flat.train[0].document.entities] == ["Y", "Y", "X"]
    assert entities == 1


def test_all_labels_of_an_outermost_span_stay_where_the_model_takes_several() -> None:
    document = Document.from_words("abc", [(0, 2, "Y"), (0, 2, "X"), (0, 1, "X"), (0, 1, "Y"), (2, 3, "X")])
    corpus = Corpus("shared", {"train": (document,)}, Schema.from_documents([document]))
    flat, entities, _ = given_corpus(corpus).flattened(keep_shared=True)
    assert flat.train == (align(document.select_entities([0, 1, 4])),)
    assert (entities, flat.profile.nested, flat.profile.shared_entities) == (2, False, 2)


def test_the_profile_is_that_of_the_training_documents(files: Path) -> None:
    whole = chosen(files)
    assert whole.profile == profile(whole.train)
    assert chosen(files, sample=10).profile.documents == 10
    assert chosen(files, leave_out=["Place"]).profile.labels == 1


def test_only_documents_that_are_asked_for_are_segmented_and_each_once(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segmented: list[str] = []
    monkeypatch.setattr("spanwise.text.alignment.segment", lambda text: segmented.append(text) or segment(text))
    found = chosen(files, sample=10, leave_out=["Place"])
    assert len(segmented) == 0
    assert [len(found.train), len(segmented)] == [10, 10]
    assert [len(found.split("dev")), len(segmented)] == [24, 34]
    found.held_out("dev"), found.flattened(), found.profile, found.split("dev")
    assert len(segmented) == 34
    found.split("train")
    assert len(segmented) == 24 + 64


def test_documents_are_checked_when_they_are_read_and_not_again(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    check = Document._check
    monkeypatch.setattr(Document, "_check", lambda document: checked.append(document.id) or check(document))
    found = chosen(files, heads=True, leave_out=["Place"], shots=5)
    found.flattened(), found.held_out("test"), found.split("test"), found.train
    assert len(checked) == len(set(checked)) == 64 + 24 + 24


def test_a_named_corpus_is_loaded_and_a_given_one_is_taken_as_it_is(
    flat_corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "load", lambda name: replace(flat_corpus, name=name))
    assert select(DataOptions(corpus="demo"), seed=1).name == "demo"
    assert given_corpus(flat_corpus).name == "flat"
    assert documents(given_corpus(flat_corpus).train) == flat_corpus.splits["train"]


def test_the_report_tells_what_reading_left_out(files: Path) -> None:
    train = files / "train.jsonl"
    train.write_text(train.read_text() + "{oops\n" + json.dumps({"text": "Ann left.", "spans": []}) + "\n")
    report = chosen(files, skip_bad=True).report
    assert report.bad == 1
    assert any("field 'spans'" in sentence for sentence in report.sentences())
