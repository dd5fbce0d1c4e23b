"""A model folder: what it holds, that it loads as it was saved, and that damage is reported in one sentence."""

from __future__ import annotations

import json
import re
import resource
import shutil
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
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
from spanwise.inference.extractor import Extractor
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


def refusal(folder: Path, *, verify: bool = True) -> str:
    """What a user reads when the folder cannot be loaded: one sentence that names the folder."""
    with pytest.raises(ModelError) as caught:
        model_folder.load(folder, verify=verify)
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


@pytest.mark.parametrize("name", [*NEEDED, "tokenizer_config.json"])
def test_a_missing_file_is_reported(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert name in refusal(copy)
    assert "missing" in refusal(copy)
    refusal(copy, verify=False)


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 1.0], ids=lambda share: f"{share:.1%}")
def test_a_file_that_is_cut_off_is_reported(copy: Path, name: str, share: float) -> None:
    content = (copy / name).read_bytes().rstrip()
    (copy / name).write_bytes(content[: min(int(share * len(content)), len(content) - 1)])
    assert name in refusal(copy)
    refusal(copy, verify=False)


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
    assert name in refusal(copy)
    refusal(copy, verify=False)


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
    assert "schema.json: changed since the model was saved" in refusal(copy)
    refusal(copy, verify=False)


def test_weights_of_another_model_are_reported(
    copy: Path, make_pipeline: Callable[..., TorchPipeline], tmp_path: Path
) -> None:
    model_folder.save(make_pipeline("span-ner"), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", copy)
    assert "the weights do not fit the model (such as " in refusal(copy, verify=False)
    assert "model.safetensors: changed since the model was saved" in refusal(copy)


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
    assert reason in refusal(copy, verify=False)
    assert "model.safetensors: changed since the model was saved" in refusal(copy)


def _reorder_labels(folder: Path) -> None:
    rewrite(folder / "schema.json", lambda schema: {**schema, "entities": schema["entities"][::-1]})


def _exchange_tensors(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    first, second = (f"encoder.transformer.encoder.layer.{n}.attention.self.query.weight" for n in (0, 1))
    tensors[first], tensors[second] = tensors[second], tensors[first]
    save_file(tensors, folder / "model.safetensors")


def _change_one_bit(folder: Path) -> None:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "model.safetensors").write_bytes(content)


def _lower_case_off(folder: Path) -> None:
    rewrite(folder / "tokenizer.json", lambda data: {**data, "normalizer": {**data["normalizer"], "lowercase": False}})


def _shorter_texts(folder: Path) -> None:
    rewrite(folder / "tokenizer_config.json", lambda data: {**data, "model_max_length": 64})


@pytest.mark.parametrize(
    ("tamper", "name"),
    [
        (_reorder_labels, "schema.json"),
        (_exchange_tensors, "model.safetensors"),
        (_change_one_bit, "model.safetensors"),
        (_lower_case_off, "tokenizer.json"),
        (_shorter_texts, "tokenizer_config.json"),
    ],
)
def test_a_changed_file_is_reported_unless_checksums_are_skipped(
    copy: Path, tamper: Callable[[Path], None], name: str
) -> None:
    tamper(copy)
    wanted = f"{copy / name}: changed since the model was saved (its checksum differs); copy it again, or load the "
    assert refusal(copy) == wanted + "model with verify=False."
    with pytest.raises(ModelError, match="its checksum differs"):
        Extractor.from_pretrained(copy)
    assert Extractor.from_pretrained(copy, verify=False)("Mara met Bo .").text == "Mara met Bo ."


@pytest.mark.parametrize("name", ["added_tokens.json", "special_tokens_map.json"])
def test_a_file_that_changes_the_tokenizer_is_reported(copy: Path, name: str) -> None:
    (copy / name).write_text("{}")
    assert refusal(copy).startswith(f"{copy / name}: not part of the saved model")


def _first(value: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[dict[str, torch.Tensor]], None]:
    def change(tensors: dict[str, torch.Tensor]) -> None:
        tensors["emit.weight"] = value(tensors["emit.weight"])

    return change


def _with(number: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda tensor: tensor.index_put((torch.tensor(0), torch.tensor(0)), torch.tensor(number))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_first(_with(float("nan"))), "emit.weight has weights that are not finite numbers"),
        (_first(_with(float("inf"))), "emit.weight has weights that are not finite numbers"),
        (_first(_with(float("-inf"))), "emit.weight has weights that are not finite numbers"),
        (_first(lambda tensor: tensor.double() * 1e300), "emit.weight has weights that are not finite numbers"),
        (_first(lambda tensor: tensor.to(torch.complex64)), "emit.weight has the type torch.complex64 instead of"),
        (_first(lambda tensor: tensor.to(torch.int8)), "emit.weight has the type torch.int8 instead of torch.float32"),
        (_first(lambda tensor: tensor > 0), "emit.weight has the type torch.bool instead of torch.float32"),
    ],
    ids=["nan", "inf", "-inf", "too large", "complex", "int8", "bool"],
)
@pytest.mark.parametrize("earlier", [False, True], ids=["today", "earlier version"])
def test_weights_that_are_no_finite_floats_are_reported(
    copy: Path, change: Callable[[Any], None], reason: str, earlier: bool
) -> None:
    tensors = load_file(copy / "model.safetensors")
    change(tensors)
    save_file(tensors, copy / "model.safetensors")
    if earlier:
        _as_an_earlier_version(copy)
    assert f"{copy / 'model.safetensors'}: {reason}" in refusal(copy, verify=earlier)


def _as_an_earlier_version(folder: Path) -> None:
    """Folders of then have neither a format nor checksums."""
    rewrite(folder / "config.json", lambda config: {k: config[k] for k in config if k not in ("format", "checksums")})


