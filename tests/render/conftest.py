"""Makes the hand-written reports importable and stands where their script lies."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def beside_the_script(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)
