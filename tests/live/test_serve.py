"""The served page: its stream of events, its pictures, and the command."""

import gzip
import json
import re
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from written import SRC, Serving, loss, numbers, run, tell, until, writing

from whyloss.cli.main import main
from whyloss.live.app import STREAMS


def test_the_stream_tells_everything_then_what_is_new(tmp_path):
    ledger = run(tmp_path / "a", close=False)
    with Serving(tmp_path) as page, page.stream() as events:
        told = next(data for event, data in events if data["runs"])
        (row,) = told["runs"]
        assert (row["name"], row["kind"], row["step"]) == ("a", "running", 39) and float(row["last"]) == pytest.approx(loss(39), rel=1e-3)

        began = time.monotonic()
        ledger.frame(40, numbers(40), 4.0)
        tell(ledger, 40)
        told = next(data for event, data in events if data["runs"] and data["runs"][0]["step"] == 40)
        assert time.monotonic() - began < 2.0
        assert not told["first"] and [alert["kind"] for alert in told["alerts"]] == ["gradient-zero"] and told["alerts"][0]["expected"]
        ledger.close()
        assert next(data for event, data in events if data["runs"])["runs"][0]["kind"] == "finished"


def test_a_kill_in_the_middle_of_writing_is_told(tmp_path):
    with Serving(tmp_path) as page, page.stream() as events, writing(tmp_path / "a") as process:
        next(data for event, data in events if data["runs"] and data["runs"][0]["step"])
        process.kill()
        process.wait()
        row = next(data for event, data in events if data["runs"] and data["runs"][0]["kind"] == "stopped")["runs"][0]
        assert "stopped writing" in row["words"] and row["wrote"]


def test_the_pictures_are_those_of_the_report_with_the_numbers_of_the_ledger(tmp_path):
    run(tmp_path / "a", alert=10)
    with Serving(tmp_path) as page:
        row = until(lambda: page.runs().get("a"))
        made = page.json(f"/pictures?run={row['id']}")
        figures = {figure["name"]: figure for figure in made["figures"]}
        table = page.ask(f"/numbers?run={row['id']}&figure=loss")[2].decode()
        both = page.ask(f"/together?run={row['id']}&run={row['id']}")[2].decode()
        packed = page.ask(f"/pictures?run={row['id']}", Accept_Encoding="gzip")
        missing = page.ask("/pictures?run=x")[0], page.ask(f"/numbers?run={row['id']}&figure=x")[0]

    assert list(figures) == ["loss", "gradient-flow", "activation-std", "dead-share", "update-ratio", "weight-norm", "learning-rate"]
    assert figures["loss"]["curves"][0]["y"] == pytest.approx([loss(step) for step in range(40)], rel=1e-3)
    assert figures["loss"]["events"] == [[10, "gradient-zero"]] and figures["gradient-flow"]["log_y"]
    assert re.search(r'<th scope="row">39</th><td class="n">([\d.]+)</td>', table) and "<table>" in both
    assert json.loads(gzip.decompress(packed[2])) == made and packed[1]["content-encoding"] == "gzip" and missing == (404, 404)


def test_pages_that_go_away_leave_nothing_behind_and_too_many_are_refused(tmp_path, monkeypatch):
    run(tmp_path / "a")
    monkeypatch.setattr("whyloss.live.app.STREAMS", 3)
    assert STREAMS == 200
    with Serving(tmp_path) as page:
        for _ in range(8):
            until(lambda: _once(page))
        with page.stream() as a, page.stream() as b, page.stream() as c:
            assert next(a) and next(b) and next(c) and page.ask("/events")[0] == 503


def _once(page) -> bool:
    try:
        with page.stream() as events:
            return bool(next(events))
    except AssertionError:  # the ones before have not gone yet
        return False


def test_the_command_prints_the_address_and_ends_with_ctrl_c(tmp_path):
    run(tmp_path / "a")
    served = subprocess.Popen([sys.executable, "-m", "whyloss", "serve", str(tmp_path), "--port", "0"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env={"PYTHONPATH": str(SRC), "PATH": "/usr/bin:/bin"})
    address = served.stdout.readline().split()[-1]
    told = next((line for line in served.stdout if "Ctrl-C" in line), "")  # a busy machine may take its time between two lines
    time.sleep(1.0)
    served.send_signal(signal.SIGINT)
    _, err = served.communicate(timeout=20)

    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?key=[\w-]{32}", address) and told and err == "" and served.returncode == 0


def test_without_the_web_server_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(main, ["serve", str(tmp_path)])

    assert done.exit_code == 2 and 'pip install "whyloss[serve]"' in done.output


@pytest.mark.parametrize("arguments, said", [
    (["s3://bucket/run"], "whyloss health"), ([".", "--allow-host", "http://x"], "hub.example.org"), ([], "PATH"),
    ([".", "--port", "70000"], "--port")])
def test_wrong_usage_is_told(arguments, said):
    done = CliRunner().invoke(main, ["serve", *arguments])
    assert done.exit_code == 2 and said in done.output
