"""A recipe that fits a user's data: what the data looks like, which model suits it, and why."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.models.base import DataFacts
from spanwise.pipeline import data_facts
from spanwise.text.alignment import segmented
from spanwise.text.words import script_of

STEPS = 1500  # optimiser steps that a small encoder needs, about
COVERAGE = 0.99


@dataclass(frozen=True, slots=True)
class DataProfile:
    """What the choice of a model and its settings rests on."""

    documents: int
    entities: int
    relations: int
    labels: int
    script: str
    facts: DataFacts

    @property
    def covering_width(self) -> int:
        return self.facts.covering_width(COVERAGE)


def profile(corpus: Corpus) -> DataProfile:
    train = [segmented(document) for document in corpus.splits["train"]]
    return DataProfile(
        documents=len(train),
        entities=sum(len(document.entities) for document in train),
        relations=sum(len(document.relations) for document in train),
        labels=len(corpus.schema.entities),
        script=_script(train),
        facts=data_facts(train),
    )


def _script(documents: Sequence[Document]) -> str:
    counts = Counter(script_of(document.text[:200]) for document in documents[:500])
    return counts.most_common(1)[0][0] if counts else "latin"


@dataclass(frozen=True, slots=True)
class Choice:
    """A model by name with its options, and the reason."""

    model: dict[str, object]
    bundle: dict[str, object] | None
    why: str


def choose(data: DataProfile) -> Choice:
    """The model that fits: nested or flat, narrow or wide."""
    width = data.covering_width
    if data.relations:
        kind = "lie inside one another" if data.facts.nested else "do not overlap"
        why = f"the data marks {data.relations:,} relations, which SpERT finds with the entities; entities {kind}"
        model = {"name": "spert", "max_width": width, "nested": data.facts.nested, "relation_threshold": 0.4}
        return Choice(model, None, why)
    if data.facts.nested:
        why = f"entities lie inside one another, and SpanNER keeps overlapping spans; {width} words cover 99 % of them"
        return Choice({"name": "span-ner", "nested": True, "max_width": width}, {"name": "seq-ner", "alpha": 0.1}, why)
    if width > 12:
        why = f"entities are flat and wide (99 % need {width} words), and a tagger has no limit of width"
        return Choice({"name": "seq-ner", "tagging": "softmax"}, None, why)
    why = f"entities are flat and at most {width} words wide in 99 % of the cases; a bundled span model does well there"
    return Choice({"name": "span-ner", "max_width": width}, {"name": "seq-ner", "alpha": 0.1}, why)


def recommend(corpus: Corpus, files: Mapping[str, Sequence[Path]], recipe: Path, format: str | None = None) -> str:
    """The text of a commented recipe for these files, to be written to `recipe`."""
    data = profile(corpus)
    choice = choose(data)
    batch = 8 if data.documents < 2000 else 16
    epochs = max(3, min(30, round(STEPS * batch / max(1, data.documents))))
    lines = [
        f"# spanwise train {recipe.name} --out runs/mine",
        f"# {data.documents:,} documents, {data.entities:,} entities, {data.labels} types, {data.script} script.",
        f"# Why this model: {choice.why}.",
    ]
    lines += _encoder(data)
    lines += ["model:", *_pairs(choice.model, _COMMENTS)]
    if choice.bundle:
        lines += ["bundle:                     # a second model on the same encoder helps to train it (BL-NER, eq. 19)"]
        lines += _pairs(choice.bundle, _COMMENTS)
    lines += ["data:", *_data(files, recipe.parent, format)]
    lines += ["train:", *_pairs({"epochs": epochs, "batch_size": batch, **_RATES}, _COMMENTS)]
    if "dev" in corpus.splits:
        lines.append("  patience: 5               # epochs without a better dev F1 before training stops")
    return "\n".join(lines) + "\n"


_RATES: dict[str, object] = {"encoder_lr": 0.0002, "task_lr": 0.001, "seed": 1}
_COMMENTS = {
    "nested": "keep overlapping predictions",
    "max_width": "in words; wider entities cannot be found",
    "relation_threshold": "the least probability of a relation",
    "tagging": "softmax or crf",
    "alpha": "weight of the tagger's loss",
    "epochs": "times through the training data",
    "batch_size": "documents per step",
    "encoder_lr": "learning rate of the pretrained encoder",
    "task_lr": "learning rate of the new layers",
    "seed": "the same seed gives the same model",
}


def _pairs(values: dict[str, object], comments: dict[str, str]) -> list[str]:
    rows = []
    for key, value in values.items():
        text = f"  {key}: {yaml.safe_dump(value).removesuffix('...' + chr(10)).strip()}"
        rows.append(f"{text:<28}# {comments[key]}" if key in comments else text)
    return rows


def _encoder(data: DataProfile) -> list[str]:
    if data.script in ("latin", "none"):
        comment = "small, English, in a wheel; any folder or hub name works"
    else:
        comment = f"English: for {data.script} text give the folder or hub name of an encoder that reads it"
    return ["encoder:", f"  name: minilm              # {comment}"]


def _data(files: Mapping[str, Sequence[Path]], folder: Path, format: str | None) -> list[str]:
    rows = [f"  {split}: {_listed(paths, folder)}" for split, paths in files.items() if paths]
    return rows + ([f"  format: {format}"] if format else [])


def _listed(paths: Sequence[Path], folder: Path) -> str:
    return yaml.safe_dump([_relative(path, folder) for path in paths], default_flow_style=True, width=10**6).strip()


def _relative(path: Path, folder: Path) -> str:
    """Beside or below the recipe a relative path, so that both can move together; else an absolute one."""
    path, folder = path.resolve(), folder.resolve()
    return os.path.relpath(path, folder) if path.is_relative_to(folder.parent) else str(path)
