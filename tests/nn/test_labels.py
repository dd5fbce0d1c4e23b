"""Descriptions are read once at inference, again when the encoder or they change, and at every step in training."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from spanwise import pretrained
from spanwise.corpora import Corpus
from spanwise.errors import SchemaError
from spanwise.nn import labels
from spanwise.nn.labels import LabelReader
from spanwise.pipeline import Pipeline
from spanwise.schema import EntityType, Schema

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
EMBEDDINGS = "encoder.transformer.embeddings.word_embeddings.weight"


@pytest.fixture
def pipeline(make_pipeline: Callable[..., Pipeline]) -> Any:
    return make_pipeline("lear")


def reader_of(pipeline: Any) -> LabelReader:
    (reader,) = (module for module in pipeline.model.modules() if isinstance(module, LabelReader))
    return reader


def watched(pipeline: Any) -> list[int]:
    """How often the encoder is given the description of each label from now on, however many of them at once."""
    encoder, reader = pipeline.model.encoder, reader_of(pipeline)
    own = [row[mask].tolist() for row, mask in zip(reader.pieces, reader.mask.bool(), strict=True)]
    hidden, times = encoder.hidden, [0] * len(own)

    def watching(pieces: Tensor, mask: Tensor, types: Tensor | None = None) -> Any:
        for row, real in zip(pieces, mask.bool(), strict=True):
            if (given := row[real].tolist()) in own:
                times[own.index(given)] += 1
        return hidden(pieces, mask, types)

    encoder.hidden = watching
    return times


NEVER, ONCE = [0, 0, 0], [1, 1, 1]


@torch.no_grad()
def assert_known(pipeline: Any) -> Tensor:
    """What the model takes the descriptions for is what the encoder says of them, asked directly and one by one."""
    model, reader = pipeline.model.eval(), reader_of(pipeline)
    vectors: Tensor = model.tokens().vectors
    for row, pieces, mask in zip(vectors, reader.pieces, reader.mask.bool(), strict=True):
        said = model.encoder.transformer(input_ids=pieces[mask].unsqueeze(0)).last_hidden_state[0]
        torch.testing.assert_close(row[mask], said, **CLOSE)
    return vectors.clone()


@torch.no_grad()
def scores_of(pipeline: Any, documents: Any) -> Tensor:
    examples = [example for group in pipeline.builder.build(documents, gold=False) for example in group]
    scores: Tensor = pipeline.model.eval()(pipeline.collate(examples)).start
    return scores


def train_step(pipeline: Any, documents: Any, **options: Any) -> None:
    model = pipeline.model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, **options)
    examples = [example for group in pipeline.builder.build(documents, gold=True) for example in group]
    batch = pipeline.collate(examples)
    model.loss(model(batch), batch).total.backward()
    optimizer.step()
    model.eval()


def other_weights(pipeline: Any) -> dict[str, Tensor]:
    """The model's state with another encoder; what was read is still that of its own."""
    state = {name: value.clone() for name, value in pipeline.model.state_dict().items()}
    state[EMBEDDINGS] *= 1.5
    return state


def copy_in_place(name: str) -> Callable[[Any, Any], None]:
    def copy(pipeline: Any, documents: Any) -> None:
        weight = dict(pipeline.model.named_parameters())[name]
        with torch.no_grad():
            weight.copy_(1.5 * weight)

    return copy


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "a step of AdamW": lambda pipeline, documents: train_step(pipeline, documents),
    "a step of fused AdamW": lambda pipeline, documents: train_step(pipeline, documents, fused=True),
    "weights copied in place": copy_in_place(EMBEDDINGS),
    "another state": lambda pipeline, documents: pipeline.model.load_state_dict(other_weights(pipeline)),
}


def test_at_inference_descriptions_are_read_once(pipeline: Any, flat_corpus: Corpus) -> None:
    times = watched(pipeline)
    documents = flat_corpus.splits["train"]
    pipeline.predict(documents, token_budget=100)  # several batches
    pipeline.predict(documents)
    assert times == ONCE
    assert_known(pipeline)


@pytest.mark.parametrize("change", CHANGES)
def test_descriptions_are_read_again_when_the_encoder_has_changed(
    pipeline: Any, flat_corpus: Corpus, change: str
) -> None:
    documents = flat_corpus.splits["train"]
    pipeline.predict(documents)
    before = assert_known(pipeline)
    CHANGES[change](pipeline, documents)
    times = watched(pipeline)
    pipeline.predict(documents)
    pipeline.predict(documents)
    assert times == ONCE
    assert (assert_known(pipeline) - before).abs().max() > 1e-3


@pytest.mark.parametrize("knowledge", ["descriptions", "embeddings"])
@pytest.mark.parametrize(
    "change",
    [
        *CHANGES.values(),
        *(copy_in_place(f"{name}.weight") for name in ("of_words", "of_labels", "fuse", "start")),
    ],
    ids=[*CHANGES, "U1", "U2", "V", "M"],
)
def test_a_model_that_has_predicted_and_changed_predicts_as_one_that_was_always_so(
    make_pipeline: Callable[..., Pipeline], flat_corpus: Corpus, change: Callable[[Any, Any], Any], knowledge: str
) -> None:
    """Nothing that inference keeps outlives what it was made of."""
    documents = flat_corpus.splits["train"]
    used: Any = make_pipeline("lear", knowledge=knowledge)
    used.predict(documents)
    before = scores_of(used, documents)
    change(used, documents)
    used.predict(documents)
    new = make_pipeline("lear", knowledge=knowledge)
    new.model.load_state_dict(dict(used.model.named_parameters()), strict=False)
    found = scores_of(used, documents)
    torch.testing.assert_close(found, scores_of(new, documents), **CLOSE)
    assert (found - before).abs().max() > 1e-3


