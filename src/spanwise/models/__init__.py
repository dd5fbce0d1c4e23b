"""One file per paper: its config, its module, its loss, its decoding."""
