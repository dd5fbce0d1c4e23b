"""Model cards as the hub reads them: metadata for its search and its tables, then text for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from spanwise.metrics import Score
from spanwise.metrics.evaluation import Evaluation

LIBRARY, TASK = "spanwise", "token-classification"
TAGS = ("token-classification", "named-entity-recognition", "span-extraction")
FOLDER = "this-folder"  # stands for the model's name in the card of a folder
SNIPPET = f"""```python
from spanwise import Extractor

extractor = Extractor.from_pretrained("{FOLDER}")
print(extractor("A text of your own.").entities)
```"""


@dataclass(frozen=True)
class HubScores:
    """Scores of a model on labeled documents, for its card on the hub: those that `evaluate` returns."""

    evaluation: Evaluation
    dataset: str
    split: str = "test"

    def results(self) -> list[EvalResult]:
        rows = [*_values("", self.evaluation.entities.micro)]
        if self.evaluation.relations is not None:
            rows += _values("RE+ ", self.evaluation.relations.strict.micro)
        return [eval_result(self.dataset, self.split, kind, value, name) for kind, name, value in rows]


def _values(prefix: str, score: Score) -> Iterator[tuple[str, str, float]]:
    for kind in ("precision", "recall", "f1"):
        yield kind, f"{prefix}{kind}, micro, strict", float(getattr(score, kind))


def eval_result(dataset: str, split: str, kind: str, value: float, name: str) -> EvalResult:
    """One row of a card's `model-index`; `value` is a fraction."""
    return EvalResult(
        task_type=TASK,
        dataset_type=dataset,
        dataset_name=dataset,
        dataset_split=split,
        metric_type=kind,
        metric_name=name,
        metric_value=round(value, 4),
    )


def hub_card(
    card: str,
    name: str,
    *,
    scores: HubScores | None = None,
    license: str | None = None,
    language: str | None = None,
) -> str:
    """The card of a model folder for the hub: its snippet loads the model by name, its metadata has the scores."""
    page = ModelCard(card or f"---\nlibrary_name: {LIBRARY}\n---\n# A spanwise model\n\n{SNIPPET}\n")
    data = cast(ModelCardData, page.data)
    data.library_name, data.pipeline_tag = LIBRARY, TASK
    data.tags = list(dict.fromkeys((*(data.tags or ()), *TAGS)))
    data.model_name = data.model_name or name.rpartition("/")[2]
    data.license, data.language = license or data.license, language or data.language
    if scores is not None:
        data.eval_results = [*(data.eval_results or ()), *scores.results()]
        data.metrics = sorted({*(data.metrics or ()), "precision", "recall", "f1"})
        data.datasets = list(dict.fromkeys((*_listed(data.datasets), scores.dataset)))
    return f"---\n{data.to_yaml()}\n---\n{page.text.replace(FOLDER, name)}"


def _listed(names: str | list[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())
