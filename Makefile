# make setup | demo | test | lint | bench | docs | viewer
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.grouser-installed

.PHONY: setup demo test lint bench docs viewer clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] < (3, 14) else "Grouser needs Python 3.11 to 3.13; try: make setup PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test,lint]"
	$(BIN)/grouser warmup
	touch $@

demo: setup
	$(BIN)/grouser demo

# If the engine has changed it is compiled once first, so that the two test workers need not both do it.
test: setup
	$(BIN)/grouser warmup
	$(BIN)/python -m pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python bench/run.py

# The reference from the docstrings, and the pictures of docs/models.md. A test tells when the reference is old.
docs: setup
	$(BIN)/python docs/build.py

# Only whoever edits viewer/src needs Node.js: what it builds is in the repository, and a test tells when it is old.
viewer:
	cd viewer && npm ci --no-fund --no-audit --silent && npm run --silent build

clean:
	rm -rf out .pytest_cache .mypy_cache .ruff_cache
