"""What a result holds besides scores: the size of the model, and what a suite asks of the model itself.

It is recorded with the run, because the model is usually not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.benchmark.suite import Asked
from spanwise.document import Document

if TYPE_CHECKING:
    from spanwise.analysis.representations import Representations
    from spanwise.inference.extractor import Extractor

POINTS = 400  # entities of a scatter plot


def record_model(asked: Asked, folder: Path, extractor: Extractor, gold: Sequence[Document]) -> dict[str, Any]:
    """The number of parameters and, if the suite asks for them, representations and attention over descriptions."""
    from spanwise.analysis.attention import attention
    from spanwise.analysis.representations import represent

    traits, labels = extractor.pipeline.reader.traits, extractor.schema.entity_names
    found: dict[str, Any] = {"parameters": count_parameters(folder)}
    if asked.representations and traits.span_vectors:
        found["representations"] = _representations(represent(extractor, gold))
    if asked.attention and traits.label_attention:
        pictures = {label: attention(extractor, asked.attention, None, label) for label in labels}
        found["attention"] = [
            {
                "label": label,
                "words": list(picture.rows),
                "description": list(picture.columns),
                "weights": [[round(weight or 0.0, 4) for weight in row] for row in picture.values],
            }
            for label, picture in pictures.items()
        ]
    return found


def count_parameters(folder: Path) -> int:
    """The number of stored weights."""
    from safetensors import safe_open

    with safe_open(folder / "model.safetensors", framework="numpy") as stored:
        return sum(prod(stored.get_slice(name).get_shape()) for name in stored.keys())  # noqa: SIM118


def _representations(found: Representations) -> dict[str, Any]:
    z, w = found.vectors, found.templates
    overlaps = zip(("Non-overlapping", "Weakly overlapping", "Strongly overlapping"), found.overlaps, strict=True)
    share = max(1, sum(map(len, found.points.values())) // POINTS)
    return {
        "overlap": {name: mean.value for name, mean in overlaps},
        "classes": {
            "representations: l2-norm": z.norm.value,
            "representations: cosine within pos class": z.cosine.value,
            "representations: cosine between pos vs. pos": z.between.value,
            "representations: cosine between pos vs. neg": z.to_negatives.value,
            "templates: l2-norm": w.norm.value,
            "templates: abs cosine": w.cosine.value,
            "templates: abs cosine between pos vs. pos": w.between.value,
            "templates: abs cosine between pos vs. neg": w.to_negatives.value,
        },
        "points": {
            label: [[round(x, 2), round(y, 2)] for x, y in points[::share]] for label, points in found.points.items()
        },
    }
