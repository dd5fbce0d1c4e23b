"""Small models of spans over encoders that are made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deep_cases
import pytest

from spanwise.recipe import Recipe


@pytest.fixture(scope="session")
def build(make_recipe: Callable[..., Recipe], tiny_encoder: Path) -> deep_cases.Builder:
    """build("dspert", family=roberta, depth=2): a random model in eval mode, always the same."""
    from transformers import AutoTokenizer

    return deep_cases.Builder(make_recipe, AutoTokenizer.from_pretrained(tiny_encoder))
