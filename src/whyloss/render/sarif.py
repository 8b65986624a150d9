"""The report as SARIF 2.1.0, for code scanning: one result a finding, one rule a cause."""

from pathlib import Path
from urllib.parse import quote

from whyloss.causes import CAUSES
from whyloss.finding import Finding
from whyloss.render import words
from whyloss.render.json import dumps
from whyloss.report import Report


def render(report: Report) -> str:
    """The findings as SARIF text. A location is given only where a source line is known."""
    ids = list(dict.fromkeys(f.cause for f in report.findings))
    driver = {"name": "whyloss", "rules": [_rule(id) for id in ids]}
    version = str(report.versions.get("whyloss", ""))
    if version:
        driver["version"] = version
    run = {"tool": {"driver": driver}, "results": [_result(f, ids.index(f.cause)) for f in report.findings],
           "columnKind": "unicodeCodePoints", "properties": {"verdict": report.verdict, "summary": report.summary}}
    return dumps({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(id: str) -> dict:
    known = CAUSES.get(id)
    if not known:
        return {"id": id}
    return {"id": id, "name": "".join(map(str.capitalize, id.split("-"))), "shortDescription": {"text": known.title},
            "fullDescription": {"text": f"{known.meaning} {known.why}"}, "help": {"text": "; ".join(known.remedies)}}


def _result(finding: Finding, rule: int) -> dict:
    parts = [words.meaning(finding), finding.measured and f"Measured: {words.plain(finding.measured)}.",
             words.plain(finding.message), finding.trial and f"Experiment: {words.experiment(finding.trial)}",
             "Try: " + "; ".join(map(words.plain, words.remedies(finding)))]
    result = {"ruleId": finding.cause, "ruleIndex": rule, "level": words.LEVEL[finding.status],
              "message": {"text": " ".join(part for part in parts if part)},
              "properties": {"status": finding.status, "subject": finding.subject, "step": finding.step}}
    if finding.location:
        result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": uri(finding.location.file)},
                                                     "region": {"startLine": max(1, finding.location.line)}}}]
    return result


def uri(file: str) -> str:
    """A relative reference below the current folder, else a file address."""
    path = Path(words.file(file))
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
