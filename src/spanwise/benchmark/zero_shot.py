"""Zero-shot scores: a model on corpora that it was not trained on, asked by names, descriptions and paraphrases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
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
from spanwise.inference.sources import model_folder
from spanwise.metrics import score_entities
from spanwise.pipeline.stored import read_config
from spanwise.recipe import Recipe, find_recipe
from spanwise.schema import EntityType

ZERO_SHOT = PACKAGE / "data/corpora/zero-shot.yaml"


FIRST = "first"  # folder of the model that has seen none of the corpora


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A model to train, and the corpora that it has not seen and is scored on."""

    folder: Path
    recipe: Recipe
    scored: tuple[str, ...]


class Asked(BaseModel):
    """What is asked of one corpus: these labels, else all; a paraphrase of each where there are some."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    labels: tuple[str, ...] = ()
    paraphrases: dict[str, str] = {}


class ZeroShot(BaseModel):
    """The corpora to score on, and how models are trained that have not seen them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    without: tuple[str, ...] = ()
    first: dict[str, Any]
    further: dict[str, Any]
    folds: tuple[tuple[str, ...], ...]
    corpora: dict[str, Asked]

    @classmethod
    def load(cls) -> ZeroShot:
        return cls.model_validate(read_yaml(ZERO_SHOT))

    def models(self, folder: Path, overrides: Sequence[str] = ()) -> Iterator[LeftOut]:
        """The models to train into the folder, in this order: the first, and one per fold."""
        first = folder / FIRST
        yield LeftOut(first, self._without((*self.corpora, *self.without), self.first, overrides), ())
        further = {"train.start": str(first.absolute()), **self.further}
        for number, fold in enumerate(self.folds, 1):
            yield LeftOut(folder / f"fold-{number}", self._without((*fold, *self.without), further, overrides), fold)

    def _without(self, names: Sequence[str], settings: Mapping[str, Any], overrides: Sequence[str]) -> Recipe:
        """The recipe of the general model without these corpora, or without the labels that are asked for in them."""
        assignments = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
        recipe = Recipe.load(find_recipe(self.recipe), [*assignments, *overrides])
        parts = []
        for part in recipe.data.corpora:
            labels = self.corpora[part.corpus].labels if part.corpus in self.corpora else ()
            if part.corpus not in names:
                parts.append(part)
            elif labels:
                parts.append(part.model_copy(update={"leave_out": labels}))
        return recipe.model_copy(update={"data": recipe.data.model_copy(update={"corpora": tuple(parts)})})

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


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked: the split, at most how many documents of each corpus, and the threshold if not its own.

    Settings are chosen on the split dev. A corpus without one gives documents of train, which no model here has seen.
    """

    split: str = "test"
    sample: int | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """Scores that are kept, one JSON line each; found again by the model's files and by how it was asked."""

    path: Path

    def find(self, asking: Asking, model: Path | None = None) -> list[ZeroShotScore]:
        """What is recorded for this model, or for any: the last score of each corpus and wording."""
        wanted = {**asdict(asking), **(_mark(model) if model else {})}
        rows = map(json.loads, self.path.read_text(encoding="utf-8").splitlines()) if self.path.exists() else ()
        fitting = (row for row in rows if all(row[name] == value for name, value in wanted.items()))
        names = [column.name for column in fields(ZeroShotScore)]
        scores = (ZeroShotScore(**{name: row[name] for name in names}) for row in fitting)
        return list({(score.corpus, score.wording): score for score in scores}.values())

    def add(self, model: Path, asking: Asking, scores: Sequence[ZeroShotScore]) -> None:
        """Append the scores of one corpus."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        date = {"date": datetime.now(UTC).date().isoformat()}
        asked = {"model": model.name, **_mark(model), **asdict(asking), **date}
        with self.path.open("a", encoding="utf-8") as lines:
            lines.writelines(json.dumps({**asked, **score.to_dict()}) + "\n" for score in scores)


def _mark(model: Path) -> dict[str, str]:
    """What tells this model from others: a checksum of the checksums of its files."""
    checksums = read_config(model_folder(model))["checksums"]
    return {"checksum": sha256(json.dumps(checksums, sort_keys=True).encode()).hexdigest()[:16]}


def score_zero_shot(
    extractor: Extractor,
    suite: ZeroShot,
    names: Sequence[str] = (),
    asking: Asking = Asking(),
) -> Iterator[ZeroShotScore]:
    """The scores of each corpus and wording. A sample is always the same."""
    for name, asked in suite.chosen(names).items():
        corpus = corpora.load(name)
        kinds = [kind for kind in corpus.schema.entities if kind.name in asked.labels or not asked.labels]
        labels = {kind.name for kind in kinds}
        gold = [document.without_relations() for document in _sampled(_documents(corpus, asking.split), asking.sample)]
        gold = [document.filter_labels(labels) for document in gold]
        for wording, texts in _wordings(kinds, asked.paraphrases).items():
            found = list(extractor.stream(gold, labels=texts, threshold=asking.threshold))
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


def _documents(corpus: corpora.Corpus, split: str) -> Sequence[Document]:
    return corpus.split("train" if split == "dev" and "dev" not in corpus.splits else split)


def _sampled(documents: Sequence[Document], size: int | None) -> list[Document]:
    """This many of the documents, in their order; always the same ones."""
    if size is None or size >= len(documents):
        return list(documents)
    chosen = np.sort(np.random.default_rng(0).permutation(len(documents))[:size])
    return [documents[index] for index in chosen]
