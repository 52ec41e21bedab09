# Everything starts here: `make` lists what there is.
.DEFAULT_GOAL := help
.PHONY: help setup repro test bench lock
unexport PYTHONHOME PYTHONPATH

# The Python that makes the environment: PYTHON where it is given, else the one of an environment that was made in this
# very place (not copied or moved here), else the first on PATH that fits.
fits := import ensurepip, sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))
ours = $(shell grep -qsF '$(CURDIR)/.venv' .venv/bin/activate && echo .venv/bin/python)
candidates = $(if $(PYTHON),'$(PYTHON)',$(ours) python3.11 python3.12 python3.10 python3)
python = $(shell for python in $(candidates); do \
	"$$python" -c '$(fits)' 2>/dev/null && command -v "$$python" && break; done)
needed = Python 3.10, 3.11 or 3.12 with its venv module is needed, and \
	$(if $(PYTHON),$(PYTHON) is not that,none was found; name one with make PYTHON=/path/to/python)

# What an environment is made from: where it stands, its Python, and what is to be installed.
state = $(shell { pwd; "$(python)" -V; cat constraints.txt pyproject.toml; } | cksum)
same_python = [ -n "$(ours)" ] && [ "$$("$(python)" -V)" = "$$(.venv/bin/python -V 2>/dev/null)" ]

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /make \1	/p' Makefile

setup:  ## make .venv with the locked dependencies (PYTHON=... chooses the Python)
	$(if $(python),,$(error $(strip $(needed))))
	@[ "$(state)" = "$$(cat .venv/installed 2>/dev/null)" ] || { \
		rm -f .venv/installed && \
		{ { $(same_python); } || "$(python)" -m venv --clear .venv; } && \
		.venv/bin/python -m pip install --constraint constraints.txt --editable '.[test]' && \
		echo "$(state)" > .venv/installed; }

repro: setup  ## run what is not up to date, a stage a core or GPU at a time (JOBS=... at a time, CLUSTER=... elsewhere)
	@PATH="$(CURDIR)/.venv/bin:$$PATH" ENDS_WITH=$$PPID .venv/bin/python -m perlayer.repro \
		$(if $(JOBS),--jobs '$(JOBS)') $(if $(CLUSTER),--cluster '$(CLUSTER)')

test: setup  ## check the code's style and run the tests
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/pytest -q -n 2 --dist loadfile --no-loadscope-reorder

bench: setup  ## measure what is claimed of speed, each against its bound (ARGS='--json NAME ...')
	@PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/python -m benchmarks $(ARGS)

lock: setup  ## resolve constraints.txt anew for every Python and system (UPGRADE=1 takes the newest versions)
	@.venv/bin/python -m pip install --quiet --constraint constraints.txt --editable '.[lock]'
	@.venv/bin/uv pip compile --quiet --no-python-downloads --universal --python-version 3.10 --all-extras --no-annotate \
		--no-emit-index-url --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade) \
		--output-file constraints.txt pyproject.toml
