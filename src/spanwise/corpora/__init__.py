"""Corpora: named ones, users' own files, and, in `selection`, what a run is trained and scored on."""

from __future__ import annotations

from spanwise.corpora.catalogue import CHECKSUMS, CORPORA, NamedCorpus
from spanwise.corpora.loading import (
    DATA_VARIABLE,
    DEFAULT_ROOT,
    NAMES,
    Corpus,
    from_files,
    is_present,
    load,
    split_by_name,
)

__all__ = [
    "CHECKSUMS",
    "CORPORA",
    "DATA_VARIABLE",
    "DEFAULT_ROOT",
    "NAMES",
    "Corpus",
    "NamedCorpus",
    "from_files",
    "is_present",
    "load",
    "split_by_name",
]
