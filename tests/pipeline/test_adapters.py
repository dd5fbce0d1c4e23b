"""LoRA: what is trained and stored, models that share an encoder, and merging."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.errors import EncoderError, ModelError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline import adapters
from spanwise.pipeline import folder as model_folder
from spanwise.pipeline.adapters import SharedEncoder, base_checksum, has_adapter
from spanwise.pipeline.encoders import load_pretrained
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.weights import stored_parameters
from spanwise.recipe import Recipe
from spanwise.training.run import train

pytest.importorskip("peft")
Make = Callable[..., TorchPipeline]
LORA = {"adapter": "lora", "lora_rank": 2}
TEXT = "Mara Ostrow met Bo Lind of Acme in Brenford ."


@pytest.fixture
def adapted(make_pipeline: Make) -> Callable[..., TorchPipeline]:
    """adapted("span-ner", seed=2): a random model whose adapter changes what the encoder computes."""

    def make(model: str = "span-ner", **options: Any) -> TorchPipeline:
        pipeline = make_pipeline(model, encoder={**LORA, **options.pop("encoder", {})}, **options)
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(options.get("seed", 1))
            for name, parameter in pipeline.model.named_parameters():
                if "lora_B" in name:
                    parameter.normal_(std=0.5)
                elif name.endswith("bias") and (parameter < -4).all():
                    parameter.zero_()  # with this prior, an untrained model predicts nothing
        return pipeline

    return make


def loose(documents: list[Document]) -> list[Any]:
    """Entities and relations with scores to compare up to rounding."""
    return [
        [(e.start, e.end, e.label, pytest.approx(e.score, abs=1e-4)) for e in document.entities]
        + [(r.head, r.tail, r.label, pytest.approx(r.score, abs=1e-4)) for r in document.relations]
        for document in documents
    ]


def exact(documents: list[Document]) -> list[Any]:
    return [
        [(e.start, e.end, e.label, e.score) for e in document.entities]
        + [(r.head, r.tail, r.label, r.score) for r in document.relations]
        for document in documents
    ]


def test_only_the_adapter_and_the_heads_learn(make_pipeline: Make) -> None:
    model = make_pipeline("span-ner", encoder=LORA).model
    learns = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert learns == set(stored_parameters(model))
    in_transformer = {name for name in learns if name.startswith("encoder.transformer.")}
    assert in_transformer
    assert all(".lora_" in name for name in in_transformer)
    assert "encoder.shapes.weight" in learns


def test_a_new_adapter_changes_nothing(make_pipeline: Make, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    assert exact(make_pipeline("seq-ner", encoder=LORA).predict(documents)) == exact(
        make_pipeline("seq-ner").predict(documents)
    )


def test_targets_name_the_layers_with_an_adapter(make_pipeline: Make) -> None:
    model = make_pipeline("seq-ner", encoder={**LORA, "lora_targets": ["query"]}).model
    names = [name for name in stored_parameters(model) if ".lora_" in name]
    assert names
    assert all(".query.lora_" in name for name in names)


def test_unknown_targets_are_refused_with_the_names_of_the_layers(make_pipeline: Make) -> None:
    with pytest.raises(EncoderError, match=r"names quary, but the layers .* dense, key, query, value"):
        make_pipeline("seq-ner", encoder={**LORA, "lora_targets": ["quary"]})


def test_a_model_whose_own_tokens_must_learn_takes_no_adapter(make_pipeline: Make) -> None:
    with pytest.raises(EncoderError, match=r"leave encoder\.adapter out"):
        make_pipeline("probe-markers", encoder=LORA)


def test_an_adapter_without_peft_is_refused_before_data_are_read(
    make_recipe: Callable[..., Recipe], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(adapters, "find_spec", lambda name: None)
    with pytest.raises(EncoderError, match=r"spanwise\[adapters\]"):
        train(make_recipe("seq-ner", encoder=LORA, data={"train": ["missing.jsonl"]}), tmp_path / "run")


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("span-ner", {"nested": True, "bundle": {"name": "seq-ner"}}),
        ("dspert", {"depth": 1}),
        ("dspert", {"depth": 1, "shared": True}),
        ("lear", {}),
    ],
)
def test_a_model_predicts_the_same_after_save_and_load(
    adapted: Make, flat_corpus: Corpus, tmp_path: Path, model: str, options: dict[str, Any]
) -> None:
    pipeline = adapted(model, **options)
    model_folder.save(pipeline, tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    assert not [name for name in stored if name.startswith("encoder.transformer.") and ".lora_" not in name]
    loaded = model_folder.load(tmp_path)
    documents = flat_corpus.splits["train"]
    wanted = pipeline.predict(documents)
    assert any(document.entities for document in wanted)
    assert exact(loaded.predict(documents)) == exact(wanted)


def test_saving_again_keeps_the_name_of_the_encoder(adapted: Make, tiny_encoder: Path, tmp_path: Path) -> None:
    model_folder.save(adapted(), tmp_path / "first")
    model_folder.save(model_folder.load(tmp_path / "first"), tmp_path / "second")
    first, second = (json.loads((tmp_path / name / "config.json").read_text())["base"] for name in ("first", "second"))
    assert first == second == {"name": f"../../{tiny_encoder.name}", "sha256": first["sha256"]}


def test_no_file_of_a_model_tells_where_its_encoder_is(adapted: Make, tiny_encoder: Path, tmp_path: Path) -> None:
    for folder in (tmp_path / "near", tmp_path / "a" / "b" / "c" / "far"):
        model_folder.save(adapted(), folder)
        place = str(tiny_encoder.parent).encode()
        assert [path.name for path in folder.rglob("*") if place in path.read_bytes()] == []
    base = json.loads((folder / "config.json").read_text())["base"]
    assert base == {"name": tiny_encoder.name, "folder": True, "sha256": base["sha256"]}


def test_an_encoder_far_from_its_model_is_looked_for_in_the_folder_of_encoders(
    adapted: Make, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, again = tmp_path / "a" / "b" / "c" / "far", tmp_path / "again"
    pipeline = adapted()
    model_folder.save(pipeline, folder)
    monkeypatch.setenv("SPANWISE_ENCODERS", str(tmp_path))
    with pytest.raises(ModelError, match=r"'tiny-encoder\d*' does not exist; .* SPANWISE_ENCODERS .* encoder="):
        model_folder.load(folder)
    shared = model_folder.load(folder, encoder=SharedEncoder.load(str(tiny_encoder)))
    model_folder.save(shared, again)
    first, second = (json.loads((path / "config.json").read_text())["base"] for path in (folder, again))
    assert first == second
    monkeypatch.setenv("SPANWISE_ENCODERS", str(tiny_encoder.parent))
    assert exact(model_folder.load(folder).predict([Document(TEXT)])) == exact(pipeline.predict([Document(TEXT)]))


def test_a_model_and_its_encoder_can_move_together(
    adapted: Make, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPANWISE_ENCODERS", raising=False)
    shutil.copytree(tiny_encoder, tmp_path / "here" / "encoder")
    pipeline = adapted(encoder={"name": str(tmp_path / "here" / "encoder")})
    model_folder.save(pipeline, tmp_path / "here" / "model")
    (tmp_path / "here").rename(tmp_path / "there")
    loaded = model_folder.load(tmp_path / "there" / "model")
    assert exact(loaded.predict([Document(TEXT)])) == exact(pipeline.predict([Document(TEXT)]))


def test_an_adapter_for_a_local_encoder_is_not_uploaded_without_it(
    adapted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploaded: dict[str, Any] = {}

    class Hub:
        def __init__(self, token: str | None = None) -> None:
            uploaded["asked"] = True

        def create_repo(self, name: str, **_: object) -> None:
            uploaded["name"] = name

        def upload_folder(self, *, folder_path: str, **_: object) -> Any:
            uploaded["config"] = json.loads((Path(folder_path) / "config.json").read_text())
            return SimpleNamespace(commit_url="https://hub.example/1")

    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    extractor = Extractor(adapted())
    with pytest.raises(ModelError, match=r"local encoder 'tiny-encoder\d*', .*push_to_hub\(…, merge=True\)"):
        extractor.push_to_hub("ada/names")
    assert uploaded == {}
    extractor.push_to_hub("ada/names", merge=True)
    assert uploaded["config"]["encoder"]["adapter"] is None
    assert "base" not in uploaded["config"]


def test_an_encoder_that_moved_is_looked_for_in_the_folder_of_encoders(
    adapted: Make, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_folder.save(adapted(), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["base"]["name"] = f"/elsewhere/{tiny_encoder.name}"
    (tmp_path / "config.json").write_text(json.dumps(config))
    monkeypatch.setenv("SPANWISE_ENCODERS", str(tiny_encoder.parent))
    assert model_folder.load(tmp_path).predict([Document(TEXT)])


def test_an_adapter_for_other_weights_is_refused(adapted: Make, tiny_encoder: Path, tmp_path: Path) -> None:
    model_folder.save(adapted(), tmp_path)
    other, _ = load_pretrained(str(tiny_encoder))
    with torch.no_grad():
        next(other.parameters()).add_(1e-3)
    with pytest.raises(ModelError, match=r"was trained on other weights"):
        model_folder.load(tmp_path, encoder=SharedEncoder("other", other))


def test_a_missing_encoder_is_named(adapted: Make, tmp_path: Path) -> None:
    model_folder.save(adapted(), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["base"]["name"] = "./gone"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"the encoder of its adapter is missing: .*'./gone' does not exist"):
        model_folder.load(tmp_path)


def test_models_on_one_encoder_share_its_weights_and_predict_as_alone(
    adapted: Make, flat_corpus: Corpus, tiny_encoder: Path, tmp_path: Path
) -> None:
    documents = list(flat_corpus.splits["train"])
    wanted = []
    for seed in (1, 2):
        pipeline = adapted(seed=seed)
        model_folder.save(pipeline, tmp_path / str(seed))
        wanted.append(exact(pipeline.predict(documents)))
    assert wanted[0] != wanted[1]
    shared = SharedEncoder.load(str(tiny_encoder))
    before = base_checksum(shared.transformer)
    first, second = (Extractor.from_pretrained(tmp_path / str(seed), encoder=shared) for seed in (1, 2))
    for _ in range(2):
        assert [exact(first(documents)), exact(second(documents))] == wanted
    weights = [
        {
            parameter.data_ptr()
            for name, parameter in extractor.pipeline.model.encoder.transformer.named_parameters()
            if ".lora_" not in name
        }
        for extractor in (first, second)
    ]
    assert weights[0] == weights[1] == {parameter.data_ptr() for parameter in shared.transformer.parameters()}
    assert not has_adapter(shared.transformer)
    first.save_pretrained(tmp_path / "merged", merge=True)
    assert base_checksum(shared.transformer) == before
    assert exact(first(documents)) == wanted[0]


def test_a_model_with_its_own_encoder_takes_no_shared_one(trained: Path, tiny_encoder: Path) -> None:
    with pytest.raises(ModelError, match="leave encoder= out"):
        Extractor.from_pretrained(trained, encoder=SharedEncoder.load(str(tiny_encoder)))


@pytest.mark.parametrize(
    ("model", "options"),
    [("span-ner", {"bundle": {"name": "seq-ner"}}), ("dspert", {"depth": 1}), ("dspert", {"depth": 1, "shared": True})],
)
def test_a_merged_model_predicts_the_same_without_an_adapter(
    adapted: Make, flat_corpus: Corpus, tmp_path: Path, model: str, options: dict[str, Any]
) -> None:
    pipeline = adapted(model, **options)
    documents = list(flat_corpus.splits["train"])
    wanted = pipeline.predict(documents)
    Extractor(pipeline).save_pretrained(tmp_path, merge=True)
    merged = model_folder.load(tmp_path)
    assert "base" not in json.loads((tmp_path / "config.json").read_text())
    assert not has_adapter(merged.model.encoder.transformer)
    assert all(parameter.requires_grad for parameter in merged.model.parameters())
    assert loose(merged.predict(documents)) == exact(wanted)


def test_other_labels_keep_the_adapter(adapted: Make, tmp_path: Path) -> None:
    pipeline = adapted("lear", shared=True)
    asked = Extractor(pipeline).with_labels({"Person": "a person", "Place": "a place"})
    asked.save_pretrained(tmp_path)
    before, after = (stored_parameters(p.model) for p in (pipeline, model_folder.load(tmp_path)))
    assert before.keys() == after.keys()
    assert all(before[name].equal(after[name]) for name in before)


@pytest.mark.slow
def test_an_exported_adapter_is_merged_into_its_graph(adapted: Make, flat_corpus: Corpus, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from spanwise.inference.graphs import export_graphs
    from spanwise.pipeline.onnx_runner import OnnxRunner
    from spanwise.pipeline.pipeline import Pipeline

    torch_pipeline = adapted()
    export_graphs(torch_pipeline, tmp_path)
    reader = torch_pipeline.reader
    exported = Pipeline(
        reader,
        torch_pipeline.schema,
        torch_pipeline.pieces,
        torch_pipeline.windows,
        OnnxRunner(tmp_path, reader.decoder),
        torch_pipeline.threshold,
    )
    documents = list(flat_corpus.splits["train"])
    assert loose(exported.predict(documents)) == exact(torch_pipeline.predict(documents))
