"""When and why a model errs: scores with intervals, kinds of errors, buckets, calibration, comparisons."""
