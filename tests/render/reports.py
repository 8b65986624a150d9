"""Hand-written reports that between them use every field; expected renderings lie in `expected/`."""

import math
from pathlib import Path

from whyloss.check import Examination
from whyloss.finding import Finding, Location, Trial
from whyloss.report import Curve, Layer, PathStep, Report

SCRIPT = str(Path(__file__).parent / "train.py")
VERSIONS = {"whyloss": "0.1.0", "torch": "2.13.0", "python": "3.11.9"}


def falling(steps: int, end: float) -> list[float]:
    return [round(end + (2.31 - end) * math.exp(-i / 12), 4) for i in range(steps)]


def flat(steps: int) -> list[float]:
    return [round(2.31 + 0.01 * math.sin(i), 4) for i in range(steps)]


STALE = Report(
    verdict="fault",
    summary="The optimizer updates a model that is no longer trained.",
    findings=(
        Finding("stale-optimizer-parameters", "confirmed", subject="optimizer SGD", step=0,
                location=Location("train.py", 12),
                measured="0 of 4 parameters that get gradients are in the optimizer; no weight moved in 60 steps",
                expected="all 4 of them", message="The model was built again after the optimizer was created, so every "
                "step moves the weights of the first model, which nobody uses.",
                remedies=("create the optimizer after line 11, from the model that is trained",),
                explains=("flat-at-baseline", "parameters-unchanged"), cites=("optimizer_holds", "weight_change"),
                check="stale-optimizer-parameters",
                trial=Trial("fresh-optimizer", 2.31, 0.0041, 60, True, "a new SGD over the parameters in use",
                            {"before": flat(60), "after": falling(60, 0.0041)})),
        Finding("learning-rate-too-high", "suspected", subject="group 0", measured="lr 10", check="update-too-large"),
        Finding("class-imbalance", "note", message="class 3 makes up 31 % of the labels", check="class-imbalance"),
    ),
    curves=(Curve("loss", "loss", "flat-at-baseline", "2.303 = ln 10 from step 0 to 60", steps=tuple(range(60)),
                  values=tuple(flat(60))),
            Curve("accuracy", "accuracy", "flat-from-start", "", also=("too-short-to-tell",),
                  values=(0.1, 0.12, math.nan, 0.11))),
    examinations=(Examination("stale-optimizer-parameters", "main", "finding", "wiring"),
                  Examination("update-too-large", "main", "finding", "learning-rate"),
                  Examination("gradients-not-cleared", "main", "healthy", "wiring"),
                  Examination("running-statistics-off", "main", "unexamined", "data", reason="no evaluation was seen")),
    path=(PathStep("record", "finding", "loss flat at 2.303"), PathStep("wiring", "finding", "optimizer holds 0 of 4"),
          PathStep("start", "unexamined", "the walk ended before")),
    not_examined=("generalisation: no validation loss was seen",),
    layers=(Layer("layers.0", "Linear", "64x64", "64x32", {"activation_std": [0.52, 0.53], "grad_norm": [0.2, 0.21],
                                                           "update_ratio": [0.0, 0.0], "dead_share": None}),
            Layer("layers.1", "ReLU", "64x32", "64x32", {"activation_std": [0.31, 0.3], "dead_share": [0.05, 0.5]})),
    budget={"seconds": 60}, seconds=3.14, versions=VERSIONS, script="train.py")

HEALTHY = Report(
    verdict="healthy", summary="The loss fell from 2.31 to 0.21 and is still falling.",
    curves=(Curve("loss", "loss", "still-improving", "2.31 to 0.21", values=tuple(falling(80, 0.21))),),
    path=(PathStep("record", "healthy", "the loss falls"), PathStep("wiring", "healthy"),
          PathStep("generalisation", "unexamined", "no validation loss was seen")),
    not_examined=("overfitting: no validation loss was seen",), seconds=1.0, versions=VERSIONS)

SUSPECTED = Report(
    verdict="undetermined", summary="One suspicion; the experiment was not possible.",
    findings=(Finding("dead-relus", "suspected", subject="fc1", step=60,
                      measured="48 % of units give 0 for every input",
                      expected="less than 40 %", check="dead-relus"),),
    path=(PathStep("record", "healthy"), PathStep("initialisation", "finding", "fc1 is half dead")),
    seconds=0.5, versions=VERSIONS)

NOTHING = Report(verdict="undetermined", summary="Nothing was watched.")

HOSTILE = Report(
    verdict="fault",
    findings=(Finding("log-of-zero", "proven", subject="[bold]layer[/bold]\x1b[31m<script>alert(1)</script>|`x`",
                      location=Location("no/such [red]file.py", 3), step=7,
                      measured="loss NaN ::error:: %0A\n& <b>bold</b> ]]> \u202eevil", expected=":smiley: {{ 7*7 }}",
                      check="first-non-finite",
                      trial=Trial("guard-operation", math.nan, 0.25, 9, True, "clamp", {
                          "before": [1.0, 2.0, math.nan, math.inf], "after": [1.0, 0.8, 0.5, 0.25]})),),
    curves=(Curve("</style><img src=x>", "loss", "non-finite", first_bad_step=3, steps=(0, 1, 2, 3),
                  values=(1.0, 2.0, math.nan, -math.inf)),),
    seconds=0.1)

REPORTS = {"stale": STALE, "healthy": HEALTHY, "suspected": SUSPECTED, "nothing": NOTHING, "hostile": HOSTILE}
