"""A spaCy component: `nlp.add_pipe("spanwise", config={"model": "runs/mine"})`.

spaCy's tokens are the words that the model reads, so every predicted span is a span of the Doc; see docs/spacy.md.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup

from spanwise.document import Document, Offsets
from spanwise.inference.extractor import Extractor
from spanwise.inference.sources import model_folder

KEY = "spanwise"  # of the group of spans


class SpanwiseComponent:
    """Writes what a model extracts into a Doc. The model is loaded for the first Doc, or by `from_disk`."""

    def __init__(
        self,
        model: str,
        *,
        spans_key: str = KEY,
        set_ents: bool = True,
        threshold: float | None = None,
        relation_threshold: float | None = None,
    ) -> None:
        self.source: Path | str = model
        self.spans_key, self.set_ents = spans_key, set_ents
        self.threshold, self.relation_threshold = threshold, relation_threshold
        self.relations = f"{spans_key}_relations"  # name of the extension
        if not Doc.has_extension(self.relations):
            Doc.set_extension(self.relations, default=())
        self._extractor: Extractor | None = None

    @property
    def extractor(self) -> Extractor:
        if self._extractor is None:
            self._extractor = Extractor.from_pretrained(self.source)
        return self._extractor

    def __call__(self, doc: Doc) -> Doc:
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int | None = None) -> Iterator[Doc]:
        """Batches are those of the extractor, which sorts texts by length; `batch_size` is spaCy's and not used."""
        traits = self.extractor.pipeline.reader.traits
        flat = not traits.nested and not traits.multi_label
        pairs = ((to_document(doc), doc) for doc in stream)
        found = self.extractor.stream(
            pairs, as_tuples=True, threshold=self.threshold, relation_threshold=self.relation_threshold
        )
        for document, doc in found:
            group = span_group(document, doc, self.spans_key)
            doc.spans[self.spans_key] = group
            if self.set_ents and flat:
                doc.set_ents(list(group))
            doc._.set(self.relations, relation_rows(document))
            yield doc

    def to_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> None:
        """The model's folder."""
        from spanwise.pipeline.torch_pipeline import TorchPipeline

        if isinstance(self.extractor.pipeline, TorchPipeline):
            self.extractor.save_pretrained(path)
        else:
            shutil.copytree(model_folder(self.source), path, dirs_exist_ok=True)

    def from_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> SpanwiseComponent:
        self.source, self._extractor = Path(path), Extractor.from_pretrained(path)
        return self


@Language.factory(  # type: ignore[untyped-decorator]
    "spanwise",
    assigns=["doc.spans", "doc.ents"],
    default_config={"spans_key": KEY, "set_ents": True, "threshold": None, "relation_threshold": None},
)
def create(
    nlp: Language,
    name: str,
    model: str,
    spans_key: str,
    set_ents: bool,
    threshold: float | None,
    relation_threshold: float | None,
) -> SpanwiseComponent:
    """The factory behind `nlp.add_pipe("spanwise")`."""
    return SpanwiseComponent(
        model, spans_key=spans_key, set_ents=set_ents, threshold=threshold, relation_threshold=relation_threshold
    )


def to_document(doc: Doc) -> Document:
    """The Doc's text with its tokens as words; whitespace is no word."""
    words = tuple(Offsets(token.idx, token.idx + len(token)) for token in doc if not token.is_space)
    return Document(doc.text, words)


def span_group(document: Document, doc: Doc, key: str) -> SpanGroup:
    """The document's entities in its order, with their scores as the spancat component stores them."""
    starts = {token.idx: token.i for token in doc}
    ends = {token.idx + len(token): token.i + 1 for token in doc}
    spans = [Span(doc, starts[e.start], ends[e.end], label=e.label) for e in document.entities]
    scores = np.array([entity.score for entity in document.entities], np.float32)
    return SpanGroup(doc, name=key, spans=spans, attrs={"scores": scores})


def relation_rows(document: Document) -> tuple[dict[str, Any], ...]:
    """Relations as plain values, which a Doc can be stored with; head and tail count the spans of the group."""
    return tuple(
        {"head": row.head, "tail": row.tail, "label": row.label, "score": row.score} for row in document.relations
    )
