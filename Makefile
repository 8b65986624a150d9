VENV  ?= .venv
TORCH ?= torch==2.13.0        # the version tested; any pip arguments: make TORCH="torch --index-url ..."
PY    := $(VENV)/bin/python

.PHONY: demo test test-frameworks lint docs bench bench-overhead bench-overhead-peers bench-logs bench-peers

$(VENV)/.ok: pyproject.toml Makefile
	test -x $(PY) || python3 -m venv $(VENV)
	$(PY) -m pip install -q -U "pip>=25.1,<26.2"
	$(PY) -c "import torch" 2>/dev/null || $(PY) -m pip install -q $(TORCH)
	$(PY) -m pip install -q -e . --group dev
	touch $@

demo: $(VENV)/.ok             # a training script with a real-life fault, watched
	$(VENV)/bin/whyloss run examples/broken_digits.py

test: $(VENV)/.ok
	OMP_NUM_THREADS=1 $(PY) -m pytest -q -n 2

FRAMEWORKS := pytorch-lightning lightning transformers accelerate pytorch-ignite "keras>=3" "ray[train]"
FASTAI     := fastdownload fastcore fasttransform fastprogress "plum-dispatch<2.10" matplotlib pandas scikit-learn scipy   # what fastai needs of its own
TRACKERS   := tensorboard wandb mlflow-skinny sqlalchemy alembic trackio

.venv-frameworks/.ok: pyproject.toml Makefile
	test -x .venv-frameworks/bin/python || python3 -m venv .venv-frameworks
	echo "$(filter torch%,$(TORCH))" > .venv-frameworks/constraints.txt
	.venv-frameworks/bin/python -m pip install -q $(TORCH)
	.venv-frameworks/bin/python -m pip install -q -c .venv-frameworks/constraints.txt $(FRAMEWORKS) $(FASTAI) $(TRACKERS) pytest pytest-timeout
	.venv-frameworks/bin/python -m pip install -q --no-deps fastai   # without torchvision, whose builds do not load beside every build of torch
	.venv-frameworks/bin/python -m pip install -q -e .
	touch $@

test-frameworks: .venv-frameworks/.ok   # other people's training loops and trackers, in an environment of their own
	OMP_NUM_THREADS=1 .venv-frameworks/bin/python -m pytest -q tests/frameworks

lint: $(VENV)/.ok
	$(PY) -m ruff check

docs: $(VENV)/.ok             # writes the generated pages again
	$(PY) -m whyloss.render.pages docs

bench: $(VENV)/.ok            # the scoreboard
	OMP_NUM_THREADS=1 $(PY) bench/scoreboard.py

bench-overhead: $(VENV)/.ok   # what watching costs, beside the bare training in one run
	OMP_NUM_THREADS=1 $(PY) bench/overhead.py

bench-logs: $(VENV)/.ok       # curves with a known truth, reading speed, kills, ranks
	$(PY) bench/curves.py
	$(PY) bench/reading.py
	$(PY) bench/kills.py
	$(PY) bench/ranks.py

PEERS := torch-audit traintools torchdiag torchtest2 torchmortem training-doctor trainspotter losslint gradglass traincheck
OURS  ?=                      # results of bench/scoreboard.py (--out): make bench-peers OURS=results.json

.venv-peers/.ok: $(VENV)/.ok Makefile
	test -x .venv-peers/bin/python || python3 -m venv .venv-peers
	$(PY) -c "import torch; print('torch==' + torch.__version__.split('+')[0])" > .venv-peers/constraints.txt
	.venv-peers/bin/python -m pip install -q $(TORCH)
	.venv-peers/bin/python -m pip install -q -c .venv-peers/constraints.txt scikit-learn $(PEERS)
	touch $@

WATCHERS := wandb lightning torch-audit traintools cockpit-for-pytorch "setuptools<80"   # cockpit needs pkg_resources

.venv-peers/.watchers: .venv-peers/.ok
	.venv-peers/bin/python -m pip install -q -c .venv-peers/constraints.txt $(WATCHERS) $(FASTAI)
	.venv-peers/bin/python -m pip install -q --no-deps fastai
	.venv-peers/bin/python -m pip uninstall -q -y torchvision   # of another build of torch, which breaks Lightning's import
	touch $@

bench-overhead-peers: .venv-peers/.watchers   # the same with other tools beside ours
	OMP_NUM_THREADS=1 .venv-peers/bin/python bench/overhead.py --rounds 7

bench-peers: .venv-peers/.ok  # other tools on the same patients, in an environment of their own
	OMP_NUM_THREADS=1 .venv-peers/bin/python bench/peers.py $(if $(strip $(OURS)),--ours $(strip $(OURS)))
