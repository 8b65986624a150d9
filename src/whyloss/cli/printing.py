"""What the commands that only inform print with: standard output, no markup."""

from rich.console import Console
from rich.text import Text

from whyloss.render.words import plain


def console() -> Console:
    """Standard output, at most 110 columns wide."""
    found = Console(highlight=False, markup=False, emoji=False)
    found.width = min(found.width, 110)
    return found


def text(content: object, style: str = "") -> Text:
    """Text that is taken literally."""
    return Text(plain(content), style)
