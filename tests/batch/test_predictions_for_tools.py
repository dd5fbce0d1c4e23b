"""Predictions that go to an annotation tool are marked as predictions, with the model's name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spanwise.document import Document, Entity
from spanwise.formats import Report, read
from spanwise.formats.jsonl import encode
from spanwise.inference.batch.output import Output
from spanwise.inference.batch.parts import Head

DOCUMENT = Document("Ann left.", entities=(Entity(0, 3, "PER", 0.5),))


class InMemory:
    def heads(self) -> Iterator[Head]:
        return iter(())

    def lines(self) -> Iterator[bytes]:
        yield encode(DOCUMENT).encode()


@pytest.mark.parametrize(("format", "annotator"), [("label-studio", "my-model"), ("prodigy", None), ("csv", None)])
def test_scores_are_kept(tmp_path: Path, format: str, annotator: str | None) -> None:
    report = Report()
    Output(str(tmp_path / "out"), format, model="my-model").write(InMemory(), report)
    assert [d.entities for d in read(tmp_path / "out", annotator=annotator)] == [DOCUMENT.entities]
    assert (report.written, report.dropped) == (1, {})
