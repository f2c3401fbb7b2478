# Two commands set everything up on a fresh machine with Python 3.11 or newer:
#   make demo    installs Steelyard and runs the main job on the data that comes with it
#   make test    installs Steelyard with its test tools and runs the tests
# make test-all adds the thorough ones (all pages of the docs, fuzzing, every real file) and those of
# the tools that make the base, and draws more examples of property tests, and other ones.
#   make test-lowest    runs some of them with the lowest versions that pyproject declares
#   make release-check    builds the package, installs it in clean environments, and runs commands
#   make bench   times the work against other packages, and writes benchmarks/results
#   make bench-compare REV=main    says what has become faster, or slower, since a commit
# MTME=FOLDER names a checkout of mt-metrics-eval, ONLY=spa,elo the rows to measure.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
BENCH_VENV ?= .venv-bench
LOWEST_VENV ?= .venv-lowest
BENCH = $(BENCH_VENV)/bin/python benchmarks/bench.py $(if $(MTME),--mtme $(MTME)) $(if $(ONLY),--only $(ONLY))

# Tests start many commands, and workers: compiled modules are kept for the next of them.
unexport PYTHONDONTWRITEBYTECODE

# Every command once, its errors, frames and figures: what an old library would break.
LOWEST_TESTS = tests/demo tests/cli/test_main.py tests/formats/test_frames.py \
	tests/report/test_drawing.py tests/core/parallel

.PHONY: demo test test-all test-lowest release-check mutants bench bench-compare lint docs docs-check docs-figures clean

demo: $(VENV)/.installed
	$(BIN)/steelyard demo

test: $(VENV)/.test-installed
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: $(VENV)/.test-installed
	STEELYARD_RANDOM=1 STEELYARD_EXAMPLES=100 $(BIN)/python -m pytest -n auto --dist worksteal -m '' tests src/steelyard tools

# The lowest version that pyproject declares of everything, in an environment of its own.
test-lowest: $(LOWEST_VENV)/.installed
	$(LOWEST_VENV)/bin/python -m pip freeze --exclude-editable
	$(LOWEST_VENV)/bin/python -m pytest $(LOWEST_TESTS)

# Wheel and sdist of the last commit, and each extra in an environment of its own: some minutes.
release-check:
	$(PYTHON) tools/release_check.py

# Which changes of a hundred, drawn at random, the tests of statistics do not notice.
mutants: $(VENV)/.test-installed
	$(BIN)/python tools/mutants.py

# Other packages, and the versions of numpy that they want, stay out of the environment of the tests.
bench: $(BENCH_VENV)/.installed
	$(BENCH)

bench-compare: $(BENCH_VENV)/.installed
	@test -n "$(REV)" || { echo "name a commit: make bench-compare REV=main"; exit 2; }
	$(BENCH) --against $(REV)

lint: $(VENV)/.dev-installed
	$(BIN)/ruff check src tests benchmarks docs tools
	$(BIN)/ruff format --check src tests benchmarks docs tools
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/house.py

docs: $(VENV)/.dev-installed
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

docs-check: $(VENV)/.dev-installed
	$(BIN)/sphinx-build -q -W --keep-going -b dummy docs docs/_build/dummy

# Every figure of the documentation, by the command that its page shows.
docs-figures: $(VENV)/.dev-installed
	$(BIN)/python docs/figures.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "installing Steelyard and what it needs into $(VENV): a few minutes, once"
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[all]'
	@touch $@

$(VENV)/.test-installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[all,test]'
	@touch $@

$(VENV)/.dev-installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[all,dev]'
	@touch $(VENV)/.test-installed $@

$(BENCH_VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[all,bench]'
	@touch $@

$(LOWEST_VENV)/.installed: pyproject.toml tools/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST_VENV)
	$(PYTHON) tools/lowest.py test > $(LOWEST_VENV)/lowest.txt
	$(LOWEST_VENV)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check \
		--requirement $(LOWEST_VENV)/lowest.txt --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) $(BENCH_VENV) $(LOWEST_VENV) docs/_build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
