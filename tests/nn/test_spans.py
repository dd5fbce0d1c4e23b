"""Span representations: what is computed without span vectors equals what the vectors give."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from spanwise.nn.spans import Representation, SpanRepresentation
from spanwise.seam.encoding import Encoded


@pytest.mark.parametrize("how", ["boundary", "pooling", "hybrid"])
def test_projected_spans_equal_the_layer_of_their_vectors(how: Representation) -> None:
    torch.manual_seed(1)
    encoded = Encoded(torch.randn(2, 7, 6), torch.randn(2, 6))
    spans = torch.tensor([[0, 0, 1], [0, 2, 5], [1, 1, 2], [1, 3, 7]])
    representation = SpanRepresentation(how, dim=6, max_width=4, width_dim=5)
    layer = nn.Linear(representation.dim, 3)
    wanted = layer(representation(encoded, spans))
    torch.testing.assert_close(representation.projected(encoded, spans, layer), wanted)
