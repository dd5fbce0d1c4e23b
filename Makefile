# Two commands on a fresh machine: `make demo` and `make test`. Both call `make setup` first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: setup demo docs test test-docs lint clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/spanwise demo --out demo

# The site, in site/. A warning is an error; the variable silences a notice of the theme about its successor.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

lint: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" pre-commit run --all-files --show-diff-on-failure

test: lint
	$(BIN)/pytest -n auto

test-docs: setup
	SPANWISE_DOCS=1 $(BIN)/pytest tests/docs_blocks

clean:
	rm -rf $(VENV) demo site build dist src/*.egg-info
