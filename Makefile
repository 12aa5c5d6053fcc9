# Every target sets up what it needs; the only thing that must be there is Python 3.11 or newer.
# PYTHON=... names another interpreter.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
OUT ?= out
NOISE_MODELS := uniform-state uniform-action published
WORKERS ?= 2
SEEDS ?= 5

.DEFAULT_GOAL := help
.PHONY: help picture reproduce compare layouts continuous existence alpha test test-all browser lint format bench docs pages package clean

help:
	@echo "make picture     the picture of the README: standard against robust IRL as the worlds drift apart; $(OUT)/front"
	@echo "make reproduce   every finite experiment of the paper under three noise models; $(OUT)/reproduction/report.html"
	@echo "make compare     compare the five grids with the published numbers, cell by cell"
	@echo "make layouts     ObjectWorld over forty layouts, with intervals; $(OUT)/layouts"
	@echo "make continuous  the paper's continuous experiment with $(SEEDS) seeds (with 5, seven minutes on two cores); $(OUT)/continuous"
	@echo "make existence   whether the experts of the paper's environments can be matched; $(OUT)/existence"
	@echo "make alpha       the rules for alpha beside the best on the grids; $(OUT)/alpha-rules"
	@echo "make test        lint and the fast tests"
	@echo "make test-all    lint and all tests, those of pages in a browser that is installed where the system allows"
	@echo "make lint        ruff, pyright, import-linter"
	@echo "make docs        the documentation as a site in site/, without a warning"
	@echo "make pages       run the programs of the pages and write what they print into them"
	@echo "make package     wheel and sdist in dist/, tried in environments of their own, extra by extra"
	@echo "make bench       speed beside NumPy, imitation and QuantEcon, in strangers' worlds first; $(OUT)/strangers.csv"

picture: .venv/run
	$(BIN)/python -m experiments study front --out $(OUT)/front

reproduce: .venv/run
	$(BIN)/python -m experiments reproduce --noise-model $(NOISE_MODELS) --experiments all --out $(OUT)/reproduction

compare: .venv/run
	$(BIN)/python -m experiments compare --out $(OUT)/comparison

layouts: .venv/run
	$(BIN)/python -m experiments study layouts --out $(OUT)/layouts

continuous: .venv/run
	$(BIN)/python -m experiments continuous --seeds $(SEEDS) --out $(OUT)/continuous

existence: .venv/run
	$(BIN)/python -m experiments study existence --out $(OUT)/existence

alpha: .venv/run
	$(BIN)/python -m experiments study alpha-rules --out $(OUT)/alpha-rules

test: lint
	$(BIN)/pytest -n $(WORKERS) --dist loadscope -m "not slow"

# All tests, with programs compiled as users have them: an XLA_FLAGS that is set, even to nothing, keeps
# tests/conftest.py from choosing quick compilation.
test-all: lint browser
	XLA_FLAGS="$$XLA_FLAGS" $(BIN)/pytest -n $(WORKERS) --dist loadscope --hypothesis-profile=thorough

# Tests of pages need a browser and its driver. Where they cannot be installed, those tests are skipped.
browser:
	@have() { { command -v chromium || command -v google-chrome; } && command -v chromedriver; } >/dev/null; \
	if have; then exit 0; fi; \
	if command -v apt-get >/dev/null; then \
		root=$$([ "$$(id -u)" = 0 ] || echo "sudo -n"); \
		echo "Installing chromium and chromium-driver for the tests of pages."; \
		{ $$root apt-get update -qq && $$root apt-get install -qq -y chromium chromium-driver; } >/dev/null 2>&1; \
	fi; \
	have || echo "No browser: install chromium and chromedriver to run the tests of pages, which are skipped now."

lint: .venv/dev
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

format: .venv/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/run .venv-imitation/ready .venv-quantecon/ready
	$(BIN)/python benchmarks/strangers.py --quantecon .venv-quantecon/bin/python --imitation .venv-imitation/bin/python --out $(OUT)/strangers.csv
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/paper_grid.py --imitation .venv-imitation/bin/python
	$(BIN)/python benchmarks/ten_lines.py

docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

pages: .venv/dev
	$(BIN)/python tools/pages.py --write README.md docs/*.md

package: .venv/package
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python tools/try_wheel.py dist

clean:
	rm -rf .venv .venv-imitation .venv-quantecon $(OUT) benchmarks/out dist site .pytest_cache .ruff_cache .hypothesis

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none was found; install one or pass PYTHON=..."; exit 1; }
	$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

.venv/run: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing into .venv; this is done once, and takes a minute or two."
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all]' jinja2
	@touch $@

# Tests of MuJoCo's bodies are skipped where it cannot be had.
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
.venv/dev: .venv/run requirements-dev.txt
	$(INSTALL) -e '.[all,minari,docs,mujoco]' -r requirements-dev.txt || $(INSTALL) -e '.[all,minari,docs]' -r requirements-dev.txt
	@touch $@

.venv/docs: .venv/run
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

.venv/package: .venv/run
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt build
	@touch $@

.venv-%/ready: benchmarks/peers/%-requirements.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, and none was found; install one or pass PYTHON=..."; exit 1; }
	$(PYTHON) -m venv .venv-$* || { rm -rf .venv-$*; exit 1; }
	.venv-$*/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@
