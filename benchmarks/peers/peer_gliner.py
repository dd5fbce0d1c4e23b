"""GLiNER (uni-encoder, markers) on the default encoder, trained from the encoder's weights alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import protocol
import torch
from gliner import GLiNER

EPOCHS, LEARNING_RATE, HEAD_LEARNING_RATE, BATCH_SIZE = 6, 2e-4, 1e-3, 8
PREDICT_BATCH = 8
LABELS = "labels.json"


def _rows(splitter: Any, records: list[protocol.Record], labels: list[str]) -> list[dict[str, Any]]:
    """GLiNER's own words, with inclusive ends."""
    rows = []
    for record in records:
        words = list(splitter(record.text))
        spans = protocol.on_words([(start, end) for _, start, end in words], record.spans)
        ner = [[first, last - 1, label] for first, last, label in spans]
        rows.append({"tokenized_text": [word for word, *_ in words], "ner": ner, "ner_labels": labels})
    return rows


def train(data: protocol.Data, folder: Path, run: protocol.Run) -> dict[str, Any]:
    from gliner import GLiNERConfig
    from gliner.data_processing.tokenizer import WordsSplitter
    from transformers import set_seed

    set_seed(run.seed)
    rows = _rows(WordsSplitter("whitespace"), data.train, data.labels)
    max_width = protocol.covering_width(last - first + 1 for row in rows for first, last, _ in row["ner"])
    model = GLiNER.from_config(GLiNERConfig(model_name=protocol.minilm(), max_width=max_width))
    settings = {
        "num_train_epochs": run.epochs or EPOCHS,
        "learning_rate": LEARNING_RATE,
        "others_lr": HEAD_LEARNING_RATE,
        "per_device_train_batch_size": BATCH_SIZE,
    }
    model.train_model(
        rows,
        None,
        output_dir=str(folder / "checkpoints"),
        max_steps=-1,
        save_strategy="no",
        dataloader_num_workers=0,
        use_cpu=True,
        seed=run.seed,
        **settings,
    )
    model.save_pretrained(str(folder))
    (folder / LABELS).write_text(json.dumps(data.labels))
    return {**settings, "max_width": max_width, "selected": "last epoch", "threshold": 0.5}


def load(folder: Path, threads: int) -> protocol.Predict:
    torch.set_num_threads(threads)
    labels = json.loads((folder / LABELS).read_text())
    model = GLiNER.from_pretrained(str(folder), local_files_only=True)

    def predict(texts: list[str]) -> list[list[tuple[int, int, str]]]:
        return [
            [(entity["start"], entity["end"], entity["label"]) for entity in found]
            for found in model.inference(texts, labels, batch_size=PREDICT_BATCH)
        ]

    return predict


if __name__ == "__main__":
    protocol.main(load, train)
