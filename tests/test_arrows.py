"""Imports between the rooms run one way, torch stays in the rooms that may touch it, files and functions stay small."""

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src" / "whyloss"
ROOMS = {"causes", "checks", "diagnosis", "sources", "laboratory", "render", "live", "cli", "bootstrap", "integrations"}
MAY_IMPORT = {
    "nouns": {"nouns"},
    "causes": {"nouns", "causes"},
    "checks": {"nouns", "causes", "checks"},
    "diagnosis": {"nouns", "causes", "checks", "diagnosis"},
    "sources": {"nouns", "sources"},
    "laboratory": {"nouns", "sources", "laboratory"},
    "render": {"nouns", "causes", "checks", "diagnosis", "render"},  # pages are generated from the catalogue, checks and order
    "live": {"nouns", "sources", "render", "live"},
    "cli": {"nouns", "causes", "checks", "diagnosis", "sources", "laboratory", "render", "live", "cli"},
    "bootstrap": {"nouns", "sources", "bootstrap"},
    "integrations": {"nouns", "sources", "integrations"},
}
MAY_TOUCH_TORCH = {"sources", "laboratory", "cli", "integrations"}
# testing.py is the contract that every room's tests share; its imports of rooms are inside functions
EXEMPT = {"testing.py", "__init__.py", "__main__.py"}
FILES = sorted(SRC.rglob("*.py"))


def room(path: Path) -> str:
    top = path.relative_to(SRC).parts[0]
    return top if top in ROOMS else "nouns"


def imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_arrows_run_one_way(path):
    if path.parent == SRC and path.name in EXEMPT:
        return
    here = room(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "whyloss" and len(parts) > 1:
            there = parts[1] if parts[1] in ROOMS else "nouns"
            assert there in MAY_IMPORT[here], f"{path.relative_to(SRC)} ({here}) imports {name}"
        if parts[0] == "torch":
            assert here in MAY_TOUCH_TORCH, f"{path.relative_to(SRC)} imports torch"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_files_and_functions_stay_small_and_are_named_for_a_purpose(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 520, f"{path.name} has {text.count(chr(10))} lines"
    assert path.stem not in {"utils", "helpers", "common", "manager", "misc"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 62, f"{path.name}: {node.name} has {node.end_lineno - node.lineno + 1} lines"
