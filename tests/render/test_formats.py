"""The written formats: strict, escaped, complete, and whole or not at all."""

import base64
import hashlib
import json as standard
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from reports import HOSTILE, NOTHING, REPORTS, STALE

from whyloss.errors import BadInput
from whyloss.render import FORMATS, format_of, github, json, render, sarif, words, write


def refuse(name):
    raise AssertionError(f"{name} is not strict JSON")


@pytest.mark.parametrize("name", REPORTS)
def test_json_is_strict_and_loads_back(name):
    text = render(REPORTS[name], "json")

    standard.loads(text, parse_constant=refuse)
    back = json.Report.from_dict(json.loads(text))
    assert render(back, "json") == text


def test_json_brings_non_finite_numbers_back_as_numbers_and_leaves_text_alone(tmp_path):
    write(HOSTILE, tmp_path / "r.json")
    back = json.read(tmp_path / "r.json")

    assert math.isnan(back.findings[0].trial.before)
    assert back.findings[0].trial.curves["before"][3] == math.inf
    assert back.curves[0].values[3] == -math.inf
    assert json.loads(json.dumps({"measured": "NaN", "value": math.nan}))["measured"] == "NaN"


def test_json_takes_numpy_numbers():
    numpy = pytest.importorskip("numpy")

    assert json.strict({"a": numpy.float32("nan"), "b": numpy.int64(3), "c": (1,)}) == {"a": "NaN", "b": 3.0, "c": [1]}


class Page(HTMLParser):
    """Collects tags, attributes and open elements."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "line", "polyline", "img", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"{tag} closes {self.open}"
        self.open.pop()


@pytest.mark.parametrize("name", REPORTS)
def test_html_is_well_formed_and_needs_nothing_else(name):
    page = Page(render(REPORTS[name], "html"))

    assert not page.open
    assert not {"img", "link", "iframe", "b"} & set(page.tags) and page.tags.count("script") in (0, 2)
    assert not [a for a, _ in page.attributes if a in ("src", "href", "style") or a.startswith("on")]


def test_html_escapes_what_the_user_named():
    text = render(HOSTILE, "html")

    assert text.count("<script>") == 1 and "alert(1)</script>" not in text and "&lt;script&gt;" in text
    assert text.count("</script>") == 2 and text.count("</style>") == 1
    assert "{{ 7*7 }}" in text
    assert "\x1b" not in text


def test_html_forbids_network_and_every_script_but_its_own_by_policy():
    text = render(STALE, "html")
    policy = re.search('Content-Security-Policy" content="([^"]+)"', text)[1]
    own = base64.b64encode(hashlib.sha256(re.search("<script>(.*?)</script>", text, re.DOTALL)[1].encode()).digest()).decode()

    assert f"script-src 'sha256-{own}';" in policy and "script-src" not in render(NOTHING, "html")

    assert "default-src &#39;none&#39;" in policy or "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_html_draws_the_experiment_and_the_loss():
    page = Page(render(STALE, "html"))

    assert page.tags.count("svg") >= 3 and page.tags.count("polyline") >= 4


def test_markdown_takes_user_strings_literally():
    text = render(HOSTILE, "markdown")

    assert "<script>" not in text.replace("`[bold]layer", "") and "\\:smiley" in text
    assert "1. use `log_softmax`" in text


def test_sarif_points_at_the_line():
    run = standard.loads(render(STALE, "sarif"))["runs"][0]

    assert run["tool"]["driver"]["rules"][0]["id"] == "stale-optimizer-parameters"
    assert [r["level"] for r in run["results"]] == ["error", "warning", "note"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "train.py"}, "region": {"startLine": 12}}
    assert "locations" not in run["results"][1]


def test_a_file_below_the_current_folder_is_named_relative_to_it(tmp_path):
    here, elsewhere = Path.cwd() / "a b" / "t.py", tmp_path / "t.py"

    assert words.file(str(here)) == "a b/t.py" and sarif.uri(str(here)) == "a%20b/t.py"
    assert words.file(str(elsewhere)) == str(elsewhere) and sarif.uri(str(elsewhere)).startswith("file:///")


@pytest.mark.parametrize("name", REPORTS)
def test_junit_is_xml_and_counts_right(name):
    suite = ElementTree.fromstring(render(REPORTS[name], "junit")).find("testsuite")
    cases = suite.findall("testcase")

    assert int(suite.get("tests")) == len(cases)
    assert int(suite.get("failures")) == sum(c.find("failure") is not None for c in cases)


def test_junit_fails_what_is_sure_and_skips_what_was_not_examined():
    suite = ElementTree.fromstring(render(STALE, "junit")).find("testsuite")

    assert suite.get("failures") == "1" and suite.get("skipped") == "1" and suite.get("tests") == "5"


@pytest.mark.parametrize("name", REPORTS)
def test_github_writes_one_line_a_command(name):
    for line in github.render(REPORTS[name]).strip().split("\n"):
        assert re.match(r"::(error|warning|notice) [^\n]*::", line)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_suffix_writes_a_file_and_leaves_nothing_beside_it(tmp_path, suffix):
    write(NOTHING, tmp_path / f"report{suffix}")

    assert [p.name for p in tmp_path.iterdir()] == [f"report{suffix}"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))

    with pytest.raises(OSError):
        write(NOTHING, path)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_an_unknown_suffix_is_bad_input_that_names_the_known_ones():
    with pytest.raises(BadInput, match=r"\.json"):
        format_of("report.pdf")
