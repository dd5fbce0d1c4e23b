"""spaCy: a CNN tok2vec with the transition-based `ner`, in the configuration that spaCy itself writes for CPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import protocol
import spacy

MAX_STEPS = 3000  # spaCy's own limit is 20,000; its patience of 1,600 steps without a better dev score still applies
BEST = "model-best"


def _docs(records: list[protocol.Record]) -> spacy.tokens.DocBin:
    """The gold tokens; spaCy tokenizes their text itself in training and aligns the two."""
    nlp = spacy.blank("en")
    docs = spacy.tokens.DocBin()
    for record in records:
        doc = spacy.tokens.Doc(nlp.vocab, words=record.tokens, spaces=[True] * (len(record.tokens) - 1) + [False])
        doc.set_ents([doc.char_span(start, end, label) for start, end, label in record.spans])
        docs.add(doc)
    return docs


def train(data: protocol.Data, folder: Path, run: protocol.Run) -> dict[str, Any]:
    from spacy.cli.init_config import init_config
    from spacy.cli.train import train as train_spacy

    folder.mkdir(parents=True, exist_ok=True)
    paths = {"train": folder / "train.spacy", "dev": folder / "dev.spacy"}
    for name, records in (("train", data.train), ("dev", data.dev)):
        _docs(records).to_disk(paths[name])
    init_config(lang="en", pipeline=["ner"], optimize="efficiency", gpu=False).to_disk(folder / "config.cfg")
    limits = {"training.max_steps": MAX_STEPS, "training.max_epochs": run.epochs or 0, "system.seed": run.seed}
    overrides = {**{f"paths.{name}": str(path) for name, path in paths.items()}, **limits}
    train_spacy(folder / "config.cfg", folder, overrides=overrides)
    meta = spacy.util.load_meta(folder / BEST / "meta.json")
    return {"config": "init config --optimize efficiency", **limits, "dev_f1": meta["performance"]["ents_f"]}


def load(folder: Path, threads: int) -> protocol.Predict:
    nlp = spacy.load(folder / BEST)

    def predict(texts: list[str]) -> list[list[tuple[int, int, str]]]:
        return [[(span.start_char, span.end_char, span.label_) for span in doc.ents] for doc in nlp.pipe(texts)]

    return predict


if __name__ == "__main__":
    protocol.main(load, train)
