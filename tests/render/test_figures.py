"""The figures of a report: which there are, what they say, the numbers behind them, and how they are drawn on terminals and for papers."""

import io
import json as standard
import math
import sys
from dataclasses import replace

import drawn
import pytest
from reports import NOTHING, STALE
from rich.console import Console

from whyloss.diagnosis.grids import BUCKETS, CELLS, grids
from whyloss.errors import BadInput, NotEnoughEvidence, UnknownName
from whyloss.evidence import Evidence
from whyloss.finding import Finding, Location
from whyloss.render import json, render, svg
from whyloss.render.figures import NAMES, figures
from whyloss.render.html import embedded
from whyloss.render.remedy import diff
from whyloss.render.terminal import show
from whyloss.report import Grid, Report


@pytest.fixture(scope="module")
def report():
    return drawn.small()


def test_a_full_report_has_every_figure_and_each_is_defined(report):
    made = figures(report)

    assert list(made) == ["experiment", "loss", "gradient-flow", "activation-std", "dead-share", "saturated-share", "update-ratio", "weight-norm",
                          "learning-rate", "memorise", "range-test"] and set(made) == set(NAMES)
    assert all(f.unit and f.definition and f.quantity and f.table[1] for f in made.values())
    assert made["update-ratio"].guides == ((1e-3, "guide 1e-3"),) and made["gradient-flow"].log_y


def test_a_report_without_grids_draws_what_its_table_of_layers_holds():
    assert list(figures(STALE)) == ["experiment", "loss", "gradient-flow", "activation-std", "dead-share", "update-ratio"]
    assert figures(NOTHING) == {}


def test_grids_go_through_json_and_old_reports_without_them_are_read(report):
    text = render(report, "json")
    back = json.Report.from_dict(json.loads(text))
    old = {k: v for k, v in standard.loads(text).items() if k != "grids"}
    for curve in old["curves"]:
        del curve["segments"], curve["events"]

    assert render(back, "json") == text and back.curves == report.curves
    assert Report.from_dict(json.loads(standard.dumps(old))).grids == ()


def test_a_layer_named_like_a_number_stays_text():
    named = replace(NOTHING, grids=(Grid("grad_norm", ("NaN", "Infinity"), (0,), ((1.0,), (math.nan,)), seen=(1, 2)),))

    assert json.Report.from_dict(json.loads(render(named, "json"))).grids[0].subjects == ("NaN", "Infinity")


def test_grids_are_thinned_keep_spikes_and_stand_in_the_order_of_the_calls():
    evidence = Evidence()
    for step in range(30_000):
        evidence.add("loss", math.nan if step == 20_001 else 9.0 if step == 17_001 else 1.0, step=step)
    for at in range(300):
        evidence.add("layer", {"kind": "Linear", "in": "", "out": ""}, subject=f"l{at}")
    for at in reversed(range(300)):
        for step in range(400):
            evidence.add("grad_norm", 1.0, subject=f"l{at}.weight", step=step)
    loss, gradient = grids(evidence)

    assert len(loss.steps) <= 3 * BUCKETS and loss.values[0][loss.steps.index(17_001)] == 9.0 and 20_001 in loss.steps
    assert gradient.subjects[:2] == ("l0.weight", "l1.weight") and gradient.seen == (400, 300)
    assert len(gradient.steps) * len(gradient.subjects) <= CELLS and (gradient.steps[0], gradient.steps[-1]) == (0, 399)


def test_a_drawing_on_a_log_axis_leaves_out_what_is_not_positive(report):
    figure = figures(report)["gradient-flow"]
    still = svg.chart(figure.curves, log_y=True, names=figure.ticks)

    assert figure.said.endswith("Exactly 0 at the last step: layer1.weight.")
    assert figure.undrawn == 5 and still.gaps == 5 and [text for _, text in still.x_ticks] == ["layer0.weight", "layer11.weight"]


def test_the_heat_map_shows_what_is_not_finite(report):
    cells = svg.heat(figures(report)["activation-std"].heat).cells

    assert [c[4] for c in cells].count("bad") == 1 and len(cells) == 120


def test_data_in_the_page_cannot_end_its_element():
    text = embedded({"</script>": "<!--<script>&"})

    assert not {"<", ">", "&"} & set(text) and standard.loads(text) == {"</script>": "<!--<script>&"}


def test_the_terminal_draws_the_gradient_by_layer(report):
    stream = io.StringIO()
    show(report, Console(file=stream, width=100), layers=True)

    assert "gradient norm by layer" in stream.getvalue() and "grad_norm (loss per weight), log scale, over layers 0 to 11" in stream.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_each_figure_is_written_for_a_paper(report, name, tmp_path):
    pytest.importorskip("matplotlib")
    figure = report.plot(name, tmp_path / "f.svg")

    assert figure.axes[0].get_title(loc="left") == NAMES[name] and (tmp_path / "f.svg").read_text().count("<path") > 5


