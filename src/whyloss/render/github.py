"""The findings as workflow commands of GitHub Actions: annotations at the line in the pull request."""

from whyloss.render import words
from whyloss.report import Report

_KIND = {"error": "error", "warning": "warning", "note": "notice"}


def data(text: object) -> str:
    """Text of a command: percent signs and line breaks encoded."""
    return words.plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def property(text: object) -> str:
    """Text of a command's property: `data`, and colons and commas encoded."""
    return data(text).replace(":", "%3A").replace(",", "%2C")


def render(report: Report) -> str:
    """One command a finding, or a notice with the verdict if there is none."""
    lines = []
    for finding in report.findings:
        at = finding.location
        where = f"file={property(words.file(at.file))},line={at.line}," if at else ""
        said = " ".join(t for t in (words.meaning(finding), finding.measured and f"Measured: {finding.measured}.",
                                    "Try: " + "; ".join(words.remedies(finding))) if t)
        kind = _KIND[words.LEVEL[finding.status]]
        lines.append(f"::{kind} {where}title={property(f'whyloss: {finding.cause} ({finding.status})')}::{data(said)}")
    if not lines:
        lines.append(f"::notice title=whyloss::{data(f'whyloss {words.headline(report)}. {report.summary}')}")
    return "\n".join(lines) + "\n"
