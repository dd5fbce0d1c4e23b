"""A linear-chain conditional random field: BL-NER eqs. 8 to 10. decoding.tags finds the best chain."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class CRF(nn.Module):
    """Score a chain of tags by emissions and transitions, with separate transitions for start and end."""

    def __init__(self, tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(tags, tags).uniform_(-0.1, 0.1))  # A: from row to column
        self.start = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))
        self.end = nn.Parameter(torch.empty(tags).uniform_(-0.1, 0.1))

    def negative_log_likelihood(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """eq. 10 for each chain. emissions [B, T, C], tags and mask [B, T] -> [B]"""
        return self._log_partition(emissions, mask) - self._chain_score(emissions, tags, mask)

    def _chain_score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        emitted = emissions.gather(-1, tags.unsqueeze(-1)).squeeze(-1)  # [B, T]
        moved = self.transitions[tags[:, :-1], tags[:, 1:]]  # [B, T-1]
        last = tags.gather(1, (mask.sum(1, keepdim=True) - 1).clamp(min=0)).squeeze(1)
        inside = (emitted * mask).sum(1) + (moved * mask[:, 1:]).sum(1)
        return torch.where(mask[:, 0], self.start[tags[:, 0]] + inside + self.end[last], 0.0)

    def _log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Log of the summed weight of all chains."""
        alpha = self.start + emissions[:, 0]  # of the chains that end in each tag   [B, C]
        for t in range(1, emissions.shape[1]):
            moved = torch.logsumexp(alpha.unsqueeze(-1) + self.transitions, dim=1) + emissions[:, t]
            alpha = torch.where(mask[:, t, None], moved, alpha)
        return torch.where(mask[:, 0], torch.logsumexp(alpha + self.end, dim=-1), 0.0)
