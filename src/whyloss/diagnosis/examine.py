"""One check on one run: healthy, finding, or unexamined and why. A check that fails is unexamined, never a verdict."""

from whyloss.check import Check, Examination
from whyloss.evidence import Evidence


def examine(check: Check, evidence: Evidence, run: str = "main") -> Examination:
    """Judge one check. An error of the check's own is reported as unexamined."""
    lacking = next((text for need in check.needs if (text := need.lacking(evidence, run))), None)
    if lacking:
        return Examination(check.id(), run, "unexamined", check.stage, (), lacking)
    try:
        findings = tuple(check.judge(evidence, run))
    except Exception as error:
        return Examination(check.id(), run, "unexamined", check.stage, (), f"the check failed: {type(error).__name__}: {error}")
    serious = [f for f in findings if f.status != "note"]
    return Examination(check.id(), run, "finding" if serious else "healthy", check.stage, findings)
