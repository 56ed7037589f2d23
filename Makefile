# Every target makes .venv and installs what it needs first; `make help` lists the targets.
PYTHON ?= python3
BIN := .venv/bin
# Python keeps what it compiles of the tests, whatever the environment says; without, every process does it again.
COMPILED := PYTHONDONTWRITEBYTECODE=
# Published benchmark data: FAIRLAB_DATA, else a sibling folder shared/data, else fetched by URL and checksum.
export FAIRLAB_DATA ?= $(realpath ../shared/data)

.PHONY: help quickstart fetch test test-slow test-long lint docs bench gpu-check mutants
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1  \t/'

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

quickstart: .venv/installed ## debias a small pretrained encoder, measure it before and after, write a report
	$(BIN)/python -m fairlab.train +experiment=ccd_bert

fetch: .venv/installed ## download models to the cache, for example NAME=mpnet; without NAME, list them
	$(BIN)/python -m experiments.real_models.fetch $(NAME)

test: .venv/installed ## run the tests, in four to eight minutes on two cores
	$(COMPILED) $(BIN)/python -m pytest

test-slow: .venv/installed ## run slow tests that make test leaves out: real weights, killed runs; about ten minutes
	$(COMPILED) $(BIN)/python -m pytest -m 'slow and not long and not gpu and not network'

test-long: .venv/installed ## run the longest tests: whole runs and all commands in the docs; about ten minutes
	$(COMPILED) $(BIN)/python -m pytest -m 'long and not gpu and not network'

lint: .venv/installed ## check style, types and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell

docs: .venv/installed ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

gpu-check: .venv/installed ## on a GPU, compare results with the CPU, measure speed and memory, and run the tests marked gpu
	$(BIN)/python perf/gpu_check.py --write

mutants: .venv/installed ## make random changes to the code, and list those that no test notices (SEED=0 COUNT=300); resumes
	$(BIN)/python tests/mutants.py --seed $(or $(SEED),0) --count $(or $(COUNT),300)

bench: .venv/installed ## compare speed with simple implementations; fails if a ratio fell by more than a fifth
	$(BIN)/python perf/bench.py $(SCRIPTS) $(if $(PACKAGES),--packages $(PACKAGES)) $(if $(AUGLY),--augly $(AUGLY)) $(if $(MODEL),--model $(MODEL))
