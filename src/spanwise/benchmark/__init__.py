"""Suites of training runs: each variant with each seed on a corpus, scored on test, next to the paper's figures.

Each finished run is a line in `results.jsonl`. A suite that was stopped continues when it is started again: finished
runs are not repeated, and an interrupted run resumes from its checkpoint.
"""

from __future__ import annotations

from spanwise.benchmark.comparison import Comparison, compare, compare_variants
from spanwise.benchmark.papers import Exhibit, exhibits, results_folder
from spanwise.benchmark.results import append_result, read_results, recorded
from spanwise.benchmark.runs import Run, corpus_name, execute, find_results, plan, run_suite
from spanwise.benchmark.suite import Suite, Variant, names
from spanwise.benchmark.table import Row, Table, check_groups, get_path, markdown, summarize, to_element

__all__ = [
    "Comparison",
    "Exhibit",
    "Row",
    "Run",
    "Suite",
    "Table",
    "Variant",
    "append_result",
    "check_groups",
    "compare",
    "compare_variants",
    "corpus_name",
    "execute",
    "exhibits",
    "find_results",
    "get_path",
    "markdown",
    "names",
    "plan",
    "read_results",
    "recorded",
    "results_folder",
    "run_suite",
    "summarize",
    "to_element",
]
