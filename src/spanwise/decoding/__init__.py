"""Decoders that turn scores into predictions, in numpy: spans, pairs, pointers and tags."""
