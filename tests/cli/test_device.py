"""Where a model runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("banana", "unknown device 'banana'; choose from auto, cpu, cuda, cuda:N and mps."),
        ("cuda", "device 'cuda' is not available here; choose from auto, cpu."),
        ("cuda:3", "device 'cuda:3' is not available here; choose from auto, cpu."),
    ],
)
@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_a_device_that_cannot_be_used_ends_with_one_sentence(
    command: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
    trained: Path,
    easy_files: Path,
    verb: str,
    device: str,
    sentence: str,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    done = command(verb, trained, easy_files / "test.jsonl", "--device", device)
    assert done.refusal == sentence  # type: ignore[attr-defined]
