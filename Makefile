# make demo | test | lint | docs | gallery | bench | wheel | viewer
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
RUN := .venv/.grouser-run
DEVELOP := .venv/.grouser-develop
SITE := .venv/.grouser-site

# Byte code is written on first import: pip would make it for ten times as many modules as are ever used.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test lint format docs gallery bench wheel viewer clean

setup: $(DEVELOP)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] < (3, 14) else "Grouser needs Python 3.11 to 3.13; try: make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

# What using it needs.
$(RUN): pyproject.toml | $(BIN)/python
	$(PIP) --no-compile -e .
	touch $@

# What working on it needs: tools for tests and lint as well.
$(DEVELOP): pyproject.toml | $(BIN)/python
	$(PIP) --no-compile -e ".[test,lint]"
	touch $(RUN) $@

demo: $(RUN)
	$(BIN)/grouser demo

# What has changed is compiled once first, so that the two test workers need not both do it.
test: $(DEVELOP)
	$(BIN)/grouser warmup
	$(BIN)/python -m pytest -n 2

lint: $(DEVELOP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEVELOP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(RUN)
	$(BIN)/python bench/run.py

# The documentation as pages in out/site, to open in a browser: no server, no network. A link that leads nowhere fails.
docs: $(SITE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "open out/site/index.html"

$(SITE): pyproject.toml | $(BIN)/python
	$(PIP) --no-compile -e ".[docs]"
	touch $(RUN) $@

# The pictures of README and documentation, and the page of the papers' experiments, which are run in full.
gallery: $(DEVELOP)
	$(BIN)/python -m experiments.gallery

# dist/grouser-…-linux_x86_64.whl with machine code of all kernels, for this Python and the Numba in .venv.
wheel: $(RUN)
	$(PIP) --no-compile -e ".[gym]"
	$(BIN)/python release/build_wheel.py

# Only whoever edits viewer/src needs Node.js: what it builds is in the repository, and a test tells when it is old.
viewer:
	cd viewer && npm ci --no-fund --no-audit --silent && npm run --silent build

clean:
	rm -rf out .pytest_cache .mypy_cache .ruff_cache
