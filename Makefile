# The commands of this repository. Each sets up .venv first where that is needed; done once, it costs nothing.

PYTHON ?= python3
COMPOSE ?= $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose)
VENV := .venv
BIN := $(VENV)/bin
# Helm for the chart's tests. The package says that it needs Python 3.12, and runs on 3.11; all that it needs is there.
HELM_ENGINE := $(BIN)/pip install -q --disable-pip-version-check -c constraints.txt --ignore-requires-python --no-deps helm-sdkpy
# With a provider's key or address in the environment its models answer, else the scripted one, which is in a profile.
ifneq ($(OPENAI_API_KEY)$(OPENAI_BASE_URL),)
export OPENAI_BASE_URL ?= https://api.openai.com/v1
MODEL :=
else
MODEL := --profile scripted
endif
# Newer than both files it depends on as long as the environment fits them.
READY := $(VENV)/.ready
# What Turnwise is measured beside has an environment of its own.
PEERS := .venv-peers

.PHONY: run test check docs client up up-without-docker bench bench-peers chaos chaos-real clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

run: $(READY) ## run the demo: embedded, no key and no server needed
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/turnwise demo; else $(BIN)/turnwise demo --yes; fi

test: $(READY) ## run all tests; ARGS="-k name" passes options on
	$(BIN)/pytest -n auto --dist loadfile $(ARGS)

check: $(READY) ## format, lint, types, import contracts, words
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.words
	$(BIN)/codespell README.md CONTRIBUTING.md SECURITY.md docs shared services

docs: $(READY) ## build the documentation into site/, every warning an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

client: $(READY) ## generate the types of the TypeScript client from the API; needs Node.js 20 or later
	$(BIN)/python -m tests.support.typescript_client

up: ## start the distributed set, with compose where Docker runs, else without; needs TURNWISE_AUTH_TOKEN
	@if docker info >/dev/null 2>&1; then exec $(COMPOSE) $(MODEL) up --build; fi; \
	echo "No Docker runs here, so the same processes are started without it."; \
	exec $(MAKE) --no-print-directory up-without-docker

up-without-docker: $(READY) ## the processes of docker-compose.yml without Docker; ARGS="--profile observability"
	@$(BIN)/python -m deploy.without_docker $(MODEL) $(ARGS)

bench: $(READY) ## measure turns per second in each way of running
	$(BIN)/python -m bench

bench-peers: $(READY) $(PEERS)/.ready ## measure beside other durable libraries, write docs/performance.md; ARGS="--rounds 5"
	$(BIN)/python -m bench.peers --json bench/peers/findings.json $(ARGS)
	$(BIN)/python -m bench.peers.page

chaos: $(READY) ## simulate schedules in which things go wrong until one fails; ARGS="--first 5000"
	$(BIN)/python -m turnwise.testing.simulate tests.simulation.team:scenario --endless $(ARGS)

chaos-real: $(READY) ## kill, cut and restart real servers and processes under 200 conversations; ARGS="--seed 7"
	$(BIN)/python -m tests.chaos $(ARGS)

clean: ## remove the virtual environment and the caches
	rm -rf $(VENV) $(PEERS) .nox site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis clients/typescript/node_modules clients/typescript/dist

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is $$($(PYTHON) --version 2>&1); Turnwise needs 3.11 or later: make PYTHON=python3.11" >&2; exit 2; }
	@echo "Setting up $(VENV) (about a minute, once) ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@$(HELM_ENGINE) || echo "There is no Helm engine for this machine; the chart's tests are skipped unless helm is on the path."
	@touch $@

$(PEERS)/.ready: bench/peers/requirements.txt
	@echo "Setting up $(PEERS) (about a minute, once) ..."
	@test -x $(PEERS)/bin/pip || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/pip install -q --disable-pip-version-check -r bench/peers/requirements.txt
	@touch $@
