"""Corpora: named ones, users' own files, and, in `selection`, what a run is trained and scored on."""

from __future__ import annotations

from spanwise.corpora.catalog import CHECKSUMS, CORPORA, NamedCorpus
from spanwise.corpora.loading import (
    DATA_VARIABLE,
    NAMES,
    Corpus,
    from_files,
    infer_splits,
    is_present,
    load,
)

__all__ = [
    "CHECKSUMS",
    "CORPORA",
    "DATA_VARIABLE",
    "NAMES",
    "Corpus",
    "NamedCorpus",
    "from_files",
    "infer_splits",
    "is_present",
    "load",
]
