"""A finding about data stands where the data is made, not where the model is called with it."""

from dataclasses import replace

from whyloss.evidence import Evidence
from whyloss.finding import Finding, Location

ROLE = {
    **dict.fromkeys(("inputs-not-normalised", "constant-inputs", "non-finite-inputs", "train-eval-preprocessing-differs", "validation-leak",
                     "single-class-batches", "overfitting"), "input"),
    "targets-not-normalised": "target",
}


def at_its_origin(finding: Finding, evidence: Evidence) -> Finding:
    """The finding with the name and the line of the variable it is about, where the source tells them."""
    if finding.cause not in ROLE or finding.location is None:
        return finding
    fact = evidence.fact("origin", f"{finding.location.file}:{finding.location.line}")
    named = (fact or {}).get("target" if finding.subject == "target" else ROLE[finding.cause])
    if not named:
        return finding
    file, _, line = named[1].rpartition(":")
    return replace(finding, subject=named[0], location=Location(file, int(line)))
