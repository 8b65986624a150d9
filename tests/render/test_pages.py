"""The generated documentation is that of this code."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from whyloss.causes import CAUSES
from whyloss.check import Check, Need
from whyloss.render import pages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_page_is_up_to_date():
    old = [name for name, text in pages.pages().items()
           if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != text]

    assert not old, f"run `make docs`: {', '.join(old)}"
    assert not pages.stale(DOCS), "run `make docs`: pages that nothing makes any more"


def test_every_cause_has_its_page_and_its_line_in_the_index():
    made = pages.pages()

    assert all(f"causes/{id}.md" in made and f"({id}.md)" in made["causes/README.md"] for id in CAUSES)


FILES = sorted(p.relative_to(ROOT).as_posix() for p in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")))


@pytest.mark.parametrize("file", FILES)
def test_links_between_pages_lead_somewhere(file):
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / file).read_text(encoding="utf-8"))

    assert not [link for link in links if "://" not in link and not ((ROOT / file).parent / link).exists()]


@dataclass(frozen=True)
class Example(Check):
    """The first loss is far off.

    Sees      loss at step 0.
    Not for   other losses,
              a resumed run.
    """

    tolerance: float = 0.5

    stage = "start"
    needs = (Need("loss", at=0),)
    causes = ("initial-weights-too-large",)


def test_a_checks_docstring_is_its_page():
    text = pages.check_page(Example)

    assert "The first loss is far off." in text and "* **Not for**: other losses, a resumed run." in text
    assert "| `tolerance` | 0.5 |" in text and "| `loss` | any | 1 | 0 |" in text
    assert "../causes/initial-weights-too-large.md" in text
