"""What `spanwise demo` shows first: any labels, without training."""

from __future__ import annotations

from collections.abc import Callable

import torch
from rich.console import Console

from spanwise.demo.any_labels import EXAMPLES, any_labels
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline


def shown(extractor: Extractor) -> str:
    console = Console(width=300, color_system=None)
    with console.capture() as capture:
        for part in any_labels(extractor):
            console.print(part)
    return capture.get()


def test_each_example_stands_below_the_command_that_gives_it(make_pipeline: Callable[..., TorchPipeline]) -> None:
    pipeline = make_pipeline("span-ner", scorer="descriptions")
    with torch.no_grad():
        pipeline.model.label_scorer.bias.fill_(9.0)  # type: ignore[union-attr,operator]
    found = shown(Extractor(pipeline))
    for text, labels in EXAMPLES:
        command = f'$ spanwise extract --labels "{", ".join(labels)}" "{text}"'
        assert command in found
        below = found.partition(command)[2].partition("$ spanwise")[0]
        assert any(label in below for label in labels)


def test_an_example_without_findings_is_shown_as_text(make_pipeline: Callable[..., TorchPipeline]) -> None:
    pipeline = make_pipeline("span-ner", scorer="descriptions")
    with torch.no_grad():
        pipeline.model.label_scorer.bias.fill_(-99.0)  # type: ignore[union-attr,operator]
    found = shown(Extractor(pipeline))
    for text, _ in EXAMPLES:
        assert found.count(text) == 2  # in the command and below
