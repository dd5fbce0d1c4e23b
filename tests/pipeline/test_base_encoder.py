"""What a model folder says about the place of its adapter's encoder, and how it is found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.errors import ModelError
from spanwise.pipeline.base_encoder import check_public, described, found, missing


@pytest.fixture(autouse=True)
def _no_encoders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPANWISE_ENCODERS", raising=False)


@pytest.mark.parametrize("name", ["minilm", "intfloat/e5-small", "e5-small"])
def test_a_name_is_stored_as_it_is(name: str, tmp_path: Path) -> None:
    assert described(name, tmp_path) == {"name": name}
    assert found({"name": name}, tmp_path) == name


@pytest.mark.parametrize(
    ("model", "encoder", "stored"),
    [
        ("runs/mine", "runs/mine/encoder", "./encoder"),
        ("runs/mine", "runs/encoder", "../encoder"),
        ("runs/mine", "encoders/bert", "../../encoders/bert"),
        ("runs/mine", "bert", "../../bert"),
        ("runs/mine", "a/b/bert", None),
        ("runs/mine/last", "bert", None),
    ],
)
def test_only_the_way_to_an_encoder_nearby_is_stored(
    model: str, encoder: str, stored: str | None, tmp_path: Path
) -> None:
    place = tmp_path / encoder
    place.mkdir(parents=True)
    (tmp_path / model).mkdir(parents=True, exist_ok=True)
    base = described(str(place), tmp_path / model)
    assert base == ({"name": place.name, "folder": True} if stored is None else {"name": stored})
    again = found(base, tmp_path / model)
    assert again is None if stored is None else (again is not None and Path(again).resolve() == place)


def test_a_way_through_the_folder_of_all_homes_is_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "ada")
    (tmp_path / "bo" / "bert").mkdir(parents=True)
    assert described(str(tmp_path / "bo" / "bert"), tmp_path / "ada" / "model") == {"name": "bert", "folder": True}


@pytest.mark.parametrize(
    "base", [{"name": "bert", "folder": True}, {"name": "../bert"}, {"name": "/elsewhere/bert"}, {"name": "a/b/bert"}]
)
def test_a_missing_folder_is_looked_for_among_the_encoders(
    base: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "encoders" / "bert").mkdir(parents=True)
    assert found(base, tmp_path / "model") is None
    monkeypatch.setenv("SPANWISE_ENCODERS", str(tmp_path / "encoders"))
    assert found(base, tmp_path / "model") == "bert"


def test_the_refusal_names_what_gives_the_encoder(tmp_path: Path) -> None:
    message = str(missing({"name": "bert", "folder": True}, tmp_path))
    assert "'bert' does not exist" in message
    assert "SPANWISE_ENCODERS" in message
    assert "encoder=SharedEncoder.load(FOLDER)" in message


def test_only_adapters_for_public_encoders_are_uploaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bert").mkdir()
    check_public("minilm")
    check_public("bert")
    for local in (str(tmp_path / "bert"), "./gone"):
        with pytest.raises(ModelError, match="merge=True"):
            check_public(local)
    monkeypatch.setenv("SPANWISE_ENCODERS", str(tmp_path))
    with pytest.raises(ModelError, match="merge=True"):
        check_public("bert")
