# Two commands are enough: `make demo` and `make test`. Everything lives in .venv; delete it to start again.
# Another Python (3.11 or newer): make demo PYTHON=python3

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

SOURCES := $(shell find dask_anon -type f -not -path '*/__pycache__/*' 2>/dev/null)

# A stamp file records each kind of install, so that it happens once. The development install is
# editable and therefore serves the demo as well; a plain install must follow the sources.
READY := $(if $(wildcard $(VENV)/.dev),$(VENV)/.dev,$(VENV)/.installed)

.PHONY: help demo test lint docs bench clean

help:
	@echo 'make demo   anonymize the shipped sample table, verify it, say where it is'
	@echo 'make test   the test suite'
	@echo 'make lint   style, format, types, import rules'
	@echo 'make docs   the documentation, into site/'
	@echo 'make bench  the benchmarks, one line of ratios each'
	@echo 'make clean  remove $(VENV) and what was built'

demo: $(READY)
	$(BIN)/dask-anon demo --overwrite

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict --site-dir site

bench: $(VENV)/.dev
	@for file in benchmarks/[a-z]*.py; do \
	    $(BIN)/python -m benchmarks.$$(basename $$file .py) || exit 1; \
	done

clean:
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo 'Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11'; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(SOURCES) | $(BIN)/python
	$(PIP) install .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) install -e '.[test,dev]'
	@rm -f $(VENV)/.installed
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(PIP) install -e '.[docs]'
	@touch $@
