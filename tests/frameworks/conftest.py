"""Everything offline, everything on one CPU. Warnings are those of the frameworks, not ours to heed."""

import os
from pathlib import Path

import pytest

OFFLINE = {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "offline", "WANDB_SILENT": "true", "KERAS_BACKEND": "torch", "CUDA_VISIBLE_DEVICES": "",
           "MLFLOW_DISABLE_TELEMETRY": "true", "TRACKIO_AUTO_LOG_CPU": "false"}
os.environ.update(OFFLINE)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore"))
