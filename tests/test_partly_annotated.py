"""Documents that were annotated for some of the labels: the others are unknown, not absent, wherever they count."""

from __future__ import annotations

from collections.abc import Callable

from spanwise import metrics
from spanwise.document import Document, Entity
from spanwise.pipeline.torch_pipeline import TorchPipeline

GOLD = Document("Mara left Kell .", entities=(Entity(0, 4, "Person"),), metadata={"annotated": ["Person"]})


def test_predictions_of_unknown_labels_are_not_scored() -> None:
    predicted = GOLD.with_annotations([Entity(0, 4, "Person"), Entity(10, 14, "Place")])
    scores = metrics.evaluate([GOLD], [predicted])
    assert (scores.entities.micro.precision, scores.entities.micro.predicted) == (1.0, 1)
    assert scores.boundaries.predicted == 1
    assert sum(score.predicted for score in scores.widths.values()) == 1


def test_predictions_of_known_labels_are_scored() -> None:
    scores = metrics.evaluate([GOLD], [GOLD.with_annotations([Entity(10, 14, "Person")])])
    assert (scores.entities.micro.correct, scores.entities.micro.predicted, scores.entities.micro.gold) == (0, 1, 1)


def test_a_predicted_document_is_not_limited_to_the_labels_of_its_input(
    make_pipeline: Callable[..., TorchPipeline],
) -> None:
    document = Document("Mara left .", metadata={"annotated": True, "source": "letters"})
    (found,) = make_pipeline("seq-ner").predict([document])
    assert found.metadata == {"source": "letters"}
