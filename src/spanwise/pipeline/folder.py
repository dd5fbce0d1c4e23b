"""A trained model is a folder: config, schema, tokenizer, weights in safetensors and a model card. No pickle.

An exported model has the same config and schema, and graphs instead of weights: see pipeline.onnx_folder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from spanwise import __version__
from spanwise.errors import EncoderError, ModelError, SchemaError, SpanwiseError, shortened
from spanwise.files import atomic_file, write_text
from spanwise.pipeline import base_encoder
from spanwise.pipeline.adapters import SharedEncoder, base_checksum
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.compact import COMPACT, base_weights, compressed, describe, restored
from spanwise.pipeline.encoders import check_vocabulary, quiet_transformers, remove_pooler
from spanwise.pipeline.integrity import FORMAT, check_version, checksum, verify_checksums
from spanwise.pipeline.size_limit import SizeLimit
from spanwise.pipeline.stored import (
    CONFIG,
    SCHEMA,
    first_line,
    read_config,
    read_schema,
    read_tuning,
    to_json,
    tuning_to_dict,
    with_tuning,
)
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.weights import stored_tensors
from spanwise.recipe import BundleSection, EncoderConfig, ModelSection
from spanwise.renamed import stored_name, upgrade_keys
from spanwise.schema import Schema
from spanwise.seam.module import Trainable

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

WEIGHTS = "model.safetensors"
BASE = "base"  # key of the config of a model with an adapter
OBSOLETE = frozenset(("labels.read", "labels.read_by"))  # stored by earlier versions: encoded labels


def save(pipeline: TorchPipeline, folder: Path, rank: int | None = None) -> None:
    """Write a model folder; the config comes last, with the checksums of all other files that a model is read from.

    With `rank`, the weights are stored as a difference of this rank to the default encoder (pipeline.compact).
    """
    encoder = pipeline.blueprint.encoder
    if rank is not None and (encoder.name != "minilm" or encoder.adapter is not None):
        raise ModelError("only a model on the default encoder (minilm), without an adapter, can be stored with a rank.")
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SCHEMA, to_json(pipeline.schema.to_dict()))
    tokenizer = [Path(path) for path in pipeline.tokenizer.save_pretrained(folder)]
    checksums = {path.name: checksum(path) for path in (folder / SCHEMA, *tokenizer) if path.is_file()}
    with atomic_file(folder / CONFIG) as config, atomic_file(folder / WEIGHTS) as weights:  # renamed in a row
        save_weights(pipeline.model, weights, rank)
        checksums[WEIGHTS] = checksum(weights)
        data = {
            **_config(pipeline, folder),
            **({} if rank is None else {COMPACT: describe(rank)}),
            "checksums": checksums,
        }
        config.write_text(to_json(with_tuning(data, tuning_to_dict(pipeline.blueprint.tuning))), encoding="utf-8")


def _config(pipeline: TorchPipeline, folder: Path) -> dict[str, Any]:
    """The options, and what follows from them for readers that do not have the model's code."""
    blueprint, transformer = pipeline.blueprint, pipeline.model.encoder.transformer.config
    return {
        "model_type": transformer.model_type,  # lets AutoTokenizer find its class
        "spanwise": __version__,
        "format": FORMAT,
        "encoder": {**blueprint.encoder.model_dump(mode="json"), "name": Path(blueprint.encoder.name).name},
        **({} if blueprint.encoder.adapter is None else {BASE: _base(pipeline, folder)}),
        "model": blueprint.model.model_dump(mode="json"),
        "bundle": blueprint.bundle and blueprint.bundle.model_dump(mode="json"),
        "threshold": blueprint.threshold,
        "reader": blueprint.reader,
        "members": {
            member.name: {
                "traits": asdict(member.traits),
                "proposer": member.proposer and member.proposer.to_dict(),
                "decoder": member.decoder.to_dict(),
            }
            for member in pipeline.members
        },
        "transformer": {**transformer.to_dict(), "_name_or_path": "", "model_type": transformer.model_type},
    }


def _base(pipeline: TorchPipeline, folder: Path) -> dict[str, Any]:
    """The encoder that an adapter belongs to, and the checksum of its weights."""
    named = base_encoder.described(pipeline.blueprint.encoder.name, folder)
    return {**named, "sha256": base_checksum(pipeline.model.encoder.transformer)}


def stored_rank(folder: Path) -> int | None:
    """The rank of a model whose encoder is stored as a difference; None for a model with whole weights."""
    compact = read_config(folder).get(COMPACT)
    return compact["rank"] if isinstance(compact, dict) and type(compact.get("rank")) is int else None


def save_weights(model: Trainable, path: Path, rank: int | None = None) -> None:
    stored = {name: value.detach().contiguous() for name, value in stored_tensors(model).items()}
    if rank is not None:
        stored = compressed(stored, base_weights(describe(rank)), rank)
    save_file(stored, path)


