"""The choice among several annotators of one text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.corpora import Corpus, from_files
from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats import Report, read, write
from spanwise.formats.annotators import Version, choose, majority
from spanwise.formats.reading import Reader

TEXT = "Ann left Halden for Osaka"
PERSON, PLACE, OTHER = Entity(0, 3, "PER"), Entity(9, 15, "LOC"), Entity(9, 15, "GPE")


def versions(*documents: Document) -> list[Version]:
    return [Version(f"a{number}", document) for number, document in enumerate(documents)]


def test_the_majority_needs_more_than_half() -> None:
    related = Document(TEXT, entities=(PLACE, PERSON), relations=(Relation(1, 0, "left"),))
    other = Document(TEXT, entities=(PERSON, OTHER))
    assert majority(versions(related, other)).entities == (PERSON,)
    voted = majority(
        versions(related, other, Document(TEXT, entities=related.entities[::-1], relations=(Relation(0, 1, "left"),)))
    )
    assert {voted.text_of(e) for e in voted.entities} == {"Ann", "Halden"}
    assert [(voted.text_of(voted.entities[r.head]), r.label) for r in voted.relations] == [("Ann", "left")]


ENTITIES = st.lists(
    st.builds(lambda start, width: Entity(start, start + width, "X"), st.integers(0, 9), st.integers(1, 3)), max_size=4
)


@settings(max_examples=50, deadline=None)
@given(st.lists(ENTITIES, min_size=1, max_size=5))
def test_the_majority_is_a_count(marked: list[list[Entity]]) -> None:
    voted = majority(versions(*(Document(TEXT, entities=tuple(entities)) for entities in marked)))
    every = {entity for entities in marked for entity in entities}
    assert set(voted.entities) == {e for e in every if 2 * sum(e in entities for entities in marked) > len(marked)}
    assert len(voted.entities) == len(set(voted.entities))


def test_a_later_annotation_replaces_an_earlier_one_of_the_same_annotator() -> None:
    reader = Reader(Path("x"), None, skip_bad=False, report=Report())
    found = choose([Version("ann", Document(TEXT, entities=(PERSON,))), Version("ann", Document(TEXT))], reader)
    assert list(found) == [Document(TEXT)]
    assert reader.report.dropped == {"earlier annotation by the same annotator": 1}


def test_formats_without_annotators_refuse_the_option(tmp_path: Path) -> None:
    write([Document(TEXT)], tmp_path / "x.jsonl")
    with pytest.raises(FormatError, match="files of 'jsonl' do not name annotators; leave the annotator out"):
        list(read(tmp_path / "x.jsonl", annotator="ann"))


def test_a_recipe_chooses_an_annotator(tmp_path: Path) -> None:
    lines = "".join(
        f'{{"text": "{TEXT}", "spans": [{spans}], "answer": "accept", "_annotator_id": "{name}"}}\n'
        for name, spans in (("ann", '{"start": 0, "end": 3, "label": "PER"}'), ("bo", ""))
    )
    (tmp_path / "train.jsonl").write_text(lines)
    corpus: Corpus = from_files([tmp_path / "train.jsonl"], annotator="ann")
    assert corpus.splits["train"][0].entities == (PERSON,)
