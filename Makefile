# make course: everything, once   make test: the tests   make book, make notebooks: the parts
PYTHON ?= python3
BIN = .venv/bin
READY = .venv/ready

course: notebooks book
	$(BIN)/course example build/class
	@echo "book:      $(CURDIR)/book/_build/html/index.html"

notebooks: $(READY)
	$(BIN)/course notebooks

book: $(READY)
	$(BIN)/jupyter-book build book -W -n --keep-going --quiet

test: $(READY)
	$(BIN)/python -m pytest

bench: $(READY)
	$(BIN)/python tests/bench.py

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

clean:
	rm -rf book/_build build

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, not %s: make PYTHON=python3.12 ..." % sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[test]"
	@touch $@

.PHONY: course notebooks book test bench lint clean
