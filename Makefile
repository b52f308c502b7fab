# make setup | providers | demo | dashboard | demo-local | broker | broker-stop | broker-clean | test | soak | lint | lock | clean
# `setup` installs what runs; `providers` and `demo-local` add who else answers; `test`, `soak`, `lint` what checks it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV ?= .venv
PYTHON ?=
BACKBONE ?=
WORKERS ?= 2
ARGS ?=

BIN := $(VENV)/bin
LOCKS := deploy/locks
# A file stays with one worker, which shares its broker, browser or log; the long files begin first.
# A worker that a crash ended is not replaced: what was left of its file would be waited for without end.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart=0
# Without this every process that a test starts would compile again what has changed since `make setup`.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup local openvino providers dev demo dashboard demo-local test soak lock clean
.PHONY: broker broker-stop broker-clean
.PHONY: lint lint-rules lint-format lint-layers lint-mypy lint-pyright

help:
	@sed -n '1,2s/^# //p' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.ready
local: $(VENV)/.ready-requirements-local $(VENV)/.ready-models
openvino: $(VENV)/.ready-openvino
providers: $(VENV)/.ready-requirements-providers
# In this order: of the one package that both lists pin, the providers' version stays.
dev: $(VENV)/.ready-requirements-dev $(VENV)/.ready-requirements-providers $(VENV)/.ready-models

$(VENV)/.ready: pyproject.toml $(LOCKS)/requirements.txt
	@VENV='$(VENV)' PYTHON='$(PYTHON)' bash deploy/install.sh $(LOCKS)/requirements.txt --editable
	@touch $@

$(VENV)/.ready-%: $(VENV)/.ready $(LOCKS)/%.txt
	@VENV='$(VENV)' PYTHON='$(PYTHON)' bash deploy/install.sh $(LOCKS)/$*.txt
	@touch $@

demo: setup
	@$(BIN)/metalogue demo $(if $(BACKBONE),--backbone $(BACKBONE))

# The demo's log as pages; the demo is run first where there is none yet. ARGS="--listen 127.0.0.1:8791": elsewhere.
dashboard: setup
	@[[ -e demo.db ]] || $(BIN)/metalogue demo $(if $(BACKBONE),--backbone $(BACKBONE))
	@$(BIN)/metalogue dashboard --log sqlite:demo.db --open $(ARGS)

# Six word problems on a real model in this process; it needs no key and says how weak the model is.
demo-local: setup local
	@$(BIN)/metalogue demo-local

# Apache Kafka on loopback without Docker; its last line is the log's URL. `broker-stop` keeps its data.
broker:
	@bash deploy/kafka-local/broker.sh start
broker-stop:
	@bash deploy/kafka-local/broker.sh stop
broker-clean:
	@bash deploy/kafka-local/broker.sh clean

test: dev
	$(PYTEST) $(ARGS)

soak: dev
	$(PYTEST) -m soak --timeout 3600 $(ARGS)

# Each check is a target of its own, so that `make -k lint` shows what every one of them finds.
lint: lint-rules lint-format lint-layers lint-mypy lint-pyright
lint-rules: dev
	$(BIN)/ruff check .
lint-format: dev
	$(BIN)/ruff format --check .
lint-layers: dev
	$(BIN)/lint-imports
lint-mypy: dev
	$(BIN)/mypy
lint-pyright: dev
	$(BIN)/pyright --pythonpath $(BIN)/python

lock:
	@bash deploy/lock.sh

clean:
	rm -rf .venv* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
