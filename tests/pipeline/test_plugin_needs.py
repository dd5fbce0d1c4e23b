"""What models of other packages need from the pipeline: tokens of their own, buffers, context in bundles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from spanwise.corpora import Corpus
from spanwise.errors import EncoderError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline import folder as model_folder
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.weights import persistent_buffers

Make = Callable[..., TorchPipeline]


def test_a_word_that_spells_a_marker_is_not_the_marker(make_pipeline: Make) -> None:
    pipeline = make_pipeline("probe-markers")
    marker = pipeline.model.encoder.special_ids["[S]"]
    (example,) = pipeline.task.builder.examples(Extractor(pipeline)(words=["[S]", "left"]))
    assert marker not in example.pieces.tolist()
    assert pipeline.tokenizer.convert_ids_to_tokens(marker) == "[S]"


def test_markers_are_the_same_tokens_after_loading(make_pipeline: Make, tmp_path: Path) -> None:
    pipeline = make_pipeline("probe-markers")
    model_folder.save(pipeline, tmp_path)
    assert model_folder.load(tmp_path).model.encoder.special_ids == pipeline.model.encoder.special_ids


def test_markers_that_could_not_learn_are_refused(make_pipeline: Make) -> None:
    with pytest.raises(EncoderError, match=r"must be trained; set encoder.freeze_embeddings: false"):
        make_pipeline("probe-markers", encoder={"freeze_embeddings": True})


def test_persistent_buffers_are_saved_and_loaded(make_pipeline: Make, tmp_path: Path) -> None:
    pipeline = make_pipeline("seq-ner")
    assert persistent_buffers(pipeline.model) == {}
    pipeline.model.register_buffer("seen", torch.tensor([3.0]))
    model_folder.save_weights(pipeline.model, tmp_path / "model.safetensors")
    other = make_pipeline("seq-ner")
    other.model.register_buffer("seen", torch.zeros(1))
    model_folder.load_weights(other.model, tmp_path / "model.safetensors")
    assert other.model.seen.tolist() == [3.0]


def test_a_bundle_is_trained_with_the_context_that_either_member_needs(
    make_pipeline: Make, flat_corpus: Corpus
) -> None:
    pipeline = make_pipeline("seq-ner", flat_corpus, bundle={"name": "probe-context"})
    assert pipeline.task.builder.context == 0
    assert pipeline.training_task.builder.context == 6
