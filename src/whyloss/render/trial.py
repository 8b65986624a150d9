"""One experiment's result, for `whyloss try`.

result  {"experiment", "title", "outcome", "summary", "rows": [{"label", "value", "note"?}],
         "curves": {name: {"x": [..], "y": [..]}}, "x_label", "y_label", "log_x"}; all but the name may be missing
"""

from rich.console import Console
from rich.text import Text

from whyloss.render import words
from whyloss.render.terminal import draw_plot, field, glyphs, write

_SYMBOL = {"holds": "finding", "finding": "finding", "fault": "finding", "healthy": "healthy", "passed": "healthy",
           "memorised": "healthy", "not memorised": "finding", "blocked": "finding", "climbs": "healthy",
           "not possible": "unexamined", "impossible": "unexamined", "unexamined": "unexamined"}


def show(result: dict, console: Console) -> None:
    """Print the result: what was tried, the numbers, the curves, what it means."""
    marks = glyphs(console)
    outcome = words.one_line(result.get("outcome") or "")
    symbol = getattr(marks, _SYMBOL.get(outcome, ""), marks.bullet)
    name = words.one_line(result.get("title") or result["experiment"])
    tried = words.one_line(result["experiment"])
    write(console, Text.assemble((f"{symbol} whyloss try {tried}", "bold"), f"  {name}" if name != tried else "",
                                 (f"  {outcome}", "italic")), indent=0, above=True)
    if result.get("summary"):
        write(console, Text(words.plain(result["summary"])))
    rows = result.get("rows") or []
    if rows:
        console.print()
    width = max((len(words.one_line(row.get("label", ""))) for row in rows), default=0)
    for row in rows:
        value = words.number(row.get("value")) + (f"  {words.one_line(row['note'])}" if row.get("note") else "")
        field(console, words.one_line(row.get("label", "")), value, width=min(width, 30))
    curves = {label: (curve.get("x") or range(len(curve.get("y") or ())), curve.get("y") or ())
              for label, curve in (result.get("curves") or {}).items()}
    if curves:
        console.print()
        draw_plot(curves, console, marks, height=9, log_x=bool(result.get("log_x")), indent=2,
                  x_label=words.one_line(result.get("x_label") or "steps"),
                  y_label=words.one_line(result.get("y_label") or "loss"))
