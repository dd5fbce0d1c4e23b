# Two commands on a fresh machine: `make demo` and `make test`. Both call `make setup` first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: setup demo test test-docs lint clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/spanwise demo --out demo

lint: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" pre-commit run --all-files --show-diff-on-failure

test: lint
	$(BIN)/pytest -n auto

test-docs: setup
	SPANWISE_DOCS=1 $(BIN)/pytest tests/docs_blocks

clean:
	rm -rf $(VENV) demo build dist src/*.egg-info
