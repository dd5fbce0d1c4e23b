"""A cheap score that selects the candidate spans for an expensive scorer; both are trained together."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.spans import BoundaryScores, WidthEmbedding


class ScreeningScorer(nn.Module):
    """Score how likely a span is an entity, from its first and last word.

    The word vectors are detached: the gradient of this score does not reach the encoder.
    """

    def __init__(self, dim: int, widest: int, width_dim: int, hidden: int) -> None:
        super().__init__()
        self.ends = BoundaryScores(dim, WidthEmbedding(widest, width_dim), hidden)
        self.weigh = nn.Linear(hidden, 1)

    def forward(self, words: Tensor, spans: Tensor) -> Tensor:
        """words [B, T, d]; spans [N, 3] -> [N], before the sigmoid"""
        scores: Tensor = self.weigh(F.relu(self.ends(words.detach(), spans))).squeeze(-1)
        return scores


def screening_loss(scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Binary cross entropy, summed. scores, weights [N]; labels [N, E]"""
    return F.binary_cross_entropy_with_logits(scores, labels.any(-1).float(), weights, reduction="sum")
