"""A model folder: what it holds, that it loads as it was saved, and that damage is reported in one sentence."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import TypeAdapter
from safetensors.torch import load_file, save_file

import spanwise
from spanwise import formats
from spanwise.corpora import Corpus
from spanwise.errors import ModelError
from spanwise.pipeline import folder as model_folder
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import RelationType
from spanwise.seam.registry import find_decoder, find_proposer
from spanwise.seam.traits import Traits

SOURCE = Path(spanwise.__file__).parent
NEEDED = ("config.json", "schema.json", "model.safetensors", "tokenizer.json")


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A model folder to damage."""
    return Path(shutil.copytree(trained, tmp_path / "model"))


def refusal(folder: Path) -> str:
    """What a user reads when the folder cannot be loaded: one sentence that names the folder."""
    with pytest.raises(ModelError) as caught:
        model_folder.load(folder)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert folder.name in sentence
    return sentence


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    data = json.loads(path.read_text())
    path.write_text(json.dumps(change(data) or data))


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("seq-ner", {}),
        ("seq-ner", {"tagging": "crf", "bundle": {"name": "span-ner"}}),
        ("span-ner", {"nested": True, "bundle": {"name": "seq-ner"}}),
        ("span-ner", {"encoder": {"word_shapes": False, "pooling": "mean", "max_pieces": 64}}),
    ],
)
def test_a_model_predicts_the_same_after_save_and_load(
    make_pipeline: Callable[..., TorchPipeline],
    flat_corpus: Corpus,
    tmp_path: Path,
    model: str,
    options: dict[str, Any],
) -> None:
    pipeline = make_pipeline(model, **options)
    model_folder.save(pipeline, tmp_path / "model")
    loaded = model_folder.load(tmp_path / "model")
    documents = flat_corpus.splits["train"]
    wanted = pipeline.predict(documents)
    assert any(document.entities for document in wanted)
    assert loaded.predict(documents) == wanted
    assert loaded.schema == pipeline.schema
    assert not loaded.model.training


KNOWS = RelationType("knows", symmetric=True)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("spert", {"relation_threshold": 0.55}),
        ("span", {"attention": "additive", "relation_activation": "sigmoid", "relation_threshold": 0.0}),
        ("stsn", {"relation_threshold": 0.45, "layers": 1, "nested": True}),
    ],
)
def test_relations_are_the_same_after_save_and_load(
    make_pipeline: Callable[..., TorchPipeline],
    nested_corpus: Corpus,
    tmp_path: Path,
    model: str,
    options: dict[str, Any],
) -> None:
    linked = replace(nested_corpus, schema=replace(nested_corpus.schema, relations=(KNOWS,)))
    pipeline = make_pipeline(model, linked, **options)
    model_folder.save(pipeline, tmp_path / "model")
    loaded = model_folder.load(tmp_path / "model")
    wanted = pipeline.predict(nested_corpus.splits["train"])
    assert any(document.relations for document in wanted)
    assert all(r.score >= options["relation_threshold"] for document in wanted for r in document.relations)
    assert loaded.predict(nested_corpus.splits["train"]) == wanted
    assert loaded.thresholds(None, None).relations.tolist() == pytest.approx([options["relation_threshold"]])
    assert loaded.schema == pipeline.schema


def test_a_tag_set_that_was_derived_from_the_training_data_is_kept_with_the_model(
    make_pipeline: Callable[..., TorchPipeline], nested_corpus: Corpus, tmp_path: Path
) -> None:
    pipeline: Any = make_pipeline("stsn", nested_corpus, layers=1, nested=True)
    doubles = {("I-Organization", "B-Place"), ("I-Person", "B-Place"), ("B-Organization", "B-Place")}
    assert set(pipeline.model.config.double_tags) == doubles
    model_folder.save(pipeline, tmp_path)
    loaded: Any = model_folder.load(tmp_path)
    assert loaded.model.config == pipeline.model.config
    assert loaded.reader == pipeline.reader


