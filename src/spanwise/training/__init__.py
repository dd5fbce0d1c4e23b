"""The loop, schedules, checkpoints and seeds. It reaches a model only through the seam."""
