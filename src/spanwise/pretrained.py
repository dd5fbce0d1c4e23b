"""A trained model is a folder: config, schema, tokenizer, weights in safetensors and a model card. No pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from spanwise import __version__
from spanwise.encoders import EncoderConfig, quiet, without_pooler
from spanwise.errors import ModelError, SchemaError, SpanwiseError
from spanwise.files import replacing, write_text
from spanwise.models.base import SpanModel
from spanwise.pipeline import Blueprint, Pipeline
from spanwise.recipe import BundleSection, ModelSection
from spanwise.schema import Schema

CONFIG, SCHEMA, WEIGHTS, CARD = "config.json", "schema.json", "model.safetensors", "README.md"


def save(pipeline: Pipeline, folder: Path) -> None:
    """Write a model folder; the weights come last, so that a folder with weights is complete."""
    blueprint = pipeline.blueprint
    transformer = pipeline.model.encoder.transformer.config
    config = {
        "model_type": transformer.model_type,  # lets AutoTokenizer find its class
        "spanwise": __version__,
        "encoder": {**blueprint.encoder.model_dump(mode="json"), "name": Path(blueprint.encoder.name).name},
        "model": blueprint.model.model_dump(mode="json"),
        "bundle": blueprint.bundle and blueprint.bundle.model_dump(mode="json"),
        "threshold": blueprint.threshold,
        "transformer": {**transformer.to_dict(), "_name_or_path": "", "model_type": transformer.model_type},
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG, json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    write_text(folder / SCHEMA, json.dumps(pipeline.schema.to_dict(), indent=2, ensure_ascii=False) + "\n")
    pipeline.tokenizer.save_pretrained(folder)
    save_weights(pipeline.model, folder / WEIGHTS)


def save_weights(model: SpanModel, path: Path) -> None:
    model.settle()
    with replacing(path) as draft:
        stored = {**dict(model.named_parameters()), **_buffers(model)}
        save_file({name: value.detach().contiguous() for name, value in stored.items()}, draft)


def _buffers(model: SpanModel) -> dict[str, torch.Tensor]:
    """Those that are saved, each under one name."""
    kept = model.state_dict().keys()
    return {name: value for name, value in model.named_buffers() if name in kept}


def load(folder: Path | str) -> Pipeline:
    """Read a model folder that `save` wrote."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(f"{folder}: there is no such model folder; train one with `spanwise train`.")
    config, schema = _read_json(folder / CONFIG), _schema(folder / SCHEMA)
    transformer, tokenizer = _transformer(folder, config)
    try:
        bundle = config["bundle"]
        blueprint = Blueprint(
            EncoderConfig(**config["encoder"]),
            ModelSection(**config["model"]),
            BundleSection(**bundle) if bundle else None,
            float(config["threshold"]),
        )
        pipeline = Pipeline(blueprint, schema, transformer, tokenizer)
    except SchemaError as error:
        raise ModelError(f"{folder / SCHEMA}: {error}") from None
    except (KeyError, TypeError, ValueError, RuntimeError, SpanwiseError) as error:
        raise ModelError(f"{folder / CONFIG}: not a spanwise model ({_first_line(error)}).") from None
    load_weights(pipeline.model, folder / WEIGHTS)
    pipeline.model.eval()
    return pipeline


def load_weights(model: SpanModel, path: Path) -> None:
    """Fill the model from a safetensors file that must hold exactly its parameters.

    Buffers beside them are taken where they fit: they hold what can be computed again.
    """
    wanted = dict(model.named_parameters())
    try:
        with safe_open(path, framework="pt") as file:
            buffers = _buffers(model)
            if odd := set(wanted) ^ (set(file.keys()) - set(buffers)):
                raise ModelError(f"{path}: the weights do not fit the model (such as {min(odd)}); train it again.")
            with torch.no_grad():
                for name, parameter in wanted.items():
                    stored = file.get_tensor(name)
                    if stored.shape != parameter.shape:
                        raise ModelError(f"{path}: {name} is {tuple(stored.shape)}, not {tuple(parameter.shape)}.")
                    parameter.copy_(stored)
                for name in buffers.keys() & set(file.keys()):
                    stored = file.get_tensor(name)
                    if stored.shape == buffers[name].shape:
                        buffers[name].copy_(stored)
    except FileNotFoundError:
        raise ModelError(f"{path.parent}: {path.name} is missing; copy the whole model folder.") from None
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: damaged or cut off ({_first_line(error)}); copy it again.") from None


def _transformer(folder: Path, config: dict[str, Any]) -> tuple[Any, Any]:
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    try:
        with quiet():
            settings = dict(config["transformer"])
            transformer = AutoModel.from_config(AutoConfig.for_model(settings.pop("model_type"), **settings))
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            vocabulary = any((folder / name).is_file() for name in ("tokenizer.json", "vocab.txt", "tokenizer.model"))
            if not (vocabulary and (folder / "tokenizer_config.json").is_file()):
                raise ModelError(f"{folder}: the tokenizer's files are missing; copy the whole model folder.")
    except SpanwiseError:
        raise
    except Exception as error:  # transformers raises nearly anything for a damaged folder
        raise ModelError(f"{folder}: the encoder or tokenizer cannot be read ({_first_line(error)}).") from error
    return without_pooler(transformer), tokenizer


def _schema(path: Path) -> Schema:
    try:
        return Schema.from_dict(_read_json(path))
    except SchemaError as error:
        raise ModelError(f"{path}: {error}") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path.parent}: {path.name} is missing; this is not a whole spanwise model.") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: damaged or cut off ({_first_line(error)}); copy it again.") from None
    if not isinstance(data, dict):
        raise ModelError(f"{path}: not the JSON object that spanwise wrote; copy it again.")
    return data


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
