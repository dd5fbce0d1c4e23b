"""The OpenAPI description: schemathesis finds no answer that contradicts it, and its examples work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")
import httpx
from fake import FakeExtractor, served

from spanwise.serve.settings import Settings

pytestmark = pytest.mark.slow
TOKEN = "Authorization: Bearer secret"  # noqa: S105
LIMITS = Settings(token="secret", max_body=50_000, max_texts=8, max_characters=500, max_labels=4)  # noqa: S106


@pytest.fixture(params=[False, True], ids=["fixed", "open"])
def flexible(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def address(flexible: bool) -> Iterator[str]:
    with served(FakeExtractor(open_labels=flexible, relations=flexible), LIMITS) as address:
        yield address


def test_schemathesis_finds_nothing(address: str, flexible: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json", "-H", TOKEN]
    bounds = ["--phases", "examples,coverage,fuzzing", "--max-examples", "25", "--generation-deterministic"]
    # JSON schema cannot say that an entity lies in its text, or that a threshold belongs to one of the labels.
    leave_out = ["--exclude-checks", "positive_data_acceptance"] if flexible else []
    command += [*bounds, *leave_out, "--no-color"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert run.returncode == 0, run.stdout
    assert "4 selected / 4 total" in run.stdout


def test_the_examples_of_the_description_work(address: str) -> None:
    operation = httpx.get(f"{address}/openapi.json").json()["paths"]["/v1/extract"]["post"]
    examples = operation["requestBody"]["content"]["application/json"]["examples"]
    assert {"one text", "several texts", "words"} <= set(examples)
    headers = dict([TOKEN.split(": ")])
    for example in examples.values():
        answer = httpx.post(f"{address}/v1/extract", json=example["value"], headers=headers)
        assert answer.status_code == 200, answer.text
