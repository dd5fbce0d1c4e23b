"""`python -m spanwise`: the command line, also for launchers that take a module."""

from __future__ import annotations

from spanwise.cli import main

if __name__ == "__main__":
    main()
