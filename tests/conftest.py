"""Options of the whole test suite."""

from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--renew", action="store_true", help="write the expected texts anew instead of comparing")


@pytest.fixture
def expected(request):
    """Compare a text with the file `expected/NAME` beside the test; with --renew write it."""

    def compare(text: str, name: str) -> None:
        path = Path(request.path).parent / "expected" / name
        if request.config.getoption("--renew"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing; write it with pytest --renew"
        assert text == path.read_text(encoding="utf-8"), f"differs from {path}; look at it, then pytest --renew"

    return compare
