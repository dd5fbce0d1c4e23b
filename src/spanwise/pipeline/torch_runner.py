"""The PyTorch backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import torch
from torch import Tensor

from spanwise.pipeline.label_cache import LabelCache
from spanwise.seam.batch import Array, Batch, Floats
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import SpanModel, Templates, Tensors
from spanwise.seam.runner import Arrays, StageOne


class TorchRunner:
    """Runs a model in inference mode. The labels of a set are encoded once; the model's weights must not change.

    Several threads may call it: all that they share are the caches of encoded labels and relations.
    """

    def __init__(self, model: SpanModel) -> None:
        self.model = model
        self._labels, self._relations = (LabelCache[Tensors](_numbers) for _ in range(2))

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @torch.inference_mode()
    def forward(self, batch: Batch[Array]) -> StageOne:
        tensors = self._tensors(batch)
        output = self.model(tensors, self._encoded_labels(batch, tensors))
        return StageOne(_arrays(output.scores), output.features)

    def _encoded_labels(self, batch: Batch[Array], tensors: Batch[Tensor]) -> Tensors | None:
        """The encoded label texts of the batch, if there are any, then those of its relations."""
        if batch.labels is None:
            return None
        labels = self._labels.get(batch.labels, lambda: self.model.encode_labels(tensors.require_label_texts()))
        texts = tensors.relation_labels
        if batch.relation_labels is None or texts is None:
            return labels
        return (*labels, *self._relations.get(batch.relation_labels, lambda: self.model.encode_relations(texts)))

    @torch.inference_mode()
    def rescore(self, features: object, rows: Arrays) -> Arrays:
        tensors = (torch.from_numpy(np.ascontiguousarray(array)).to(self.device) for array in rows)
        return _arrays(self.model.rescore(features, type(rows)(*tensors)))

    @torch.inference_mode()
    def word_vectors(self, batch: Batch[Array]) -> Floats:
        """The encoder's vectors of the batch's words, 0 for padding. -> [B, T, d]"""
        return _array(self._encode(self._tensors(batch)).words)

    @torch.inference_mode()
    def span_vectors(self, batch: Batch[Array]) -> Floats:
        """The vectors of the batch's candidates before the span classifier. -> [N, d]"""
        tensors = self._tensors(batch)
        return _array(self.model.span_vectors(self._encode(tensors), tensors))

    @torch.inference_mode()
    def templates(self) -> Templates[Floats]:
        """The weights of the span classifier."""
        return Templates(*map(_array, self.model.templates()))

    @torch.inference_mode()
    def label_attention(self, batch: Batch[Array]) -> Floats:
        """The attention of the batch's words over the tokens of its label texts. -> [B, T, C, m]"""
        tensors = self._tensors(batch)
        return _array(self.model.label_attention(self._encode(tensors), tensors.require_label_texts()))

    def _tensors(self, batch: Batch[Array]) -> Batch[Tensor]:
        """The batch on the model's device; the model is in inference mode."""
        if self.model.training:
            self.model.eval()
        device = self.device
        return batch.map(lambda array: torch.from_numpy(array).to(device, non_blocking=True))

    def _encode(self, batch: Batch[Tensor]) -> Encoded:
        return self.model.encoder(batch.words, self.model.traits.hidden_states)


def _numbers(encoded: Tensors) -> int:
    return sum(tensor.numel() for tensor in encoded)


def _array(tensor: Tensor) -> Floats:
    found: Floats = tensor.float().cpu().numpy()
    return found


def _arrays(tensors: Tensors) -> Arrays:
    """The same named tuple as numpy arrays in full precision."""
    full = (t.float() if t.is_floating_point() else t for t in tensors)
    named = cast(Callable[..., Arrays], type(tensors))
    return named(*(t.cpu().numpy() for t in full))
