"""SpanMarker on the default encoder."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import protocol
import torch
from span_marker import SpanMarkerModel
from transformers import AutoTokenizer

EPOCHS, LEARNING_RATE, BATCH_SIZE, WARMUP = 4, 2e-4, 8, 0.1
MAX_PIECES = 256  # the most of one text; SpanMarker pads every text to this length
PREDICT_BATCH = 8


def _dataset(model: Any, records: list[protocol.Record], ids: dict[str, int]) -> tuple[Any, list[int]]:
    """The words that SpanMarker makes of raw text, which are those of the encoder's tokenizer, with BIO tags."""
    from datasets import Dataset

    split = model.tokenizer.tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str
    rows: dict[str, list[Any]] = {"tokens": [], "ner_tags": []}
    widths = []
    for record in records:
        words = split(record.text)
        tags = [ids["O"]] * len(words)
        for first, last, label in protocol.on_words([offsets for _, offsets in words], record.spans):
            widths.append(last - first)
            tags[first:last] = [ids[f"B-{label}"]] + [ids[f"I-{label}"]] * (last - first - 1)
        rows["tokens"].append([word for word, _ in words])
        rows["ner_tags"].append(tags)
    return Dataset.from_dict(rows), widths


def _model(names: list[str], pieces: int, max_width: int) -> Any:
    return SpanMarkerModel.from_pretrained(
        protocol.minilm(), labels=names, model_max_length=pieces, entity_max_length=max_width
    )


def _longest(records: list[protocol.Record]) -> int:
    """The pieces of the longest text, as a multiple of 8."""
    lengths = AutoTokenizer.from_pretrained(protocol.minilm())([record.text for record in records])["input_ids"]
    return min(MAX_PIECES, 8 * math.ceil(max(map(len, lengths)) / 8))


def train(data: protocol.Data, folder: Path, run: protocol.Run) -> dict[str, Any]:
    from span_marker import Trainer
    from transformers import TrainingArguments, set_seed

    set_seed(run.seed)
    names = ["O", *(f"{prefix}-{label}" for label in data.labels for prefix in "BI")]
    ids = {name: index for index, name in enumerate(names)}
    pieces = _longest(data.train + data.dev)
    _, widths = _dataset(_model(names, pieces, 8), data.train, ids)
    max_width = protocol.covering_width(widths)
    model = _model(names, pieces, max_width)
    settings = {
        "num_train_epochs": run.epochs or EPOCHS,
        "learning_rate": LEARNING_RATE,
        "per_device_train_batch_size": BATCH_SIZE,
        "warmup_ratio": WARMUP,
    }
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(folder / "checkpoints"),
            save_strategy="no",
            seed=run.seed,
            report_to="none",
            use_cpu=True,
            **settings,
        ),
        train_dataset=_dataset(model, data.train, ids)[0],
    )
    trainer.train()
    model.save_pretrained(str(folder), safe_serialization=True)
    return {**settings, "entity_max_length": max_width, "model_max_length": pieces, "selected": "last epoch"}


def load(folder: Path, threads: int) -> protocol.Predict:
    torch.set_num_threads(threads)
    model = SpanMarkerModel.from_pretrained(str(folder)).eval()

    def predict(texts: list[str]) -> list[list[tuple[int, int, str]]]:
        return [
            [(entity["char_start_index"], entity["char_end_index"], entity["label"]) for entity in found]
            for found in model.predict(texts, batch_size=PREDICT_BATCH)
        ]

    return predict


if __name__ == "__main__":
    protocol.main(load, train)
