"""How a report is put into words: the same in every format."""

import math
import unicodedata
from pathlib import Path

from whyloss.causes import CAUSES
from whyloss.finding import Finding, Trial
from whyloss.report import Report

STATUS = {"proven": "proven", "confirmed": "confirmed by experiment", "suspected": "suspected", "note": "note"}
OUTCOME = {"healthy": "nothing found", "finding": "found", "unexamined": "not examined"}
LEVEL = {"proven": "error", "confirmed": "error", "suspected": "warning", "note": "note"}


def plain(text: object) -> str:
    """A string that cannot steer a terminal: control and direction characters become visible escapes, tabs spaces."""
    text = str(text).expandtabs(4)
    return "".join(c if c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") else _visible(c) for c in text)


def _visible(c: str) -> str:
    return f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"


def one_line(text: object) -> str:
    """`plain`, with line breaks turned into spaces."""
    return " ".join(plain(text).split("\n"))


def number(value: object) -> str:
    """Four significant digits; NaN and infinity by name; None as a dash. 0.0003 stays readable, 1e-9 too."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, bool) or isinstance(value, int) and abs(value) < 1e9:
        return str(value)
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value.is_integer() and 1e4 <= abs(value) < 1e9:
        return str(int(value))  # a count: 12030 steps, not 1.203e+04
    return f"{value:.4g}"


def title(finding: Finding) -> str:
    """The cause in a few words; the id where the catalogue does not know it."""
    known = CAUSES.get(finding.cause)
    return known.title if known else finding.cause


def meaning(finding: Finding) -> str:
    """One sentence on what is wrong, empty where the catalogue does not know the cause."""
    known = CAUSES.get(finding.cause)
    return known.meaning if known else ""


def remedies(finding: Finding) -> tuple[str, ...]:
    """The finding's own remedies, else the catalogue's."""
    known = CAUSES.get(finding.cause)
    return finding.remedies or (known.remedies if known else ())


def headline(report: Report) -> str:
    """The verdict in words that follow the name whyloss."""
    if report.verdict == "fault" and report.cause:
        return f"found the cause: {title(report.cause)}"
    if report.verdict == "healthy":
        return "sees a normal training: stop looking"
    if any(f.status == "suspected" for f in report.findings):
        return f"cannot decide, but suspects: {title(report.findings[0])}"
    return "cannot decide: no cause found, but too little seen to call it healthy"


def experiment(trial: Trial) -> str:
    """What was tried and what came of it, as one sentence."""
    change = f"{plain(trial.change)}: " if trial.change else ""
    verdict = "as the cause predicts" if trial.holds else "not as the cause predicts"
    exact = trial.steps <= 1 or math.isnan(trial.before) and math.isnan(trial.after)
    if not any(trial.curves.values()) and exact:  # there were no arms, and no losses
        return f"{plain(trial.change or trial.experiment)}: it came out {verdict}."
    return (f"{change}after {trial.steps} steps the loss is {number(trial.before)} unchanged and {number(trial.after)} "
            f"changed, {verdict}. Same start, same batches, one change.")


def arms(trial: Trial) -> dict[str, tuple]:
    """The two curves over the steps of the experiment: {"unchanged": (steps, losses), "changed": ...}.

    Curves that were thinned for the report still reach over all steps.
    """
    found = {}
    for key, name in (("before", "unchanged"), ("after", "changed")):
        losses = trial.curves.get(key) or ()
        stride = max(1.0, (trial.steps - 1) / max(1, len(losses) - 1))
        found[name] = ([i * stride for i in range(len(losses))], losses)
    return found


def deciding(finding: Finding) -> str:
    """For a suspicion: the experiment that would decide it, or an empty string."""
    known = CAUSES.get(finding.cause)
    if finding.status != "suspected" or finding.trial or not known or not known.prediction:
        return ""
    return f"whyloss try {known.prediction.experiment} would decide: {known.prediction.shows}"


def file(path: str) -> str:
    """The path as one would type it here: relative if it lies below the current folder."""
    try:
        return Path(path).relative_to(Path.cwd()).as_posix() if Path(path).is_absolute() else path
    except (ValueError, OSError):
        return path


def place(finding: Finding) -> str:
    """`file:line`, else the subject, else nothing."""
    if finding.location:
        return plain(f"{file(finding.location.file)}:{finding.location.line}")
    return plain(finding.subject or "")


def cost(report: Report) -> str:
    """Versions and seconds in one line."""
    versions = [f"{plain(name)} {plain(version)}" for name, version in report.versions.items()]
    return ", ".join([*versions, f"{report.seconds:.1f} s for the diagnosis"])
