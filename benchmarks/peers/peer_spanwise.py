"""spanwise: a model folder, on PyTorch or ONNX Runtime, read by `Extractor`."""

from __future__ import annotations

from pathlib import Path

import protocol

from spanwise import Extractor


def load(folder: Path, threads: int) -> protocol.Predict:
    """The number of threads comes from the environment variable SPANWISE_THREADS, which the driver sets."""
    extractor = Extractor.from_pretrained(folder)

    def predict(texts: list[str]) -> list[list[tuple[int, int, str]]]:
        documents = extractor(texts)
        return [[(entity.start, entity.end, entity.label) for entity in document.entities] for document in documents]

    return predict


if __name__ == "__main__":
    protocol.main(load)
