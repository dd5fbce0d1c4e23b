"""Hugging Face transformers: the default encoder with a tagging head, read by `pipeline("token-classification")`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import protocol
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline, set_seed

EPOCHS, LEARNING_RATE, BATCH_SIZE, WARMUP = 6, 2e-4, 8, 0.1
PIPELINE_BATCH = 8
PIECES = 512


def _encoded(tokenizer: Any, records: list[protocol.Record], ids: dict[str, int]) -> list[dict[str, list[int]]]:
    """Every word piece is labelled: in raw text, the pipeline does not know the words of the corpus."""
    rows = []
    for record in records:
        row = tokenizer(record.text, truncation=True, max_length=PIECES, return_offsets_mapping=True)
        offsets = row.pop("offset_mapping")
        real = [index for index, (start, end) in enumerate(offsets) if start < end]
        tags = [-100] * len(offsets)
        for index in real:
            tags[index] = ids["O"]
        for first, last, label in protocol.on_words([offsets[index] for index in real], record.spans):
            for place in range(first, last):
                tags[real[place]] = ids[f"{'B' if place == first else 'I'}-{label}"]
        rows.append({**row, "labels": tags})
    return rows


def _spans(tags: list[str]) -> set[tuple[int, int, str]]:
    """The spans of BIO tags; an I that continues nothing begins a span."""
    spans, start = set(), 0
    for index, tag in enumerate([*tags, "O"]):
        previous = tags[index - 1] if index else "O"
        if previous != "O" and (tag[0] != "I" or tag[2:] != previous[2:]):
            spans.add((start, index, previous[2:]))
        if tag != "O" and (tag[0] == "B" or previous[2:] != tag[2:]):
            start = index
    return spans


def _dev_f1(prediction: Any, names: list[str]) -> dict[str, float]:
    gold_count = predicted_count = correct = 0
    for scores, gold in zip(prediction.predictions, prediction.label_ids, strict=True):
        kept = gold != -100
        expected = _spans([names[tag] for tag in gold[kept]])
        found = _spans([names[tag] for tag in scores.argmax(-1)[kept]])
        gold_count, predicted_count = gold_count + len(expected), predicted_count + len(found)
        correct += len(expected & found)
    return {"f1": 2 * correct / max(1, gold_count + predicted_count)}


def train(data: protocol.Data, folder: Path, run: protocol.Run) -> dict[str, Any]:
    from transformers import DataCollatorForTokenClassification, Trainer, TrainingArguments

    set_seed(run.seed)
    names = ["O", *(f"{prefix}-{label}" for label in data.labels for prefix in "BI")]
    ids = {name: index for index, name in enumerate(names)}
    tokenizer = AutoTokenizer.from_pretrained(protocol.minilm())
    model = AutoModelForTokenClassification.from_pretrained(
        protocol.minilm(), num_labels=len(names), id2label=dict(enumerate(names)), label2id=ids
    )
    settings = {
        "num_train_epochs": run.epochs or EPOCHS,
        "learning_rate": LEARNING_RATE,
        "per_device_train_batch_size": BATCH_SIZE,
        "warmup_steps": int(WARMUP * (run.epochs or EPOCHS) * len(data.train) / BATCH_SIZE),
    }
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=str(folder / "checkpoints"),
            eval_strategy="epoch",
            save_strategy="epoch",
            save_total_limit=1,
            load_best_model_at_end=True,
            metric_for_best_model="f1",
            seed=run.seed,
            report_to="none",
            use_cpu=True,
            **settings,
        ),
        train_dataset=_encoded(tokenizer, data.train, ids),
        eval_dataset=_encoded(tokenizer, data.dev, ids),
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_metrics=lambda prediction: _dev_f1(prediction, names),
    )
    trainer.train()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {**settings, "selected": "best epoch on dev", "dev_f1": trainer.state.best_metric}


def load(folder: Path, threads: int) -> protocol.Predict:
    torch.set_num_threads(threads)
    tagger = pipeline(
        "token-classification", model=str(folder), aggregation_strategy="first", device="cpu", batch_size=PIPELINE_BATCH
    )

    def predict(texts: list[str]) -> list[list[tuple[int, int, str]]]:
        return [[(group["start"], group["end"], group["entity_group"]) for group in found] for found in tagger(texts)]

    return predict


if __name__ == "__main__":
    protocol.main(load, train)
