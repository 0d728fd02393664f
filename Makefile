# make setup once; every other target does it by itself where it is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt
JOBS ?= 2
NATIVE := $(wildcard src/wordclass/native/*.cpp src/wordclass/native/*.h)
# one BLAS thread per process: two test processes with two threads each only wait for each other;
# hundreds of processes are started, which should find the package compiled
TESTS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --dist loadgroup

.PHONY: setup demo check lint types test test-slow mutants sanitize cover bench results docs clean

setup: $(VENV)/.ready

# what the demo uses and no more: the tools first, so that the extension is built with the pinned
# ones, and again when it changes
$(VENV)/.demo: pyproject.toml constraints.txt CMakeLists.txt $(NATIVE)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --upgrade pip
	$(INSTALL) --group build
	PATH="$(CURDIR)/$(BIN):$$PATH" $(INSTALL) --no-build-isolation --editable '.[plots]'
	touch $@

# every extra of the package that is installed now, and the tools of the tests
$(VENV)/.ready: $(VENV)/.demo
	$(INSTALL) --group dev 'wordclass[all]'
	touch $@

demo: $(VENV)/.demo
	$(BIN)/wordclass demo --output demo-report --force

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)

types: setup
	$(BIN)/mypy

# lint, types and the tests that take no time: for every save
check: lint types
	$(TESTS) -q -n $(JOBS) -x -k "not docstrings and not demo and not cli"

# everything that CI runs
test: lint types
	$(TESTS) -n $(JOBS) --cov --cov-report=term --cov-fail-under=97

test-slow: setup
	$(TESTS) -n $(JOBS) -m slow

# small changes of the code that the tests must notice, at least 85 of 100; half an hour
mutants: setup
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/mutants.py --jobs $(JOBS)

# the native code built with sanitizers: addresses, undefined behavior, threads
sanitize: setup
	$(TESTS) -m slow tests/native/test_sanitizers.py

cover: setup
	$(TESTS) -q -n $(JOBS) --cov --cov-report=html:.cache/coverage --cov-report=term

bench: setup
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

# docs/replication.md and docs/beyond.md, from what is in results/; `wordclass experiment run PLAN` adds to that
results: setup
	$(BIN)/wordclass experiment report results --to docs --format markdown

# the site, without network: site/index.html
docs: setup
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs site

clean:
	rm -rf $(VENV) build dist site docs/reference/generated demo-report .cache .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
