"""Span classification: one softmax over None and the labels, or one sigmoid per label."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

UNKNOWN_LOGIT = -1e9  # the logit of a label that an example was not annotated for


def class_count(labels: int, multi_label: bool) -> int:
    """Number of classifier outputs: None and the labels, or with `multi_label` only the labels."""
    return labels if multi_label else 1 + labels


def span_loss(logits: Tensor, labels: Tensor, annotated: Tensor, *, multi_label: bool) -> Tensor:
    """Cross entropy averaged over spans; with `multi_label`, binary cross entropy summed over labels.

    logits [N, 1 + E] or [N, E]; labels [N, E]; annotated [N, E], false where a label is unknown
    """
    if not multi_label:
        target = torch.where(labels.any(-1), labels.int().argmax(-1) + 1, 0)
        return F.cross_entropy(mask_unknown(logits, annotated), target)
    each = F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none")
    return (each * annotated).sum() / max(len(logits), 1)


def mask_unknown(logits: Tensor, annotated: Tensor) -> Tensor:
    """Mask the logits of labels that an example was not annotated for. -> [N, 1 + E]"""
    return logits.masked_fill(F.pad(~annotated, (1, 0)), UNKNOWN_LOGIT)
