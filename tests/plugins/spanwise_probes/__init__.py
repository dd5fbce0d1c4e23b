"""Four small models of another package: proof that the interface holds what comes next, without an edit under src."""
