"""Zero-shot scores: a model on corpora that it was not trained on, asked by names, descriptions and paraphrases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from spanwise import corpora
from spanwise.corpora.catalog import PACKAGE
from spanwise.corpora.yaml_files import read_yaml
from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor
from spanwise.metrics import score_entities
from spanwise.schema import EntityType

ZERO_SHOT = PACKAGE / "data/corpora/zero-shot.yaml"


class Asked(BaseModel):
    """What is asked of one corpus: these labels, else all; a paraphrase of each where there are some."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: tuple[str, ...] = ()
    paraphrases: dict[str, str] = {}


class ZeroShot(BaseModel):
    """The corpora to score on, and the recipe of a model that has not seen them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    split: str
    corpora: dict[str, Asked]

    @classmethod
    def load(cls) -> ZeroShot:
        return cls.model_validate(read_yaml(ZERO_SHOT))

    def chosen(self, names: Sequence[str]) -> dict[str, Asked]:
        """All corpora, or these."""
        if unknown := [name for name in names if name not in self.corpora]:
            raise InputError(f"zero-shot has no corpus {unknown[0]!r}; choose from {', '.join(self.corpora)}.")
        return {name: asked for name, asked in self.corpora.items() if name in names or not names}


@dataclass(frozen=True, slots=True)
class ZeroShotScore:
    """Strict micro scores of entities on one corpus, with labels worded in one way."""

    corpus: str
    wording: str
    labels: int
    documents: int
    precision: float
    recall: float
    f1: float

    HEADER: ClassVar[tuple[str, ...]] = ("corpus", "labels by", "labels", "documents", "P", "R", "F1")

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of a table."""
        shares = (f"{100 * share:.2f}" for share in (self.precision, self.recall, self.f1))
        return (self.corpus, self.wording, str(self.labels), str(self.documents), *shares)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def score_zero_shot(
    extractor: Extractor,
    suite: ZeroShot,
    names: Sequence[str] = (),
    *,
    sample: int | None = None,
    threshold: float | None = None,
) -> Iterator[ZeroShotScore]:
    """The scores of each corpus and wording; `sample` scores at most this many documents of each, always the same."""
    for name, asked in suite.chosen(names).items():
        corpus = corpora.load(name)
        kinds = [kind for kind in corpus.schema.entities if kind.name in asked.labels or not asked.labels]
        labels = {kind.name for kind in kinds}
        gold = [document.without_relations() for document in _sampled(corpus.split(suite.split), sample)]
        gold = [document.filter_labels(labels) for document in gold]
        for wording, texts in _wordings(kinds, asked.paraphrases).items():
            found = list(extractor.stream(gold, labels=texts, threshold=threshold))
            micro = score_entities(gold, found).micro
            yield ZeroShotScore(name, wording, len(kinds), len(gold), micro.precision, micro.recall, micro.f1)


def means(scores: Sequence[ZeroShotScore]) -> dict[str, float]:
    """The mean F1 of the corpora by wording."""
    wordings = dict.fromkeys(score.wording for score in scores)
    return {wording: fmean(score.f1 for score in scores if score.wording == wording) for wording in wordings}


def _wordings(kinds: Sequence[EntityType], paraphrases: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Each way to word the labels that the corpus has texts for."""
    found = {"names": {kind.name: kind.plain_name for kind in kinds}}
    if all(kind.description for kind in kinds):
        found["descriptions"] = {kind.name: kind.description for kind in kinds}
        found["both"] = {kind.name: f"{kind.plain_name}: {kind.description}" for kind in kinds}
    if all(kind.name in paraphrases for kind in kinds):
        found["paraphrases"] = {kind.name: paraphrases[kind.name] for kind in kinds}
    return found


def _sampled(documents: Sequence[Document], size: int | None) -> list[Document]:
    """This many of the documents, in their order; always the same ones."""
    if size is None or size >= len(documents):
        return list(documents)
    chosen = np.sort(np.random.default_rng(0).permutation(len(documents))[:size])
    return [documents[index] for index in chosen]
