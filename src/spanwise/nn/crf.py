"""A linear-chain conditional random field: BL-NER eqs. 8 to 11."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class CRF(nn.Module):
    """Scores a chain of tags by emissions and transitions; start and end have transitions of their own."""

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
        alpha = self._forward(emissions, mask)[-1]
        return torch.where(mask[:, 0], torch.logsumexp(alpha + self.end, dim=-1), 0.0)

    def _forward(self, emissions: Tensor, mask: Tensor) -> list[Tensor]:
        """log of the summed weight of all chains that end in each tag, per step: T tensors of [B, C]."""
        steps = [self.start + emissions[:, 0]]
        for t in range(1, emissions.shape[1]):
            moved = torch.logsumexp(steps[-1].unsqueeze(-1) + self.transitions, dim=1) + emissions[:, t]
            steps.append(torch.where(mask[:, t, None], moved, steps[-1]))
        return steps

    def marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The probability of each tag at each word, by forward and backward sums. -> [B, T, C]"""
        alphas = self._forward(emissions, mask)
        beta = self.end.expand_as(alphas[-1])
        betas = [beta]
        for t in range(emissions.shape[1] - 1, 0, -1):
            moved = torch.logsumexp(self.transitions + (emissions[:, t] + beta).unsqueeze(1), dim=-1)
            beta = torch.where(mask[:, t, None], moved, beta)
            betas.append(beta)
        return torch.softmax(torch.stack(alphas, 1) + torch.stack(betas[::-1], 1), dim=-1)

    def viterbi(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """eq. 11: the best chain. -> [B, T]; what stands behind a chain's end has no meaning."""
        score = self.start + emissions[:, 0]
        origins = []
        for t in range(1, emissions.shape[1]):
            best, origin = (score.unsqueeze(-1) + self.transitions).max(dim=1)  # [B, C]
            score = torch.where(mask[:, t, None], best + emissions[:, t], score)
            origins.append(torch.where(mask[:, t, None], origin, torch.arange(origin.shape[-1], device=origin.device)))
        tag = (score + self.end).argmax(-1)  # [B]
        chain = [tag]
        for origin in reversed(origins):
            tag = origin.gather(1, tag.unsqueeze(1)).squeeze(1)
            chain.append(tag)
        return torch.stack(chain[::-1], dim=1)
