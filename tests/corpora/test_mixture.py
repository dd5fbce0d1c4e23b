"""Several corpora at once: each keeps its labels, and what it was annotated for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spanwise.corpora.label_texts import read_open
from spanwise.corpora.mixture import Mixture, mix
from spanwise.corpora.options import DataOptions
from spanwise.corpora.selection import select
from spanwise.document import ANNOTATED
from spanwise.errors import RecipeError


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two corpora; both have the label date, which only the second describes."""
    rows = {
        "news": [("Mara came on Monday .", 0, 4, "person-name"), ("It rained on Friday .", 13, 19, "date")],
        "notes": [("Take aspirin daily .", 5, 12, "Drug"), ("Seen on 3 May .", 8, 13, "date")],
    }
    paths = []
    for name, records in rows.items():
        paths.append(tmp_path / name / "train.jsonl")
        paths[-1].parent.mkdir()
        lines = (
            {"text": text, "entities": [{"start": start, "end": end, "label": label}]}
            for text, start, end, label in records
        )
        paths[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "notes" / "descriptions.yaml").write_text("entities: {Drug: a medicine, date: a day}\n")
    return [path.rename(path.with_name(f"{path.parent.name}.jsonl")) for path in paths]


def mixed(files: list[Path], **options: Any) -> Mixture:
    return mix(DataOptions(corpora=[{"train": [file]} for file in files], **options), seed=1)


def test_each_corpus_keeps_its_labels(files: list[Path]) -> None:
    data = mixed(files)
    assert [part.schema.entity_names for part in data.parts] == [("date", "person-name"), ("Drug", "date")]
    assert {kind.name: kind.description for kind in data.schema.entities} == {
        "date": "",
        "person name": "",
        "Drug": "a medicine",
    }
    assert len(data.train) == 4


def test_options_beside_the_list_are_those_of_every_corpus_without_its_own(files: list[Path]) -> None:
    options = DataOptions(corpora=[{"train": [files[0]]}, {"train": [files[1]], "sample": 2}], sample=1)
    assert [part.sample for part in options.corpora] == [1, 2]
    assert DataOptions.model_validate(options.model_dump()) == options


def test_a_corpus_named_twice_is_reported(files: list[Path]) -> None:
    with pytest.raises(RecipeError, match="names 'news' twice"):
        mixed([files[0], files[0]])


def test_several_corpora_are_no_single_corpus(files: list[Path]) -> None:
    with pytest.raises(RecipeError, match=r"has several corpora \(data.corpora\)"):
        select(DataOptions(corpora=[{"train": [files[0]]}]), seed=1)
    with pytest.raises(ValueError, match="give `corpora`, or one corpus or files"):
        DataOptions(corpus="conll04", corpora=[{"train": [files[0]]}])


def test_a_record_of_a_part_was_annotated_for_the_labels_of_that_part(tmp_path: Path) -> None:
    (tmp_path / "schemas.json").write_text(json.dumps({"trains": ["from", "to"]}))
    records = [{"text": "to Kell", "id": "1", "schema": "trains", "entities": []}, {"text": "x", "id": "2"}]
    records[1]["entities"] = [{"start": 0, "end": 1, "label": "letter"}]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    part, whole = read_open(tmp_path / "data.jsonl", tmp_path / "schemas.json")
    assert part.metadata == {ANNOTATED: ["from", "to"]}
    assert ANNOTATED not in whole.metadata
    assert whole.entities[0].label == "letter"