def test_hostile_names_are_no_mathematics(tmp_path):
    pytest.importorskip("matplotlib")
    grid = Grid("grad_norm", ("$x", "$\\frac{", "_^"), (0,), ((1.0,), (2.0,), (3.0,)), seen=(1, 3))

    replace(NOTHING, grids=(grid,)).plot("gradient-flow", tmp_path / "f.png")

    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_an_unknown_figure_names_the_nearest_and_a_missing_one_what_there_is(report):
    with pytest.raises(UnknownName, match="nearest: gradient-flow"):
        report.plot("gradient-flo")
    with pytest.raises(NotEnoughEvidence, match="no figure"):
        NOTHING.plot("loss")
    with pytest.raises(BadInput, match=".png, .svg"):
        report.plot("loss", "x.gif")


def test_without_matplotlib_the_error_names_the_extra(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(BadInput, match=r"whyloss\[plot\]"):
        report.plot("loss")


LR = ("set the learning rate near 0.01",)


@pytest.mark.parametrize("cause, line, remedies, changed", [
    ("softmax-before-cross-entropy", "loss = F.cross_entropy(F.softmax(out, dim=1), y)", (), "loss = F.cross_entropy(out, y)"),
    ("softmax-before-cross-entropy", "    return self.fc(x).softmax(dim=-1)", (), "    return self.fc(x)"),
    ("softmax-before-cross-entropy", "model = nn.Sequential(nn.Linear(2, 2), nn.Softmax(dim=1))", (), "model = nn.Sequential(nn.Linear(2, 2))"),
    ("softmax-before-cross-entropy", "    return torch.softmax(self.fc(x), dim=1)", (), "    return self.fc(x)"),
    ("softmax-before-cross-entropy", "    return self.softmax(self.fc3(x))", (), "    return self.fc3(x)"),
    ("softmax-before-cross-entropy", "a, b = x.softmax(1), y.softmax(1)", (), None),
    ("sigmoid-before-bce-with-logits", "p = torch.sigmoid(model(x))", (), "p = model(x)"),
    ("nll-without-log-softmax", "loss = F.nll_loss(out, y)", (), "loss = F.cross_entropy(out, y)"),
    ("bce-on-logits", "loss = nn.BCELoss()(out, y)", (), "loss = nn.BCEWithLogitsLoss()(out, y)"),
    ("loss-reduction-scale", "loss = F.mse_loss(p, y, reduction='sum')", (), "loss = F.mse_loss(p, y, reduction='mean')"),
    ("loss-sign-flipped", "(-loss).backward()", (), "loss.backward()"),
    ("learning-rate-too-high", "opt = SGD(model.parameters(), lr=10)", LR, "opt = SGD(model.parameters(), lr=0.01)"),
    ("learning-rate-too-high", "opt = SGD(model.parameters(), lr=base)", LR, None),
    ("learning-rate-too-high", "opt = SGD([{'params': a, 'lr': 1}, b], lr=1)", (), None),
    ("vanishing-gradients", "loss.backward()", (), None)])
def test_a_mechanical_remedy_is_a_diff_and_any_other_is_none(tmp_path, cause, line, remedies, changed):
    (tmp_path / "t.py").write_text(f"# first\n{line}\n")
    found = diff(Finding(cause, "confirmed", location=Location(str(tmp_path / "t.py"), 2), remedies=remedies))

    assert found == ([("-", 2, line), ("+", 2, changed)] if changed else [])


@pytest.mark.parametrize("cause, shown", [
    ("step-never-called", [(" ", 3, "    loss.backward()"), ("+", "", "    opt.step()")]),
    ("gradients-not-cleared", [("+", "", "    opt.zero_grad()"), (" ", 3, "    loss.backward()")])])
def test_a_missing_call_is_shown_beside_the_backward(tmp_path, cause, shown):
    (tmp_path / "t.py").write_text("opt = torch.optim.Adam(p)\nfor x in y:\n    loss.backward()\n")
    where = Location(str(tmp_path / "t.py"), 3)

    assert diff(Finding(cause, "proven", location=where)) == shown
    assert diff(Finding(cause, "suspected", location=where)) == []
    (tmp_path / "t.py").write_text("a = torch.optim.Adam(p)\nb = torch.optim.SGD(p)\n    loss.backward()\n")
    assert diff(Finding(cause, "proven", location=where)) == []


def test_a_rate_that_is_a_constant_is_changed_where_it_is_set(tmp_path):
    (tmp_path / "t.py").write_text("RATE = 1e-7  # slow\nopt = SGD(model.parameters(), lr=RATE)\n")
    finding = Finding("learning-rate-too-low", "confirmed", location=Location(str(tmp_path / "t.py"), 2), remedies=LR)

    assert diff(finding) == [("-", 1, "RATE = 1e-7  # slow"), ("+", 1, "RATE = 0.01  # slow")]
    (tmp_path / "t.py").write_text("RATE = 1e-7\nopt = SGD(model.parameters(), lr=RATE)\nRATE = 1\n")
    assert diff(finding) == []
