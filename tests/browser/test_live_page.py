"""The live page in a real browser: its numbers are the ledger's, it follows, survives, reads with keys, on a phone, in the dark, behind a proxy."""

import contextlib
import http.client
import http.server
import importlib.util
import os
import socketserver
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from whyloss.sources import framefile  # noqa: E402

_SPEC = importlib.util.spec_from_file_location("written", Path(__file__).parent.parent / "live" / "written.py")
written = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(written)

FIGURES = ["loss", "gradient-flow", "activation-std", "dead-share", "update-ratio", "weight-norm", "learning-rate"]


@pytest.fixture
def opened(browser):
    """opened(address, width=, scheme=) -> the open page; at its end no error may have been told and nothing asked of another machine."""
    contexts, told, asked = [], [], []

    def opened(address: str, *, width: int = 1300, scheme: str = "light", wait: str = ".run figure.drawn"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: told.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("dialog", lambda dialog: (told.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        if wait:
            page.wait_for_selector(wait)
        return page

    yield opened
    for context in contexts:
        context.close()
    told = [line for line in told if "net::ERR_" not in line]  # a server that ended before its page did
    assert told == [] and [url for url in asked if not url.startswith("http://127.0.0.1:")] == []


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs"


def wait(page, script: str, arg=None, seconds: float = 15.0):
    """Until the script gives something true. -> it. (Playwright's own way needs eval, which the page's policy forbids.)"""
    script = script if script.startswith("step =>") else f"() => {script}"
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = page.evaluate(script, arg)
        if found:
            return found
        page.wait_for_timeout(20)
    raise AssertionError(f"it did not happen in {seconds} s: {script}")


def cells(page, name: str) -> list[str]:
    return page.locator("#runs tr", has_text=name).locator("td").all_inner_texts()


def step_shown(page, name: str) -> int:
    return int(cells(page, name)[2] or -1)


def readout(page, figure: str, key: str = "ArrowRight", times: int = 1) -> str:
    box = page.locator(f".run .{figure}").first
    box.locator(".plot").focus()
    for _ in range(times):
        box.locator(".plot").press(key)
    return box.locator(".readout").inner_text()


def test_the_numbers_on_the_page_are_those_of_the_ledger(opened, folder):
    written.run(folder / "a", alert=10)
    with written.Serving(folder) as served:
        page = opened(served.served.address)
        assert "key=" not in page.url and page.locator("h1").inner_text() == "whyloss follows 1 run: finished"
        assert page.locator(".run figure.drawn").evaluate_all("all => all.map(f => f.dataset.figure)") == FIGURES
        assert cells(page, "a")[:1] + cells(page, "a")[2:5] == ["✓ finished", "39", "2 → 1.655", "⚠ 1"]

        page.locator(".run .gradient-flow summary").click()
        page.wait_for_selector(".run .gradient-flow td")
        head = page.locator(".run .gradient-flow thead th").all_inner_texts()
        frames = framefile.load(folder / "a" / "frames.db")
        for row, layer in zip(page.locator(".run .gradient-flow tbody tr").all(), written.LAYERS):
            assert row.locator("th").inner_text() == f"{layer}.weight"
            at = frames.columns.index(("grad_norm", f"{layer}.weight"))
            for name, cell in zip(head[1:], row.locator("td").all_inner_texts()):
                assert float(cell) == pytest.approx(float(frames.values[int(name.split()[1]), at]), rel=1e-3)
        assert readout(page, "loss", "ArrowLeft") == "optimizer step 39: 1.655"
        assert readout(page, "gradient-flow", times=3).startswith("layers.2.weight: step 0 0.1, ")
        assert page.locator("#alerts li").all_inner_texts()[0].startswith("⚠ gradient-zero in a, step 10")


def test_the_page_follows_within_two_seconds_and_tells_alerts_as_they_come(opened, folder):
    ledger = written.run(folder / "a", close=False)
    with written.Serving(folder) as served:
        page = opened(served.served.address)
        page.locator(".run .loss summary").click()
        for step in (40, 41, 42):
            ledger.frame(step, written.numbers(step), step / 10)
            ledger.flush()
            began = time.monotonic()
            wait(page, "step => document.querySelector('#runs tr').cells[3].innerText === String(step)", arg=step)
            said = wait(page, """step => { const plot = document.querySelector('.run .loss .plot');
                const out = document.querySelector('.run .loss .readout');
                plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true}));
                for (let i = 0; i < 3; i++) plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
                return out.innerText.startsWith('optimizer step ' + step) && out.innerText; }""", arg=step)
            assert time.monotonic() - began < 2.0
            assert float(said.split(": ")[1]) == pytest.approx(written.loss(step), rel=1e-3)
        wait(page, "document.querySelector('.run .loss tbody tr:last-child').innerText.startsWith('42')")
        assert page.locator("#quiet").is_visible()
        written.tell(ledger, 42, "now it is told")
        page.wait_for_selector("#alerts li.alert.new:has-text('now it is told')")
        ledger.close()
        page.wait_for_selector("#runs td:has-text('finished')")
        assert page.locator(".told").get_attribute("role") == "log"


def test_a_zoomed_stretch_stays_while_the_run_goes_on(opened, folder):
    ledger = written.run(folder / "a", close=False, steps=range(200))
    with written.Serving(folder) as served:
        page = opened(served.served.address)
        over = page.locator(".run .loss .u-over")
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        page.mouse.move(box["x"] + 100, box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 200, box["y"] + 50, steps=4)
        page.mouse.up()

        def ends():
            found = []
            for x in (2, box["width"] - 3):
                over.hover(position={"x": x, "y": 50})
                found.append(int(page.locator(".run .loss .readout").inner_text().split()[2].strip(":")))
            return found

        before = ends()
        assert before[0] > 10 and before[1] < 150
        for step in range(200, 260):
            ledger.frame(step, written.numbers(step), step / 10)
        ledger.close()
        wait(page, "document.querySelector('#runs tr').cells[3].innerText === '259'")
        page.wait_for_timeout(1500)
        assert ends() == before
        over.dblclick(position={"x": 100, "y": 50})
        assert ends()[1] > 250


def test_a_killed_training_is_told_and_its_curves_stay(opened, folder):
    with written.writing(folder / "a") as process, written.Serving(folder) as served:
        page = opened(served.served.address)
        wait(page, "Number(document.querySelector('#runs tr').cells[3].innerText) > 20")
        assert cells(page, "a")[0] == "● running"
        process.kill()
        process.wait()
        page.wait_for_selector("#runs td:has-text('stopped writing')", timeout=5000)
        last = framefile.last_frame(folder / "a" / "frames.db")[0]
        wait(page, "step => document.querySelector('#runs tr').cells[3].innerText === String(step)", arg=last)
        assert "stopped writing" in page.locator(".run header").inner_text() and page.locator("h1").inner_text().endswith("1 run: stopped writing")
        assert readout(page, "loss").startswith("optimizer step 0: 2")


def test_runs_stand_side_by_side_on_the_same_axes(opened, folder):
    for name, steps in (("a", range(40)), ("b", range(100)), ("c", range(10))):
        written.run(folder / name, steps=steps)
    with written.Serving(folder) as served:
        page = opened(served.served.address)
        assert page.locator(".run").count() == 1 and page.locator("#overlay").is_hidden()
        for name in ("a", "b", "c"):
            page.locator("#runs label", has_text=name).locator("input").check()
        wait(page, "document.querySelectorAll('.run .learning-rate.drawn').length === 3")
        page.wait_for_selector("#together.drawn")
        assert page.locator("#together .legend li").all_inner_texts() == page.locator(".run h2").all_inner_texts()
        page.locator("#together summary").click()
        page.wait_for_selector("#together tbody tr")
        assert sorted(page.locator("#together thead th").all_inner_texts()[1:]) == ["a", "b", "c"]
        tops = page.locator(".run .weight-norm").evaluate_all("all => all.map(f => Math.round(f.getBoundingClientRect().top))")
        assert len(set(tops)) == 1
        page.reload()
        wait(page, "document.querySelectorAll('.run .learning-rate.drawn').length === 3")
        page.locator("#runs label", has_text="b").locator("input").uncheck()
        wait(page, "document.querySelectorAll('.run').length === 2")


def test_a_run_that_begins_later_appears(opened, folder):
    folder.mkdir()
    with written.Serving(folder) as served:
        page = opened(served.served.address, wait="#notes li")
        assert page.locator("h1").inner_text() == "whyloss waits for a run" and "no ledger there yet" in page.locator("#notes").inner_text()
        written.run(folder / "late")
        page.wait_for_selector(".run figure.drawn")
        assert page.locator("#runs th").inner_text() == "late" and page.locator("#notes").is_hidden()
        (folder / "late" / "frames.db").unlink()
        page.wait_for_selector("#notes li")
        assert page.locator(".run").count() == 0
        written.run(folder / "another")
        page.wait_for_selector(".run figure.drawn")
        assert page.locator(".run h2").inner_text() == "another"


def test_hostile_names_and_broken_ledgers_are_text(opened, folder):
    written.run(folder / "<img src=x onerror=alert(1)>", prefix=written.EVIL, alert=5)
    (folder / "broken").mkdir()
    (folder / "broken" / "frames.db").write_bytes(b"no database" * 100)
    with written.Serving(folder) as served:
        page = opened(served.served.address)
        page.locator(".run .gradient-flow summary").click()
        page.wait_for_selector(".run .gradient-flow td")
        assert page.locator("main img").count() == 0 and page.locator("script").count() == 1
        assert page.locator(".run h2").inner_text() == "<img src=x onerror=alert(1)>"
        assert page.locator(".run .gradient-flow tbody th").first.inner_text() == f"{written.EVIL}layers.0.weight"
        assert readout(page, "gradient-flow").startswith(written.EVIL)
        assert cells(page, "broken")[0].startswith("✗ cannot be read: file is not a database")


def test_paused_nothing_moves_until_it_goes_on(opened, folder):
    ledger = written.run(folder / "a", close=False)
    with written.Serving(folder) as served:
        page = opened(served.served.address)
        page.locator("#pause").click()
        ledger.frame(40, written.numbers(40), 4.0)
        ledger.close()
        page.wait_for_timeout(1200)
        assert step_shown(page, "a") == 39 and page.locator("#connection").inner_text() == "paused"
        page.locator("#pause").click()
        wait(page, "document.querySelector('#runs tr').cells[3].innerText === '40'")


def test_a_server_that_ends_is_told_and_what_was_seen_stays(opened, folder):
    written.run(folder / "a")
    with written.Serving(folder) as served:
        page = opened(served.served.address)
    page.wait_for_selector("#connection.lost")
    assert page.locator(".run figure.drawn").count() == len(FIGURES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1300, 390])
def test_nothing_is_wider_than_the_window_and_axe_finds_no_violation(opened, folder, width, scheme, tmp_path):
    written.run(folder / "baseline", steps=range(300), alert=40)
    ledger = written.run(folder / "wide-learning-rate-3e-4", steps=range(200), close=False, alert=150)
    (folder / "broken").mkdir()
    (folder / "broken" / "frames.db").write_bytes(b"no database" * 100)
    with written.Serving(folder) as served:
        page = opened(served.served.address, width=width, scheme=scheme)
        page.locator("#runs label", has_text="baseline").locator("input").check()
        wait(page, "document.querySelectorAll('.run .learning-rate.drawn').length === 2")
        page.wait_for_selector("#together.drawn")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        shots = Path(os.environ.get("WHYLOSS_SCREENSHOTS") or tmp_path)
        page.screenshot(path=shots / f"live-{width}-{scheme}.png", full_page=True)

        axe = Path(os.environ.get("WHYLOSS_AXE") or Path.home() / ".cache" / "whyloss-tests" / "axe.min.js")
        if not axe.is_file():
            pytest.skip(f"no axe-core at {axe}: npm pack axe-core, and put its axe.min.js there")
        page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
        wait(page, "document.querySelectorAll('details .scroll td').length > 20")
        page.evaluate(axe.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run()")["violations"]
        ledger.close()
        assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found] == []


def test_everything_is_reached_with_the_keyboard(opened, folder):
    written.run(folder / "a", alert=3)
    with written.Serving(folder) as served:
        page = opened(served.served.address)
        reached = []
        for _ in range(14):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("(e => e.id || e.className || e.type || e.tagName)(document.activeElement)"))
        assert "pause" in reached and "checkbox" in reached and reached.count("plot") >= 3 and "scroll runs" in reached
        page.locator("#runs input").focus()
        page.keyboard.press("Space")
        wait(page, "document.querySelectorAll('.run').length === 0")


class _Prefix(http.server.BaseHTTPRequestHandler):
    """As Jupyter's proxy does it: the prefix is taken off, everything else is passed on as it comes."""

    PREFIX, port = "/user/me/proxy/8765", 0
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if not self.path.startswith(self.PREFIX):
            self.send_error(404)
            return
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(asking), contextlib.suppress(OSError):
            asking.putrequest("GET", self.path.removeprefix(self.PREFIX), skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "connection":
                    asking.putheader(name, value)
            asking.endheaders()
            answer = asking.getresponse()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            while part := answer.read1(65536):
                self.wfile.write(part)
                self.wfile.flush()

    def log_message(self, *words):
        pass


def test_it_works_below_the_path_of_a_proxy_and_on_another_port(opened, folder):
    ledger = written.run(folder / "a", close=False)
    with written.Serving(folder) as served:
        handler = type("Handler", (_Prefix,), {"port": served.served.port})
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as proxy:
            proxy.daemon_threads = True
            threading.Thread(target=proxy.serve_forever, daemon=True).start()
            page = opened(f"http://127.0.0.1:{proxy.server_address[1]}{_Prefix.PREFIX}/?key={served.served.key}")
            assert page.url.split("#")[0].endswith("/user/me/proxy/8765/") and page.context.cookies()[0]["path"] == "/user/me/proxy/8765"
            ledger.frame(40, written.numbers(40), 4.0)
            ledger.close()
            wait(page, "document.querySelector('#runs tr').cells[3].innerText === '40'")
            wait(page, "document.querySelectorAll('.run figure.drawn').length === 7")
            page.context.close()
            proxy.shutdown()
