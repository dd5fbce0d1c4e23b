"""The bare encoder as a reference: tokenization and the transformer in batches of texts of similar length, no head."""

from __future__ import annotations

from pathlib import Path

import protocol
import torch
from transformers import AutoModel, AutoTokenizer

BATCH_SIZE = 32
PIECES = 512


def load(folder: Path, threads: int) -> protocol.Predict:
    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(protocol.minilm())
    model = AutoModel.from_pretrained(protocol.minilm(), add_pooling_layer=False).eval()

    @torch.inference_mode()
    def predict(texts: list[str]) -> list[list[tuple[int, int, str]]]:
        rows = tokenizer(texts, truncation=True, max_length=PIECES)["input_ids"]
        rows.sort(key=len)
        for start in range(0, len(rows), BATCH_SIZE):
            batch = tokenizer.pad({"input_ids": rows[start : start + BATCH_SIZE]}, return_tensors="pt")
            model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        return [[] for _ in texts]

    return predict


if __name__ == "__main__":
    protocol.main(load)
