"""The report as Markdown: for an issue, a pull request or a job summary."""

import re

from whyloss.finding import Finding
from whyloss.render import words
from whyloss.render.source import excerpt
from whyloss.report import Report

SYMBOL = {"fault": "✗", "healthy": "✓", "undetermined": "?"}


def escape(text: object) -> str:
    """Text that Markdown and HTML take literally, in one line."""
    text = words.one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|~$@]|^[-+]|:(?=[\w+-]*:))", r"\\\1", text)


def written(text: object) -> str:
    """Our own sentence, in which `code` is meant: escaped outside of balanced back-ticks."""
    parts = words.one_line(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(code(part) if i % 2 else escape(part) for i, part in enumerate(parts) if part)


def code(text: object) -> str:
    """Text as inline code, with a fence longer than any run of back-ticks in it."""
    text = words.one_line(text).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    room = " " if "`" in text else ""
    return f"{fence}{room}{text}{room}{fence}"


def render(report: Report) -> str:
    """The whole report as Markdown text."""
    symbol = SYMBOL.get(report.verdict, "?")
    blocks = [f"## {symbol} whyloss {written(words.headline(report))}"]
    if report.summary:
        blocks.append(escape(report.summary))
    findings = list(report.findings)
    if findings and findings[0].status != "note":
        blocks.append(_finding(findings.pop(0)))
    if findings:
        blocks.append("### Also seen\n\n" + "\n".join(map(_brief, findings)))
    if report.curves:
        rows = [(code(c.series), ", ".join((c.label, *c.also)), escape(c.detail)) for c in report.curves]
        blocks.append("### Curves\n\n" + _table(("series", "label", "detail"), rows))
    if report.path:
        rows = [(p.stage, words.OUTCOME.get(p.outcome, p.outcome), escape(p.detail)) for p in report.path]
        blocks.append("### Looked at, in this order\n\n" + _table(("stage", "outcome", "detail"), rows))
    if report.not_examined:
        blocks.append("Not looked at: " + "; ".join(map(escape, report.not_examined)))
    blocks.append(f"<sub>{escape(words.cost(report))}</sub>")
    return "\n\n".join(blocks) + "\n"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _finding(finding: Finding) -> str:
    where = f" at {code(words.place(finding))}" if words.place(finding) else ""
    lines = [f"### {code(finding.cause)}, {words.STATUS[finding.status]}{where}", written(words.meaning(finding))]
    shown = excerpt(finding.location) if finding.location else []
    if shown:
        fence = "`" * 12
        rows = [f"{'>' if hit else ' '} {n:>4} | {text}" for n, text, hit in shown]
        lines.append("\n".join([f"{fence}text", *rows, fence]))
    facts = [("measured", finding.measured), ("expected", finding.expected), ("so", finding.message),
             ("experiment", words.experiment(finding.trial) if finding.trial else ""),
             ("undecided", words.deciding(finding)), ("explains", ", ".join(finding.explains))]
    lines.append("\n".join(f"* **{name}**: {escape(text)}" for name, text in facts if text))
    lines.append("**Try**\n\n" + "\n".join(f"1. {written(remedy)}" for remedy in words.remedies(finding)))
    return "\n\n".join(line for line in lines if line)


def _brief(finding: Finding) -> str:
    where = f" at {code(words.place(finding))}" if words.place(finding) else ""
    said = finding.measured or finding.message or words.meaning(finding)
    return f"* {code(finding.cause)}, {finding.status}{where}: {written(said)}"
