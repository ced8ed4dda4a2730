# The commands of this repository. Each sets up .venv first where that is needed; done once, it costs nothing.

PYTHON ?= python3
COMPOSE ?= $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
VENV := .venv
BIN := $(VENV)/bin
# Newer than both files it depends on as long as the environment fits them.
READY := $(VENV)/.ready

.PHONY: run test check docs up bench clean help

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

run: $(READY) ## run the demo: embedded, no key and no server needed
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/turnwise demo; else $(BIN)/turnwise demo --yes; fi

test: $(READY) ## run all tests; ARGS="-k name" passes options on
	$(BIN)/pytest $(ARGS)

check: $(READY) ## format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY) ## build the documentation into site/, every warning an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

up: ## start the distributed set with compose; needs TURNWISE_AUTH_TOKEN
	$(COMPOSE) up --build

bench: $(READY) ## measure turns per second in each way of running
	$(BIN)/python -m bench

clean: ## remove the virtual environment and the caches
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is $$($(PYTHON) --version 2>&1); Turnwise needs 3.11 or later: make PYTHON=python3.11" >&2; exit 2; }
	@echo "Setting up $(VENV) (about a minute, once) ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
