"""What every registered model must do, alone and bundled: the suite of spanwise.testing, check by check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spanwise.seam.registry import find_model, model_names
from spanwise.testing import CHECKS, Case, ConformanceError, check_model

MATCHED = {"match_weight": 10.0}  # of a mean over n² cells, which are few in short sentences
OVERFIT = {  # words and labels pull at one encoder; entities and relations do
    "lear": {"epochs": 400, "task_lr": 3e-3},
    "span-ner": {"epochs": 200},
    "spert": {"epochs": 200},
    "probe-open-labels": {"epochs": 400, "task_lr": 3e-3},
    "probe-markers": {"epochs": 200},
}


@dataclass(frozen=True)
class Variant:
    """A model as a recipe asks for it."""

    model: str
    options: dict[str, Any] = field(default_factory=dict)
    bundle: dict[str, Any] | None = None

    def __str__(self) -> str:
        parts = [self.model, *(["with", self.bundle["name"]] if self.bundle else [])]
        return "-".join([*parts, *(f"{key}={value}" for key, value in self.options.items())])

    def case(self, folder: Path) -> Case:
        return Case(self.model, folder, self.options, self.bundle, OVERFIT.get(self.model, {}))


def variants() -> Iterator[Variant]:
    """All models; also nested and with several labels per span where they can; some with other options, or bundled."""
    for name in (name for name in model_names() if not name.startswith("probe-")):
        fields = find_model(name).Config.model_fields
        yield Variant(name)
        if "nested" in fields:
            yield Variant(name, {"nested": True, **(MATCHED if "match_weight" in fields else {})})
        if "multi_label" in fields:
            yield Variant(name, {"multi_label": True})
    yield Variant("seq-ner", {"tagging": "crf"})
    yield Variant("seq-ner", bundle={"name": "span-ner"})
    yield Variant("span-ner", bundle={"name": "seq-ner"})
    yield Variant("span-ner", {"nested": True, "multi_label": True})
    yield Variant("spert", {"nested": True, "multi_label": True})
    yield Variant("dspert", {"nested": True, "negatives": 6, "screening_threshold": 1e-4})
    yield Variant("lear", {"shared": True})
    yield Variant("span-ner", {"scorer": "names"})
    yield Variant("biaffine", {"scorer": "descriptions"})
    yield Variant("dspert", {"scorer": "names", "nested": True})
    yield Variant("spert", {"scorer": "descriptions", "nested": True})


@pytest.fixture(scope="module", params=list(variants()), ids=str)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    variant: Variant = request.param
    return variant.case(tmp_path_factory.mktemp("case"))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_models_conform(case: Case, check: Callable[[Case], None]) -> None:
    check(case)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in model_names() if name.startswith("probe-")])
def test_one_line_checks_a_model_of_another_package(name: str) -> None:
    check_model(name, overfit=OVERFIT.get(name))


def test_a_model_that_breaks_the_contract_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from spanwise_probes.multi_label import MultiLabel

    score = MultiLabel.score

    def batch_dependent(self: Any, encoded: Any, batch: Any, labels: Any = None) -> Any:
        output = score(self, encoded, batch, labels)
        return output._replace(scores=type(output.scores)(output.scores.logits + batch.size))

    monkeypatch.setattr(MultiLabel, "score", batch_dependent)
    with pytest.raises(ConformanceError, match=r"probe-multi-label: check_batch_independence: logits of an example"):
        check_model("probe-multi-label")