def test_in_training_descriptions_are_read_at_every_step(pipeline: Any, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    pipeline.predict(documents)
    times = watched(pipeline)
    for _ in range(3):  # also after a prediction in inference mode
        train_step(pipeline, documents)
    assert times == [3, 3, 3]


@torch.no_grad()
def test_what_is_read_once_has_full_precision_also_where_the_text_has_not(pipeline: Any) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        pipeline.model.eval().tokens()
    times = watched(pipeline)
    assert_known(pipeline)
    assert times == NEVER


@torch.no_grad()
def test_how_many_descriptions_are_read_together_does_not_matter(
    make_pipeline: Callable[..., Pipeline], flat_corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = flat_corpus.splits["train"]
    together: Any = make_pipeline("lear")
    scores = scores_of(together, documents)
    monkeypatch.setattr(labels, "TOGETHER", 1)
    alone: Any = make_pipeline("lear")
    times = watched(alone)
    torch.testing.assert_close(scores_of(alone, documents), scores, **CLOSE)
    assert times == ONCE
    assert_known(alone)


@pytest.fixture
def folder(pipeline: Any, tmp_path: Path) -> Path:
    pretrained.save(pipeline, tmp_path / "model")
    return tmp_path / "model"


def test_a_loaded_model_need_not_read_its_descriptions(folder: Path, pipeline: Any, flat_corpus: Corpus) -> None:
    loaded: Any = pretrained.load(folder)
    times = watched(loaded)
    documents = flat_corpus.splits["train"]
    assert loaded.predict(documents) == pipeline.predict(documents)
    assert_known(loaded)
    assert times == NEVER


def test_a_model_that_is_saved_in_training_is_loaded_with_descriptions_as_read_at_inference(
    pipeline: Any, flat_corpus: Corpus, tmp_path: Path
) -> None:
    """Without dev data a run saves its model straight from training, with the encoder's dropout on."""
    train_step(pipeline, flat_corpus.splits["train"])
    pipeline.model.train()
    pretrained.save(pipeline, tmp_path)
    assert all(module.training for module in pipeline.model.modules())
    assert_known(pretrained.load(tmp_path))


def as_stored(tensors: dict[str, Tensor]) -> Tensor:
    """What was read of the descriptions, in a model's file."""
    (name,) = (name for name in tensors if name.endswith(".read"))
    return tensors[name]


@pytest.mark.parametrize("text", ["cowns and tountries", "towns", "towns, countries and what else there is on a map"])
def test_other_descriptions_in_a_model_folder_are_read(folder: Path, text: str) -> None:
    """As many word pieces, fewer, and more than all: "towns and countries" is the shortest of the descriptions."""
    schema = json.loads((folder / "schema.json").read_text())
    place = schema["entities"][2]
    assert place["description"] == "towns and countries"
    place["description"] = text
    (folder / "schema.json").write_text(json.dumps(schema))
    before = as_stored(load_file(folder / "model.safetensors"))
    loaded = pretrained.load(folder)
    times = watched(loaded)
    found = assert_known(loaded)
    assert times == ONCE
    assert found.shape != before.shape or (found[2] - before[2]).abs().max() > 1e-3


def one_number(tensors: dict[str, Tensor]) -> None:
    tensors["encoder.transformer.encoder.layer.1.output.LayerNorm.bias"][3] += 0.01


def a_sign(tensors: dict[str, Tensor]) -> None:
    tensors[EMBEDDINGS] *= -1


def two_layers(tensors: dict[str, Tensor]) -> None:
    """Swap them."""
    for name in [name for name in tensors if ".layer.0." in name]:
        other = name.replace(".layer.0.", ".layer.1.")
        tensors[name], tensors[other] = tensors[other].clone(), tensors[name].clone()


def two_rows(tensors: dict[str, Tensor]) -> None:
    """Swap the vectors of two word pieces: "p" and "t", with which words of the descriptions begin."""
    tensors[EMBEDDINGS][[20, 24]] = tensors[EMBEDDINGS][[24, 20]]


@pytest.mark.parametrize("change", [one_number, a_sign, two_layers, two_rows])
def test_other_encoder_weights_in_a_model_folder_read_the_descriptions_anew(
    folder: Path, change: Callable[[dict[str, Tensor]], None]
) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    loaded = pretrained.load(folder)
    times = watched(loaded)
    assert (assert_known(loaded) - as_stored(tensors)).abs().max() > 1e-3
    assert times == ONCE


def test_other_weights_of_the_task_do_not_make_it_read_again(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors["start.weight"] *= 2
    save_file(tensors, folder / "model.safetensors")
    loaded = pretrained.load(folder)
    times = watched(loaded)
    assert_known(loaded)
    assert times == NEVER


def with_description(corpus: Corpus, text: str) -> Corpus:
    first, *others = corpus.schema.entities
    return replace(corpus, schema=Schema((EntityType(first.name, text), *others)))


@pytest.mark.parametrize("model", ["lear", "qa"])
def test_a_description_that_leaves_too_little_room_is_refused_by_name(
    make_pipeline: Callable[..., Pipeline], flat_corpus: Corpus, model: str
) -> None:
    """The tiny encoder reads 96 pieces."""
    make_pipeline(model, with_description(flat_corpus, "in the met " * 14))
    with pytest.raises(SchemaError, match=r"the description 'in the met in the .* has 60 word pieces; shorten"):
        make_pipeline(model, with_description(flat_corpus, "in the met " * 20))