def test_weights_in_half_precision_are_read(copy: Path) -> None:
    tensors = {name: tensor.bfloat16() for name, tensor in load_file(copy / "model.safetensors").items()}
    save_file(tensors, copy / "model.safetensors")
    loaded = model_folder.load(copy, verify=False)
    assert all(parameter.dtype == torch.float32 for parameter in loaded.model.parameters())


def test_a_folder_of_an_earlier_version_loads_without_checksums(copy: Path, flat_corpus: Corpus) -> None:
    wanted = model_folder.load(copy).predict(flat_corpus.splits["train"])
    _as_an_earlier_version(copy)
    assert model_folder.load(copy).predict(flat_corpus.splits["train"]) == wanted


def test_the_checksums_cover_what_the_model_is_read_from(trained: Path) -> None:
    config = json.loads((trained / "config.json").read_text())
    assert config["format"] == 2
    assert set(config["checksums"]) == {*NEEDED, "tokenizer_config.json"} - {"config.json"}
    for name, wanted in config["checksums"].items():
        assert sha256((trained / name).read_bytes()).hexdigest() == wanted


def test_the_card_and_the_records_of_a_run_may_be_edited(copy: Path) -> None:
    for name in ("README.md", "metrics.jsonl", "run.json", "environment.json", "recipe.yaml"):
        (copy / name).write_text("edited")
    assert Extractor.from_pretrained(copy).card == "edited"


def test_a_card_in_another_encoding_is_read(copy: Path) -> None:
    (copy / "README.md").write_bytes("Modell für Müller".encode("latin-1"))
    assert Extractor.from_pretrained(copy).card == "Modell f�r M�ller"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"format": 99}, "unknown format 99; spanwise "),
        ({"format": 3}, "unknown format 3; "),
        ({"format": 1}, "unknown format 1; "),
        ({"format": True}, "unknown format True; "),
        ({"format": "2"}, "unknown format '2'; "),
        ({"format": "x" * 10_000}, "unknown format 'xxx"),
        ({"format": None}, "unknown format None; "),  # but checksums, which came with format 2
        ({"spanwise": "99.0.0"}, "written by spanwise 99.0.0, this is "),
        ({"spanwise": "9" * 10_000}, "written by spanwise 999"),
        ({"spanwise": None}, "the version that wrote it is missing"),
        ({"spanwise": ""}, "the version that wrote it is missing"),
        ({"spanwise": {}}, "the version that wrote it is missing"),
        ({"checksums": None}, "the checksums of the other files are missing"),
        ({"checksums": {}}, "the checksums of the other files are missing"),
        ({"checksums": []}, "the checksums of the other files are missing"),
    ],
    ids=lambda change: str(change)[:40],
)
def test_an_unknown_version_is_reported(copy: Path, change: dict[str, object], reason: str) -> None:
    rewrite(copy / "config.json", lambda config: {**config, **change})
    sentence = refusal(copy)
    assert sentence.startswith(f"{copy / 'config.json'}: ")
    assert reason in sentence
    assert len(sentence) < 400


def test_a_checksum_names_a_file_of_the_folder(copy: Path) -> None:
    sums = {"../recipe.yaml": "", "schema.json": "", "model.safetensors": ""}
    (copy / "recipe.yaml").unlink()
    rewrite(copy / "config.json", lambda config: {**config, "checksums": sums})
    assert "recipe.yaml is missing" in refusal(copy)


@pytest.mark.parametrize(
    ("section", "option", "value"),
    [
        ("transformer", "num_hidden_layers", 10**6),
        ("transformer", "num_hidden_layers", 10**30),
        ("transformer", "hidden_size", 2**20),
        ("transformer", "intermediate_size", 10**9),
        ("transformer", "vocab_size", 10**12),
        ("transformer", "max_position_embeddings", 10**8),
        ("transformer", "type_vocab_size", 10**7),
        ("model", "hidden", 8192),
    ],
)
@pytest.mark.parametrize("earlier", [False, True], ids=["today", "earlier version"])
def test_sizes_beyond_the_weights_are_refused_before_anything_is_allocated(
    make_pipeline: Callable[..., TorchPipeline], tmp_path: Path, section: str, option: str, value: int, earlier: bool
) -> None:
    pipeline = make_pipeline("biaffine", bundle={"name": "seq-ner"})
    model_folder.save(pipeline, tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rewrite(tmp_path / "config.json", lambda config: {**config, section: {**config[section], option: value}})
    if earlier:
        _as_an_earlier_version(tmp_path)
    assert refusal(tmp_path).startswith(f"{tmp_path / 'config.json'}: ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_a_number_of_labels_of_the_encoder_is_not_written_out(copy: Path) -> None:
    rewrite(
        copy / "config.json", lambda config: {**config, "transformer": {**config["transformer"], "num_labels": 10**9}}
    )
    assert model_folder.load(copy).model.encoder.transformer.config.num_labels == 2


@pytest.mark.parametrize("earlier", [False, True], ids=["today", "earlier version"])
def test_ids_beyond_the_vocabulary_are_reported(copy: Path, earlier: bool) -> None:
    def change(data: dict[str, Any]) -> None:
        data["model"]["vocab"]["mara"] = 5_000

    rewrite(copy / "tokenizer.json", change)
    if earlier:
        _as_an_earlier_version(copy)
    wanted = "tokenizer.json: the tokenizer has ids up to 5000, but the encoder only embeds ids below 164"
    assert wanted in refusal(copy, verify=earlier)


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
    model_folder.load(tmp_path)  # the config still has the checksum of the old weights


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