def load(
    folder: Path | str, reader: str | None = None, *, encoder: SharedEncoder | None = None, verify: bool = True
) -> TorchPipeline:
    """Read a model folder that `save` wrote; `reader` names the member of a bundle that makes the predictions.

    A model with an adapter uses the weights of `encoder`; by default it loads its encoder. `verify=False` skips the
    checksums, such as for a schema that was edited on purpose.
    """
    folder = Path(folder)
    config = upgrade_keys(read_config(folder))
    check_version(config, folder / CONFIG)
    if verify:
        verify_checksums(config, folder, (SCHEMA, WEIGHTS))
    schema, config = read_schema(folder), _with_base(folder, config, encoder)
    base = _base_encoder(folder, config, encoder)
    published = base_weights(config[COMPACT]) if COMPACT in config else {}
    elements = _element_count(folder / WEIGHTS) + sum(value.numel() for value in published.values())
    limit = SizeLimit(elements, folder / CONFIG)
    with limit:
        pipeline = _build(folder, config, schema, reader, limit, base)
    if base is not None and verify:
        _check_base(pipeline, config[BASE], folder)
    if published:
        _load_compact(pipeline.model, folder / WEIGHTS, published)
    else:
        load_weights(pipeline.model, folder / WEIGHTS)
    pipeline.model.eval()
    return pipeline


def _with_base(folder: Path, config: dict[str, Any], given: SharedEncoder | None) -> dict[str, Any]:
    """The config with the place of the adapter's encoder on this machine."""
    base = config.get(BASE)
    if base is None:
        if given is not None:
            raise ModelError(f"{folder}: this model stores its own encoder; leave encoder= out.")
        return config
    if not isinstance(base, dict) or not all(isinstance(base.get(key), str) for key in ("name", "sha256")):
        raise ModelError(f"{folder / CONFIG}: the encoder of the adapter is not named; copy it again.")
    name = base_encoder.found(base, folder)
    if name is None and given is None:
        raise base_encoder.missing(base, folder)
    return {**config, BASE: {**base, "name": name or f"./{Path(base['name']).name}"}}


def _base_encoder(folder: Path, config: dict[str, Any], given: SharedEncoder | None) -> SharedEncoder | None:
    """The encoder that the stored adapter belongs to; None for a model without an adapter."""
    if BASE not in config:
        return None
    try:
        return given or SharedEncoder.load(config[BASE]["name"])
    except EncoderError as error:
        raise ModelError(f"{folder}: the encoder of its adapter is missing: {error}") from None


def _check_base(pipeline: TorchPipeline, base: dict[str, str], folder: Path) -> None:
    if base_checksum(pipeline.model.encoder.transformer) != base["sha256"]:
        raise ModelError(
            f"{folder}: its adapter was trained on other weights of {shortened(base['name'])!r} (their checksum "
            f"differs); give the encoder that it was trained on, as encoder=SharedEncoder.load(NAME)."
        )


def _build(
    folder: Path,
    config: dict[str, Any],
    schema: Schema,
    reader: str | None,
    limit: SizeLimit,
    base: SharedEncoder | None,
) -> TorchPipeline:
    """The model that the config describes, with weights still to be read."""
    blueprint = _checked_blueprint(folder, config)
    transformer, tokenizer = _transformer(folder, config, limit, base, blueprint.encoder.layers)
    tuning = read_tuning(folder, config, [section.name for section in blueprint.sections], schema)
    blueprint = replace(blueprint.with_reader(reader), tuning=tuning)
    try:
        return TorchPipeline(blueprint, schema, transformer, tokenizer)
    except ModelError:
        raise
    except SchemaError as error:
        raise ModelError(f"{folder / SCHEMA}: {error}") from None
    except (KeyError, TypeError, ValueError, RuntimeError, SpanwiseError) as error:
        raise ModelError(f"{folder / CONFIG}: not a spanwise model ({first_line(error)}).") from None


def _checked_blueprint(folder: Path, config: dict[str, Any]) -> Blueprint:
    try:
        return _blueprint(config)
    except (KeyError, TypeError, ValueError, SpanwiseError) as error:
        raise ModelError(f"{folder / CONFIG}: not a spanwise model ({first_line(error)}).") from None


def _blueprint(config: dict[str, Any]) -> Blueprint:
    bundle, threshold = config["bundle"], config["threshold"]
    encoder = EncoderConfig.model_validate(config["encoder"])
    blueprint = Blueprint(
        encoder.model_copy(update={"name": config[BASE]["name"]}) if BASE in config else encoder,
        ModelSection.model_validate(config["model"]),
        BundleSection.model_validate(bundle) if bundle else None,
        None if threshold is None else float(threshold),
    )
    return blueprint.with_reader(config.get("reader"))


