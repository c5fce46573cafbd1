# Two commands are enough on a new machine: `make run` and `make test`. The rest are their parts.
#
# Each set-up step leaves a stamp under build/, so that the second time takes no time.

PYTHON ?= python3
BIN := .venv/bin
# Processes overlap on few cores; more OpenMP threads than that make each of them crawl.
export OMP_NUM_THREADS ?= 1
# Tests at a time: most of those on the real parts wait for processes.
WORKERS ?= 2

.PHONY: run test setup setup-dev check format unit web-unit stack bench openapi screenshots clean help

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: setup build/web  ## set up everything, start the server and the demo run, print the login link
	$(BIN)/swell up --demo

test: setup-dev check unit web-unit stack  ## set up everything that tests need, run all checks and all tests

setup: build/python  ## Python environment for running

setup-dev: build/python-dev build/web build/chromium  ## and what checks and tests need

check: setup-dev  ## formatting, lint, types, import rule, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cd web && npm run --silent check

format: setup-dev  ## write the formatting that `check` wants
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	cd web && npm run --silent format

unit: setup-dev  ## tests without Ray, servers or browsers
	$(BIN)/pytest -n $(WORKERS) -m "not stack"

web-unit: setup-dev
	cd web && npm run --silent test

stack: setup-dev  ## tests on the real parts: Ray, Megatron, the server, PostgreSQL, Chromium
	SWELL_CHROMIUM=$$(cat build/chromium) $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m stack

bench: setup-dev  ## every figure of the README, measured now
	$(BIN)/python -m bench

openapi: setup-dev  ## write the API document and the dashboard's types made from it
	$(BIN)/python -m server.openapi > web/openapi.json
	cd web && npm run --silent gen:api

RUN ?= demo
screenshots: setup-dev  ## the README's picture, from a run on the server that is up
	SWELL_CHROMIUM=$$(cat build/chromium) $(BIN)/python scripts/screenshots.py $(RUN)

clean:  ## remove what set-up made; runs and their records stay
	rm -rf .venv build web/node_modules web/dist

build/python: requirements.lock pyproject.toml scripts/make-venv.sh
	PYTHON=$(PYTHON) scripts/make-venv.sh requirements.lock
	@mkdir -p build && touch $@

build/python-dev: build/python requirements-dev.lock
	scripts/make-venv.sh requirements-dev.lock
	@touch $@

build/web-packages: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	@mkdir -p build && touch $@

WEB_SOURCES := $(shell find web/src web/public -type f 2>/dev/null) $(wildcard web/*.json web/*.ts web/index.html)
build/web: build/web-packages $(WEB_SOURCES)
	cd web && npm run --silent build
	@touch $@

# The stamp holds the path of the browser.
build/chromium: scripts/find-chromium.sh
	@mkdir -p build
	scripts/find-chromium.sh > $@.part && mv $@.part $@
