"""The report in a real browser: drawn without errors, its numbers those of the JSON, readable with keys, without script, on a phone, in the dark."""

import importlib.util
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from whyloss.check import Examination
from whyloss.finding import Finding, Location
from whyloss.render import render

_SPEC = importlib.util.spec_from_file_location("drawn", Path(__file__).parent.parent / "render" / "drawn.py")
drawn = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(drawn)

FIGURES = ["experiment", "loss", "gradient-flow", "activation-std", "dead-share", "saturated-share", "update-ratio", "weight-norm", "learning-rate",
           "memorise", "range-test"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """With a line of source too long for a phone, and a remedy that is a diff."""
    script = tmp_path_factory.mktemp("script") / "train.py"
    script.write_text("model = build()\noptimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], momentum=0.9, lr=1e-7)\n")
    made = drawn.small()
    finding = replace(made.findings[0], cause="learning-rate-too-low", location=Location(str(script), 2),
                      remedies=("set the learning rate near 0.01",))
    others = (Finding("class-imbalance", "note", message="class 3 makes up 31 % of the labels"),)
    return replace(made, findings=(finding, *others), not_examined=("dead-relus: no 'dead_share' was observed",),
                   examinations=(Examination("dead-relus", "main", "unexamined", reason="nothing was seen"),))


@pytest.fixture(scope="module")
def html(report):
    return render(report, "html")


def test_every_figure_is_drawn_by_the_script(visit, html):
    page = visit(html)

    assert page.locator("figure.drawn").evaluate_all("all => all.map(f => f.id)") == FIGURES
    assert page.locator("figure.drawn canvas").count() == len(FIGURES)
    assert page.locator(".still:visible").count() == 0


def test_the_numbers_on_the_page_are_those_of_the_json(visit, report, html):
    grid = next(g for g in json.loads(render(report, "json"))["grids"] if g["quantity"] == "grad_norm")
    page = visit(html)
    page.locator("#gradient-flow summary").click()
    head = page.locator("#gradient-flow thead th").all_inner_texts()
    rows = page.locator("#gradient-flow tbody tr").all()

    assert [row.locator("th").inner_text() for row in rows] == grid["subjects"]
    for row, subject in zip(rows, grid["values"]):
        for name, cell in zip(head[1:], row.locator("td").all_inner_texts()):
            assert float(cell) == pytest.approx(subject[grid["steps"].index(int(name.split()[1]))], rel=1e-3)


def test_the_pointer_and_the_arrow_keys_read_the_numbers(visit, html):
    page = visit(html)
    plot, said = page.locator("#gradient-flow .plot"), page.locator("#gradient-flow .readout")
    plot.focus()
    for _ in range(6):
        plot.press("ArrowRight")
    assert said.inner_text().startswith("layer5.weight: step 0 3.162e-4, ")
    page.locator("#loss .u-over").hover(position={"x": 300, "y": 40})
    assert page.locator("#loss .readout").inner_text().startswith("optimizer step ")


def test_the_heat_map_names_its_cell(visit, html):
    page = visit(html)
    plot, said = page.locator("#activation-std .plot"), page.locator("#activation-std .readout")
    plot.focus()
    plot.press("ArrowLeft")
    for _ in range(2):
        plot.press("ArrowDown")
    assert said.inner_text() == "layer2, step 90: not finite"


def test_a_hostile_name_stays_text_everywhere(visit):
    page = visit(render(drawn.hostile(), "html"))

    assert page.locator("script").count() == 2 and page.locator("figure.drawn").count() == len(FIGURES)
    assert page.locator("#gradient-flow .plot").count() == 1 and drawn.EVIL in page.locator("main").inner_text()
    page.locator("#dead-share .plot").focus()
    page.locator("#dead-share .plot").press("ArrowRight")
    assert page.locator("#dead-share .readout").inner_text().startswith(drawn.EVIL + "0: ")


def test_without_script_the_drawings_and_the_tables_stand(visit, html):
    page = visit(html, scripts=False)

    assert page.locator(".still svg:visible").count() == len(FIGURES)
    assert page.locator(".readout:visible").count() == 0 and page.locator("table").count() > len(FIGURES)


def test_paper_shows_the_drawings_not_the_canvas(visit, html):
    page = visit(html)
    page.emulate_media(media="print")

    assert page.locator(".still svg:visible").count() == len(FIGURES) and page.locator("canvas:visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 390])
def test_nothing_is_wider_than_the_window_and_axe_finds_no_violation(visit, html, width, scheme, tmp_path):
    page = visit(html, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    folder = os.environ.get("WHYLOSS_SCREENSHOTS")
    page.screenshot(path=Path(folder or tmp_path) / f"report-{width}-{scheme}.png", full_page=True)

    axe = Path(os.environ.get("WHYLOSS_AXE") or Path.home() / ".cache" / "whyloss-tests" / "axe.min.js")
    if not axe.is_file():
        pytest.skip(f"no axe-core at {axe}: npm pack axe-core, and put its axe.min.js there")
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    page.evaluate(axe.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")["violations"]
    assert [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in found] == []


def test_the_remedy_is_a_diff_in_front_of_the_advice(visit, html):
    page = visit(html)

    assert page.locator("pre .taken").inner_text().endswith("lr=1e-7)") and page.locator("pre .added").inner_text().endswith("lr=0.01)")
    assert page.locator("pre .hit").inner_text().startswith("▶    2 │ optimizer = ")


def test_a_drag_zooms_and_a_double_click_shows_all(visit, html):
    page = visit(html)
    over = page.locator("#loss .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 50, steps=4)
    page.mouse.up()

    def step_at(x):
        over.hover(position={"x": x, "y": 50})
        return int(page.locator("#loss .readout").inner_text().split()[2].strip(":[]"))

    assert step_at(2) > 20 and step_at(box["width"] - 3) < 60
    over.dblclick(position={"x": 100, "y": 50})
    assert step_at(2) == 0 and step_at(box["width"] - 3) == 99


def test_a_page_follows_the_theme_while_it_is_open(visit, html):
    page = visit(html)
    light = page.locator("#loss canvas").screenshot()
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(200)

    assert page.locator("#loss canvas").screenshot() != light


def test_a_thousand_layers_over_a_hundred_thousand_steps_stay_small_and_smooth(visit):
    text = render(drawn.huge(), "html")
    began = time.monotonic()
    page = visit(text)
    page.wait_for_selector("#range-test.drawn")
    seconds = time.monotonic() - began
    moved = page.evaluate("""async () => { const plot = document.querySelector('#activation-std .plot'), began = performance.now();
        for (let i = 0; i < 20; i++) {
            plot.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
            await new Promise(requestAnimationFrame);
        }
        return (performance.now() - began) / 20; }""")
    print(f"{len(text.encode()) / 1e6:.2f} MB, drawn after {seconds:.1f} s, {moved:.1f} ms a key")

    assert len(text.encode()) < 5e6 and seconds < 15 and moved < 100