def load_weights(model: Trainable, path: Path) -> None:
    """Fill the model from a safetensors file that must hold exactly its parameters and persistent buffers."""
    wanted = stored_tensors(model)
    with _opened(path) as file:
        stored = {name for name in file.keys() if not _obsolete(name)}  # noqa: SIM118
        source = {name: stored_name(name, stored) for name in wanted}
        if odd := set(source.values()) ^ stored:
            odd_name = shortened(min(odd))
            raise ModelError(f"{path}: the weights do not fit the model (such as {odd_name}); train it again.")
        for name, parameter in wanted.items():
            _fill(parameter, file.get_tensor(source[name]), f"{path}: {name}")


def _load_compact(model: Trainable, path: Path, base: dict[str, Tensor]) -> None:
    """Fill the model from weights that are stored as a difference."""
    stored = _restored(path, base)
    for name, parameter in stored_tensors(model).items():
        if name not in stored:
            raise ModelError(f"{path}: the weights do not fit the model (such as {shortened(name)}); train it again.")
        _fill(parameter, stored[name], f"{path}: {name}")


def _restored(path: Path, base: dict[str, Tensor]) -> dict[str, Tensor]:
    with _opened(path) as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    try:
        return restored(stored, base)
    except (KeyError, RuntimeError) as error:
        raise ModelError(f"{path}: the weights do not fit the default encoder ({first_line(error)}).") from None


def load_fitting_weights(model: Trainable, folder: Path, layers: Sequence[int] | None = None) -> tuple[int, int]:
    """Fill the parameters that a model folder has under the same name and shape; how many, and of how many.

    The word-piece embeddings must be among them: without these the weights are those of another encoder. Both must keep
    the same `layers` of the encoder, since the names only count them.
    """
    config = read_config(folder)
    if (kept := config.get("encoder", {}).get("layers")) != (None if layers is None else list(layers)):
        raise ModelError(
            f"{folder} has encoder.layers {kept or 'null'}; set the same in the recipe, or train it again."
        )
    check_version(config, folder / CONFIG)
    verify_checksums(config, folder, (SCHEMA, WEIGHTS))
    stored = _restored(folder / WEIGHTS, base_weights(config[COMPACT]) if COMPACT in config else {})
    wanted = dict(model.named_parameters())
    fitting = [name for name, parameter in wanted.items() if name in stored and stored[name].shape == parameter.shape]
    if not any("word_embeddings" in name or "embed_tokens" in name for name in fitting):
        raise ModelError(f"{folder} has another encoder than this recipe; set `encoder` as in its recipe.yaml.")
    for name in fitting:
        _fill(wanted[name], stored[name], f"{folder / WEIGHTS}: {name}")
    return len(fitting), len(wanted)


@torch.no_grad()
def _fill(parameter: Tensor, tensor: Tensor, where: str) -> None:
    if tensor.shape != parameter.shape:
        shapes = f"{tuple(tensor.shape)} instead of {tuple(parameter.shape)}"
        raise ModelError(f"{where} has shape {shapes}; train it again.")
    if tensor.dtype != parameter.dtype and not (tensor.is_floating_point() and parameter.is_floating_point()):
        raise ModelError(f"{where} has the type {tensor.dtype} instead of {parameter.dtype}; train it again.")
    parameter.copy_(tensor)
    if not torch.isfinite(parameter).all():
        raise ModelError(f"{where} has weights that are not finite numbers; train it again.")


def _element_count(path: Path) -> int:
    """How many numbers a safetensors file holds, by its header."""
    with _opened(path) as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A safetensors file; what is wrong with it ends with one sentence."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise ModelError(f"{path.parent}: {path.name} is missing; copy the whole model folder.") from None
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: damaged or truncated ({first_line(error)}); copy it again.") from None


def _obsolete(name: str) -> bool:
    return any(name == old or name.endswith(f".{old}") for old in OBSOLETE)


def _transformer(
    folder: Path,
    config: dict[str, Any],
    limit: SizeLimit,
    base: SharedEncoder | None,
    layers: Sequence[int] | None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    try:
        with quiet_transformers():
            if base is None:
                settings = {key: value for key, value in config["transformer"].items() if key != "num_labels"}
                limit.check_numbers(settings)
                transformer = AutoModel.from_config(AutoConfig.for_model(settings.pop("model_type"), **settings))
            else:
                transformer = base.copy(layers)
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            vocabulary = any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt", "tokenizer.model"))
            if not (vocabulary and (folder / "tokenizer_config.json").is_file()):
                raise ModelError(f"{folder}: the tokenizer's files are missing; copy the whole model folder.")
            check_vocabulary(transformer, tokenizer)
    except EncoderError as error:
        raise ModelError(f"{folder / 'tokenizer.json'}: {error}") from None
    except SpanwiseError:
        raise
    except Exception as error:  # transformers raises nearly anything for a damaged folder
        raise ModelError(f"{folder}: the encoder or tokenizer cannot be read ({first_line(error)}).") from error
    return remove_pooler(transformer), tokenizer
