"""For tests of checks and for users' own tests: evidence written by hand, and the contract every check keeps."""

from whyloss.check import Check
from whyloss.evidence import Evidence
from whyloss.finding import Finding


def evidence_from(run: str = "main", **quantities) -> Evidence:
    """Evidence by hand. Each keyword is a quantity: {subject: [values]} or {subject: {step: value}}, or just [values] for "run"."""
    evidence = Evidence()
    for quantity, content in quantities.items():
        by_subject = content if isinstance(content, dict) else {"run": content}
        for subject, values in by_subject.items():
            pairs = values.items() if isinstance(values, dict) and all(isinstance(k, int) for k in values) else \
                enumerate(values if isinstance(values, list) else [values])
            for step, value in pairs:
                evidence.add(quantity, value, subject=subject, step=step, run=run)
    return evidence


def findings(check: Check, evidence: Evidence, run: str = "main") -> list[Finding]:
    """What a check finds; [] also when its needs are not met."""
    if any(need.lacking(evidence, run) for need in check.needs):
        return []
    return list(check.judge(evidence, run))


def check_contract(kind: type[Check]) -> None:
    """Asserts what every check promises: a page, a stage, needs, causes that exist, and silence on empty evidence."""
    from whyloss.causes import CAUSES
    from whyloss.diagnosis.order import STAGES

    check = kind()
    page = kind.__doc__ or ""
    for heading in ("Sees", "Expects", "Means", "Not for", "Source"):
        assert heading in page, f"{kind.__name__}: its page lacks {heading!r}"
    assert check.stage in {stage.name for stage in STAGES}, f"{kind.__name__}: no stage {check.stage!r}"
    assert check.isolates and check.causes, f"{kind.__name__} must say what it isolates and which causes it names"
    assert all(cause in CAUSES for cause in check.causes), f"{kind.__name__} names an unknown cause"
    assert check.needs, f"{kind.__name__} must say what it needs"
    assert any(need.lacking(Evidence(), "main") for need in check.needs)
