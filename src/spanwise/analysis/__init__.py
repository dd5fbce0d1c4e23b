"""When and why a model errs: scores with intervals, kinds of errors, buckets, calibration, comparisons."""

from __future__ import annotations

from spanwise.analysis.analysis import analyze
from spanwise.analysis.layout import report
from spanwise.analysis.results import Analysis, SystemAnalysis

__all__ = ["Analysis", "SystemAnalysis", "analyze", "report"]
