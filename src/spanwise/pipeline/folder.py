"""A trained model is a folder: config, schema, tokenizer, weights in safetensors and a model card. No pickle."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from spanwise import __version__
from spanwise.errors import ModelError, SchemaError, SpanwiseError
from spanwise.files import atomic_file, write_text
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.encoders import quiet_transformers, remove_pooler
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import BundleSection, EncoderConfig, ModelSection
from spanwise.renamed import stored_name, upgrade_keys
from spanwise.schema import Schema
from spanwise.seam.module import Trainable

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

CONFIG, SCHEMA, WEIGHTS = "config.json", "schema.json", "model.safetensors"
OBSOLETE = frozenset(("labels.read", "labels.read_by"))  # stored by earlier versions: encoded labels


def save(pipeline: TorchPipeline, folder: Path) -> None:
    """Write a model folder; the weights come last, so that a folder with weights is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG, json.dumps(_config(pipeline), indent=2, ensure_ascii=False) + "\n")
    write_text(folder / SCHEMA, json.dumps(pipeline.schema.to_dict(), indent=2, ensure_ascii=False) + "\n")
    pipeline.tokenizer.save_pretrained(folder)
    save_weights(pipeline.model, folder / WEIGHTS)


def _config(pipeline: TorchPipeline) -> dict[str, Any]:
    """The options, and what follows from them for readers that do not have the model's code."""
    blueprint, transformer = pipeline.blueprint, pipeline.model.encoder.transformer.config
    return {
        "model_type": transformer.model_type,  # lets AutoTokenizer find its class
        "spanwise": __version__,
        "encoder": {**blueprint.encoder.model_dump(mode="json"), "name": Path(blueprint.encoder.name).name},
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


def save_weights(model: Trainable, path: Path) -> None:
    with atomic_file(path) as draft:
        stored = {**dict(model.named_parameters()), **persistent_buffers(model)}
        save_file({name: value.detach().contiguous() for name, value in stored.items()}, draft)


def persistent_buffers(model: Trainable) -> dict[str, Tensor]:
    """What is neither learned nor made from the options, such as running means; each under one name."""
    kept = model.state_dict().keys()
    return {name: value for name, value in model.named_buffers() if name in kept}


def load(folder: Path | str, reader: str | None = None) -> TorchPipeline:
    """Read a model folder that `save` wrote; `reader` names the member of a bundle that makes the predictions."""
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError(f"{folder}: this model folder does not exist; train one with `spanwise train`.")
    config, schema = upgrade_keys(_read_json(folder / CONFIG)), _schema(folder / SCHEMA)
    transformer, tokenizer = _transformer(folder, config)
    try:
        blueprint = _blueprint(config)
    except (KeyError, TypeError, ValueError, SpanwiseError) as error:
        raise ModelError(f"{folder / CONFIG}: not a spanwise model ({_first_line(error)}).") from None
    blueprint = blueprint.with_reader(reader)
    try:
        pipeline = TorchPipeline(blueprint, schema, transformer, tokenizer)
    except SchemaError as error:
        raise ModelError(f"{folder / SCHEMA}: {error}") from None
    except (KeyError, TypeError, ValueError, RuntimeError, SpanwiseError) as error:
        raise ModelError(f"{folder / CONFIG}: not a spanwise model ({_first_line(error)}).") from None
    load_weights(pipeline.model, folder / WEIGHTS)
    pipeline.model.eval()
    return pipeline


def _blueprint(config: dict[str, Any]) -> Blueprint:
    bundle, threshold = config["bundle"], config["threshold"]
    blueprint = Blueprint(
        EncoderConfig.model_validate(config["encoder"]),
        ModelSection.model_validate(config["model"]),
        BundleSection.model_validate(bundle) if bundle else None,
        None if threshold is None else float(threshold),
    )
    return blueprint.with_reader(config.get("reader"))


def load_weights(model: Trainable, path: Path) -> None:
    """Fill the model from a safetensors file that must hold exactly its parameters and persistent buffers."""
    wanted = {**dict(model.named_parameters()), **persistent_buffers(model)}
    try:
        with safe_open(path, framework="pt") as file:
            stored = {name for name in file.keys() if not _obsolete(name)}  # noqa: SIM118
            source = {name: stored_name(name, stored) for name in wanted}
            if odd := set(source.values()) ^ stored:
                raise ModelError(f"{path}: the weights do not fit the model (such as {min(odd)}); train it again.")
            with torch.no_grad():
                for name, parameter in wanted.items():
                    tensor = file.get_tensor(source[name])
                    if tensor.shape != parameter.shape:
                        shapes = f"{tuple(tensor.shape)} instead of {tuple(parameter.shape)}"
                        raise ModelError(f"{path}: {name} has shape {shapes}; train it again.")
                    parameter.copy_(tensor)
    except FileNotFoundError:
        raise ModelError(f"{path.parent}: {path.name} is missing; copy the whole model folder.") from None
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: damaged or truncated ({_first_line(error)}); copy it again.") from None


def _obsolete(name: str) -> bool:
    return any(name == old or name.endswith(f".{old}") for old in OBSOLETE)


def _transformer(folder: Path, config: dict[str, Any]) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    try:
        with quiet_transformers():
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
    return remove_pooler(transformer), tokenizer


def _schema(path: Path) -> Schema:
    try:
        return Schema.from_dict(_read_json(path))
    except SchemaError as error:
        raise ModelError(f"{path}: {error}") from None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path.parent}: {path.name} is missing; the spanwise model is incomplete.") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: damaged or truncated ({_first_line(error)}); copy it again.") from None
    if not isinstance(data, dict):
        raise ModelError(f"{path}: not a JSON object written by spanwise; copy it again.")
    return data


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