@pytest.mark.parametrize(
    ("model", "options"),
    [("span-ner", {"nested": True, "bundle": {"name": "seq-ner", "tagging": "crf"}}), ("stsn", {}), ("lear", {})],
)
def test_the_config_holds_what_reading_out_needs_of_every_member(
    make_pipeline: Callable[..., TorchPipeline],
    flat_corpus: Corpus,
    tmp_path: Path,
    model: str,
    options: dict[str, Any],
) -> None:
    linked = replace(flat_corpus, schema=replace(flat_corpus.schema, relations=(KNOWS,)))
    pipeline = make_pipeline(model, linked, **options)
    model_folder.save(pipeline, tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())["members"]
    assert list(stored) == [member.name for member in pipeline.members]
    for member in pipeline.members:
        traits, proposer, decoder = (stored[member.name][part] for part in ("traits", "proposer", "decoder"))
        assert TypeAdapter(Traits).validate_python(traits) == member.traits
        assert (proposer and find_proposer(proposer["kind"]).from_dict(proposer)) == member.proposer
        assert find_decoder(decoder["kind"]).from_dict(decoder) == member.decoder


@pytest.mark.parametrize("threshold", [None, 0.25])
def test_the_threshold_of_the_recipe_is_kept_with_the_model(
    make_pipeline: Callable[..., TorchPipeline], tmp_path: Path, threshold: float | None
) -> None:
    pipeline = make_pipeline("span-ner", multi_label=True)
    pipeline.blueprint = replace(pipeline.blueprint, threshold=threshold)
    model_folder.save(pipeline, tmp_path)
    loaded = model_folder.load(tmp_path)
    assert loaded.blueprint == replace(pipeline.blueprint, encoder=loaded.blueprint.encoder)
    assert loaded.threshold == (0.5 if threshold is None else threshold)  # 0.5: the model's own


def test_a_loaded_model_needs_its_encoder_no_more(trained: Path) -> None:
    names = {name for name, _ in model_folder.load(trained).model.named_parameters()}
    assert names == set(load_file(trained / "model.safetensors"))
    assert "encoder.transformer.embeddings.word_embeddings.weight" in names


def test_a_loaded_model_saves_as_the_same_files(trained: Path, tmp_path: Path) -> None:
    model_folder.save(model_folder.load(trained), tmp_path)
    for name in NEEDED:
        assert (tmp_path / name).read_bytes() == (trained / name).read_bytes(), name


def test_no_folder_is_reported(tmp_path: Path) -> None:
    assert "this model folder does not exist; train one" in refusal(tmp_path / "nope")


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_file_is_reported(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert "missing" in refusal(copy) or "cannot be read" in refusal(copy)


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 1.0], ids=lambda share: f"{share:.1%}")
def test_a_file_that_is_cut_off_is_reported(copy: Path, name: str, share: float) -> None:
    content = (copy / name).read_bytes().rstrip()
    (copy / name).write_bytes(content[: min(int(share * len(content)), len(content) - 1)])
    refusal(copy)


@pytest.mark.parametrize("name", NEEDED)
def test_a_folder_in_a_files_place_is_reported(copy: Path, name: str) -> None:
    (copy / name).unlink()
    (copy / name).mkdir()
    with pytest.raises((ModelError, OSError)) as caught:
        model_folder.load(copy)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["config.json", "schema.json"])
@pytest.mark.parametrize("content", [b"[]", b"3", b"null", b"\xff\xfe", b"[" * 100_000, b"{}"], ids=repr)
def test_json_that_is_something_else_is_reported(copy: Path, name: str, content: bytes) -> None:
    (copy / name).write_bytes(content)
    refusal(copy)


@pytest.mark.parametrize("key", ["encoder", "model", "bundle", "transformer"])
def test_a_config_without_one_of_its_keys_is_reported(copy: Path, key: str) -> None:
    rewrite(copy / "config.json", lambda config: {k: v for k, v in config.items() if k != key})
    assert key in refusal(copy)


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("encoder", {"name": "x", "nope": 1}),
        ("encoder", {"name": "x", "pooling": "sum"}),
        ("encoder", {"name": "x", "max_pieces": 100_000}),
        ("encoder", 3),
        ("model", {"name": "nope"}),
        ("model", {"name": "seq-ner", "nope": 1}),
        ("model", {"name": "seq-ner", "dropout": "wet"}),
        ("model", {"name": "span-ner"}),  # max_width is still open
        ("model", {}),
        ("bundle", {"name": "seq-ner"}),  # a tagger with a tagger
        ("threshold", "high"),
        ("reader", "span-ner"),  # which does not exist to read
        ("transformer", {"model_type": "nope"}),
        ("transformer", {"model_type": "bert", "hidden_size": 33, "num_attention_heads": 2}),
        ("transformer", {"model_type": "bert", "hidden_size": "wide"}),
        ("transformer", []),
    ],
    ids=str,
)
def test_a_config_with_wrong_values_is_reported(copy: Path, section: str, value: object) -> None:
    rewrite(copy / "config.json", lambda config: {**config, section: value})
    refusal(copy)


