"""A figure of the report as a Matplotlib figure, for papers and scripts. Matplotlib is imported only here."""

import math
from pathlib import Path

from whyloss.errors import BadInput, NotEnoughEvidence
from whyloss.render import words
from whyloss.render.figures import Figure, check_name, figures
from whyloss.report import Report

_COLOURS = ("#d55e00", "#009e73", "#0072b2", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito
_STYLES = ("-", "--", ":", "-.", (0, (5, 1)), (0, (1, 1)))
_SUFFIXES = (".png", ".svg", ".pdf")


def plot(report: Report, name: str, path=None):
    """The named figure; written to `path` too, if given. Raises UnknownName, NotEnoughEvidence or BadInput."""
    check_name(name)
    if path is not None and Path(path).suffix.lower() not in _SUFFIXES:
        raise BadInput(f"cannot write figure {name!r} to {str(path)!r}: its suffix should be one of {', '.join(_SUFFIXES)}")
    known = figures(report)
    if name not in known:
        raise NotEnoughEvidence(f"this report holds nothing to draw as {name!r}; it has {', '.join(known) or 'no figure'}")
    drawn = draw(known[name])
    if path is not None:
        drawn.savefig(path, dpi=200)
    return drawn


def draw(figure: Figure):
    """A Matplotlib figure of its own, outside pyplot: no window, no global state."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise BadInput("figures are drawn by Matplotlib, which is not installed: pip install 'whyloss[plot]'") from error
    canvas = Canvas(figsize=(6.4, 3.6), layout="constrained")
    axes = canvas.add_subplot()
    axes.set_title(figure.title, fontsize=11, loc="left")
    axes.set_xlabel(figure.x_name)
    (_heat if figure.heat else _lines)(figure, axes, canvas)
    axes.spines[["top", "right"]].set_visible(False)
    return canvas


def _plain(text: str) -> str:
    return words.one_line(text).replace("$", r"\$")  # a name must not be read as mathematics


def _lines(figure: Figure, axes, canvas) -> None:
    from matplotlib import colormaps

    count = len(figure.curves)
    for at, (label, (xs, ys)) in enumerate(figure.curves.items()):
        good = [y if isinstance(y, (int, float)) and math.isfinite(y) and (y > 0 or not figure.log_y) else math.nan for y in ys]
        colour = colormaps["cividis"](0.9 * at / max(1, count - 1)) if figure.ordered else _COLOURS[(figure.first_colour + at) % len(_COLOURS)]
        axes.plot(xs, good, label=_plain(label), color=colour, linewidth=1.4, linestyle="-" if figure.ordered else _STYLES[at % len(_STYLES)],
                  marker="o" if len(xs) < 20 else None, markersize=3)
    for value, text in figure.guides:
        axes.axhline(value, color="black", linestyle="--", linewidth=0.8)
        axes.annotate(text, (1, value), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    for x, _ in figure.events:
        axes.axvline(x, color="grey", linestyle=":", linewidth=0.8)
    axes.set_yscale("log" if figure.log_y else "linear")
    axes.set_xscale("log" if figure.log_x else "linear")
    axes.set_ylabel(f"{figure.quantity} ({figure.unit})")
    if figure.ticks:
        some = sorted({round(k * (len(figure.ticks) - 1) / 5) for k in range(6)})
        axes.set_xticks(some, [_plain(figure.ticks[at])[-22:] for at in some], rotation=20, ha="right", fontsize=8)
    if count > 1:
        axes.legend(frameon=False, fontsize=8)


def _heat(figure: Figure, axes, canvas) -> None:
    from matplotlib.colors import LogNorm, Normalize

    heat = figure.heat
    cells = [[math.nan if v is None or not math.isfinite(v) or heat.log and v <= 0 else v for v in row] for row in heat.cells]
    norm = (LogNorm if heat.log else Normalize)(*heat.reach)
    image = axes.imshow(cells, aspect="auto", cmap="cividis", norm=norm, interpolation="nearest")
    rows = sorted({round(k * (len(heat.rows) - 1) / 11) for k in range(12)})
    columns = sorted({round(k * (len(heat.columns) - 1) / 6) for k in range(7)})
    axes.set_yticks(rows, [_plain(heat.rows[at])[-22:] for at in rows], fontsize=8)
    axes.set_xticks(columns, [str(heat.columns[at]) for at in columns])
    canvas.colorbar(image, ax=axes, label=f"{figure.quantity} ({figure.unit})")
