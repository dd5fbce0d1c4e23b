"""Scores to predictions, in numpy: spans, pairs, pointers and tags."""
