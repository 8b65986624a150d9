"""The report as JUnit XML: one test case a check, so that a build server shows what was looked at."""

import re
from xml.etree import ElementTree as xml

from whyloss.finding import Finding
from whyloss.render import words
from whyloss.report import Report

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """A suite in which what is proven or confirmed fails, and what was not examined is skipped."""
    left = list(report.findings)
    cases = []
    for examination in report.examinations:
        mine = [f for f in left if f.check == examination.check]
        left = [f for f in left if f.check != examination.check]
        skipped = (examination.reason or "not examined") if examination.outcome == "unexamined" and not mine else None
        cases.append(_case(examination.check, examination.stage or examination.run, mine, skipped))
    cases += [_case(f.check or f.cause, "finding", [f], None) for f in left]
    suite = xml.Element("testsuite", name="whyloss", tests=str(len(cases)), errors="0", time=f"{report.seconds:.3f}",
                        failures=str(sum(c.find("failure") is not None for c in cases)),
                        skipped=str(sum(c.find("skipped") is not None for c in cases)))
    properties = xml.SubElement(suite, "properties")
    for name, value in (("verdict", report.verdict), ("summary", report.summary)):
        xml.SubElement(properties, "property", name=name, value=_clean(value))
    suite.extend(cases)
    root = xml.Element("testsuites")
    root.append(suite)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _clean(text: object) -> str:
    """What XML 1.0 can hold."""
    return _FORBIDDEN.sub("\ufffd", words.plain(text))


def _case(check: str, stage: str, findings: list[Finding], skipped: str | None) -> xml.Element:
    case = xml.Element("testcase", classname=_clean(f"whyloss.{stage}"), name=_clean(check), time="0")
    sure = [f for f in findings if f.sure]
    if sure:
        failure = xml.SubElement(case, "failure", type=_clean(sure[0].cause),
                                 message=_clean(words.one_line(f"{words.title(sure[0])}: {sure[0].measured}")))
        failure.text = _clean("\n\n".join(map(_text, sure)))
    elif skipped is not None:
        xml.SubElement(case, "skipped", message=_clean(words.one_line(skipped)))
    elif findings:
        xml.SubElement(case, "system-out").text = _clean("\n\n".join(map(_text, findings)))
    return case


def _text(finding: Finding) -> str:
    lines = [f"{finding.cause} ({finding.status}) {words.place(finding)}".rstrip(), finding.measured, finding.message,
             words.experiment(finding.trial) if finding.trial else "",
             *(f"try: {remedy}" for remedy in words.remedies(finding))]
    return "\n".join(line for line in lines if line)
