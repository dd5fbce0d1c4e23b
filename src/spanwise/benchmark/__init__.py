"""Suites of training runs: every variant with every seed on a corpus, scored on test, beside the paper's figures.

A finished run is a line in `results.jsonl`. A stopped suite goes on where it was: runs with a line are not repeated,
and a run that was cut off resumes from its checkpoint.
"""

from __future__ import annotations

from spanwise.benchmark.comparison import Comparison, compare
from spanwise.benchmark.results import append_result, read_results, recorded
from spanwise.benchmark.runs import Run, corpus_name, execute, find_results, plan, run_suite
from spanwise.benchmark.suite import Suite, Variant, names
from spanwise.benchmark.table import Row, Table, check_groups, get_path, markdown, summarize

__all__ = [
    "Comparison",
    "Row",
    "Run",
    "Suite",
    "Table",
    "Variant",
    "append_result",
    "check_groups",
    "compare",
    "corpus_name",
    "execute",
    "find_results",
    "get_path",
    "markdown",
    "names",
    "plan",
    "read_results",
    "recorded",
    "run_suite",
    "summarize",
]
