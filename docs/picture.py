"""The picture of the README: `python docs/picture.py report.json docs/terminal.svg` draws a real report.

Get the report with: whyloss run --report report.json examples/broken_digits.py (from the folder above this one).
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from whyloss.render.json import read
from whyloss.render.terminal import show


def picture(report_file: str, *, columns: int = 100) -> str:
    """The terminal text of the report as SVG that loads nothing from elsewhere."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    show(read(report_file), console)
    svg = console.export_svg(title="whyloss run examples/broken_digits.py", theme=SVG_EXPORT_THEME, unique_id="whyloss")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(picture(sys.argv[1]), encoding="utf-8")
