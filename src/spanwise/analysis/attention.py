"""Which words of a label's description a word attends to (LEAR, eq. 5), as a picture like the paper's Figure 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spanwise.analysis.model_access import runner_with
from spanwise.document import Document
from spanwise.errors import InputError, shortened
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.collate import collate
from spanwise.render.elements import Heatmap
from spanwise.seam.batch import Array, Floats, LabelTexts
from spanwise.text.alignment import ensure_words
from spanwise.text.words import segment

if TYPE_CHECKING:
    from spanwise.pipeline.torch_runner import TorchRunner

ROWS = 100  # words of a text that one picture can show


def attention(extractor: Extractor, text: str | Document, word: str | None, label: str) -> Heatmap:
    """The attention of words over the words of a label's description; each row sums up to 1.

    `word` is a word of the text, or several such as an entity; every occurrence has its rows. None shows all words.
    """
    runner = runner_with(extractor, "label_attention")
    document = ensure_words(Document(text) if isinstance(text, str) else text)
    words = _chosen(document, word)
    description, texts = _label_text(extractor, label)
    columns = _words(description)
    pieces = [len(word) for word in extractor.pipeline.pieces(columns)]
    first = np.cumsum([0, *pieces[:-1]])
    weights = np.concatenate(list(_weights(extractor, runner, document, words, texts)))  # [n, m]
    values = np.add.reduceat(weights[:, texts.content[0]], first, axis=1)  # pieces to words
    names = document.word_texts
    return Heatmap(
        f"Attention over the description of {label}",
        tuple(names[index] for index in words),
        tuple(columns),
        tuple(map(tuple, values.tolist())),
        note="Each row shows how a word of the text distributes its attention over the words of the description.",
        digits=2,
        row_title="text",
        column_title=label,
    )


def _chosen(document: Document, word: str | None) -> list[int]:
    """The indices of the words to show, in the order of the text."""
    names = document.word_texts
    chosen = list(range(len(names))) if word is None else _occurrences(names, word)
    if not chosen:
        missing = "words" if word is None else f"word {shortened(word)!r}"
        raise InputError(f"the text has no {missing}; give a text, and one of its words as it is written there.")
    if len(chosen) > ROWS:
        raise InputError(f"the text has {len(chosen):,} words to show; give a word, or a text of at most {ROWS} words.")
    return chosen


def _occurrences(names: Sequence[str], word: str) -> list[int]:
    """The indices of a word, or of words in a row such as an entity. A document may have its own words."""
    for wanted in ([word], word.split(), _words(word)):
        size = len(wanted)
        starts = [start for start in range(len(names) - size + 1) if names[start : start + size] == wanted and size]
        if starts:
            return sorted({start + step for start in starts for step in range(size)})
    return []


def _label_text(extractor: Extractor, label: str) -> tuple[str, LabelTexts[Array]]:
    """The text that describes the label, and its word pieces."""
    schema, texts = extractor.schema, extractor.task.labels
    if label not in schema.entity_names:
        known = ", ".join(schema.entity_names)
        raise InputError(f"the model has no label {shortened(label)!r}; choose from {known}.")
    if texts is None:
        raise TypeError("a model with attention over label texts reads label texts")
    row = schema.entity_names.index(label)
    names = extractor.pipeline.reader.traits.label_texts == "names"
    return label if names else schema.entities[row].description, texts.map(lambda part: part[row : row + 1])


def _weights(
    extractor: Extractor, runner: TorchRunner, document: Document, words: Sequence[int], texts: LabelTexts[Array]
) -> Iterator[Floats]:
    """The attention of the chosen words, each from the window that owns it. -> [n, m] each"""
    for example in extractor.task.builder.examples(document):
        owned = [index - example.offset for index in words if example.window.owns(index, index + 1)]
        if owned:
            batch = collate([example], extractor.pipeline.pieces, None, labels=texts)
            yield runner.label_attention(batch)[0, owned, 0]


def _words(text: str) -> list[str]:
    return [text[start:end] for start, end in segment(text)]
