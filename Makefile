# Everything by itself: each target that needs the set-up does it first, once.
SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
LOCKING := $(BIN)/uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header

.PHONY: help
help: ## List the targets (the default)
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: prerequisites
prerequisites:
	@requirements/prerequisites.sh "$(PYTHON)"

.venv/.ready: requirements/dev.lock pyproject.toml | prerequisites
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

jars/.ready: requirements/jars.xml requirements/jars.sha256 requirements/jars.py | .venv/.ready
	$(BIN)/python requirements/jars.py fetch
	@touch $@

.PHONY: setup
setup: .venv/.ready jars/.ready ## Virtual environment, locked dependencies, Java archives

.PHONY: run
run: setup ## The service with its sample changefeed on 127.0.0.1:8300; Ctrl-C ends it
	@exec $(BIN)/python -m app

.PHONY: test
test: setup ## The whole test suite (ARGS= goes to pytest)
	@if requirements/services.sh --missing && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		requirements/services.sh || echo "the services could not be installed; tests that need them are skipped" >&2; fi
	@exec $(BIN)/python -m pytest $(ARGS)

.PHONY: check
check: setup ## Format, lint, types: what CI runs before the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy app bench cli migrations requirements/jars.py spark_jobs tests

.PHONY: bench
bench: setup ## The benchmarks: a table, and bench/results/*.json (ARGS=)
	@exec $(BIN)/python -m bench $(ARGS)

.PHONY: torture
torture: setup ## The fault harness, for as long as asked (ARGS=)
	@exec $(BIN)/python -m tests.torture $(ARGS)

.PHONY: services
services: ## Servers and tools that some tests need, from Debian's packages (root)
	@requirements/services.sh

.PHONY: kafka
kafka: setup ## A Kafka broker for trying things by hand, on 127.0.0.1:9092; Ctrl-C ends it (ARGS=)
	@exec $(BIN)/python -m tests.servers.kafka $(ARGS)

.PHONY: lock
lock: setup ## Resolve the dependencies anew as far as pyproject.toml and jars.xml ask (UPGRADE=1: to the newest)
	$(LOCKING) $(if $(UPGRADE),--upgrade) --group dev -o requirements/dev.lock
	$(LOCKING) $(if $(UPGRADE),--upgrade) -c requirements/dev.lock -o requirements/runtime.lock
	$(BIN)/python requirements/jars.py lock

.PHONY: clean
clean: ## Remove everything that was installed or built; ./data stays
	rm -rf .venv jars build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