@pytest.mark.parametrize(
    "entities",
    [
        [{"name": "Person"}],
        [{"name": "Person"}, {"name": "Person"}],
        [{"name": "Person", "nope": 1}],
        [{}],
        ["Person"],
        [{"name": 3}, {"name": 4}],
        "Person",
        None,
    ],
    ids=str,
)
def test_a_schema_that_is_not_the_models_is_reported(copy: Path, entities: object) -> None:
    rewrite(copy / "schema.json", lambda schema: {**schema, "entities": entities})
    refusal(copy)


def test_weights_of_another_model_are_reported(
    copy: Path, make_pipeline: Callable[..., TorchPipeline], tmp_path: Path
) -> None:
    model_folder.save(make_pipeline("span-ner"), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", copy)
    assert "the weights do not fit the model (such as " in refusal(copy)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda tensors: tensors.pop("emit.bias"), "do not fit the model (such as emit.bias)"),
        (lambda tensors: tensors.update(more=torch.zeros(1)), "do not fit the model (such as more)"),
        (lambda tensors: tensors.update({"emit.bias": torch.zeros(9)}), "emit.bias has shape (9,) instead of (5,)"),
    ],
    ids=["one less", "one more", "another shape"],
)
def test_weights_that_do_not_fit_are_reported(copy: Path, change: Callable[[Any], Any], reason: str) -> None:
    tensors = load_file(copy / "model.safetensors")
    change(tensors)
    save_file(tensors, copy / "model.safetensors")
    assert reason in refusal(copy)


def test_a_failed_save_leaves_the_old_weights(
    make_pipeline: Callable[..., TorchPipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_folder.save(make_pipeline("seq-ner"), tmp_path)
    before = (tmp_path / "model.safetensors").read_bytes()

    def half(tensors: Any, path: Path) -> None:
        Path(path).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(model_folder, "save_file", half)
    with pytest.raises(OSError, match="disk full"):
        model_folder.save(make_pipeline("seq-ner", seed=2), tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_the_source_reads_and_writes_no_pickle_and_trusts_no_remote_code() -> None:
    forbidden = re.compile(r"\bpickle\b|torch\.(load|save)\(|trust_remote_code|joblib|\bshelve\b|\bmarshal\b|\bdill\b")
    allowed = re.compile(r"^\s*#|No pickle")
    found = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in SOURCE.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if forbidden.search(line) and not allowed.search(line)
    ]
    assert found == []


def test_a_run_folder_holds_no_pickle(trained: Path) -> None:
    for path in trained.iterdir():
        head = path.read_bytes()[:2]
        assert path.suffix in {".json", ".jsonl", ".yaml", ".md", ".safetensors"}
        assert head != b"PK"  # what torch.save writes
        assert not head.startswith(b"\x80")  # what pickle writes


def test_an_encoder_with_pickled_weights_only_is_refused(tiny_encoder: Path, tmp_path: Path) -> None:
    from spanwise.errors import EncoderError
    from spanwise.pipeline.encoders import load_pretrained

    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "pickled"))
    (folder / "model.safetensors").unlink()
    torch.save(load_file(tiny_encoder / "model.safetensors"), folder / "pytorch_model.bin")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        load_pretrained(str(folder))


def test_predictions_go_through_a_file_unchanged(trained: Path, easy_files: Path, tmp_path: Path) -> None:
    found = model_folder.load(trained).predict(list(formats.read(easy_files / "test.jsonl")))
    formats.write(found, tmp_path / "out.jsonl")
    assert list(formats.read(tmp_path / "out.jsonl")) == found
