"""Reports with numbers for every figure: a small one, one whose names are hostile, and one of 1000 layers over 100 000 steps."""

import math
from dataclasses import replace

from whyloss.diagnosis.grids import grids
from whyloss.evidence import Evidence
from whyloss.finding import Finding, Location, Trial
from whyloss.report import Curve, Layer, PathStep, Report

EVIL = "</script><script>alert(1)</script>"


def evidence_of(layers: int, sampled: range, steps: int, name: str = "layer{}") -> Evidence:
    """A training whose gradient shrinks towards the input; one activation is NaN at the end, one layer gets no gradient at all."""
    evidence = Evidence()
    for step in range(steps):
        evidence.add("loss", 2.3 * math.exp(-step / steps) + 0.1 * math.sin(step), step=step)
        evidence.add("learning_rate", 0.1 * (1 - step / steps), subject="SGD.group0", step=step)
    for at in range(layers):
        module = name.format(at)
        evidence.add("layer", {"kind": "Linear", "in": "", "out": ""}, subject=module)
        for step in sampled:
            gradient = 0.0 if at == 1 else 10.0 ** (-6 + 6 * at / layers) * (1 + step / steps)
            evidence.add_row(step, {"grad_norm": gradient, "update_ratio": gradient / 10, "weight_norm": 2.0 + at / layers},
                             subject=f"{module}.weight")
            bad = at == 2 and step == sampled[-1]
            evidence.add_row(step, {"activation_std": math.nan if bad else 1.0 + math.sin(at + step / steps), "dead_share": at / layers,
                                    "saturated_share": 0.0}, subject=module)
    for step in range(60):
        evidence.add("loss", 2.3, step=step, run="overfit/control")
        evidence.add("loss", 2.3 * 0.9 ** step, step=step, run="overfit/changed")
        evidence.add("loss", 2.3 - math.sin(step / 20), step=step, run="lr-range")
        evidence.add("sweep_rate", 1e-7 * 1.3 ** step, step=step, run="lr-range")
    for key, rate in (("at_minimum", 3e-4), ("steepest", 1e-6), ("suggested", 3e-5)):
        evidence.add(key, rate, run="lr-range")
    return evidence


def report_of(evidence: Evidence, steps: int, subject: str, location: Location | None = None) -> Report:
    trial = Trial("fresh-init", 2.31, 0.004, 60, True, "ReLU and Kaiming initialisation",
                  {"before": [2.31] * 60, "after": [2.31 * 0.9 ** i for i in range(60)]})
    finding = Finding("vanishing-gradients", "confirmed", subject=subject, step=0, location=location, measured=f"gradient 1e-6 at {subject}",
                      trial=trial)
    names = list(evidence.by_subject("layer"))
    return Report(
        "fault", (finding,),
        (Curve("loss", "loss", "flat-from-start", "2.3 throughout", turning_step=steps // 2, steps=(0, steps - 1), values=(2.3, 2.2),
               segments=((0, steps // 2, "falling"), (steps // 2, steps - 1, "flat")), events=(steps // 3,)),),
        path=(PathStep("record", "finding", "flat"), PathStep("memorise", "healthy", "10 examples memorised")),
        summary=f"The gradient vanishes at {subject}",
        layers=tuple(Layer(name, "Linear", values={"activation_std": [1.0, 1.1]}) for name in names), grids=grids(evidence), seconds=1.0)


def small() -> Report:
    return report_of(evidence_of(12, range(0, 100, 10), 100), 100, "layer0.weight")


def hostile() -> Report:
    report = report_of(evidence_of(4, range(0, 50, 10), 50, EVIL + "{}"), 50, EVIL, Location(f"{EVIL}.py", 3))
    return replace(report, curves=(replace(report.curves[0], segments=((0, 25, EVIL), (25, 49, "flat"))),))


def huge() -> Report:
    return report_of(evidence_of(1000, range(0, 100_000, 1000), 100_000, "encoder.blocks.{}.mlp"), 100_000, "encoder.blocks.0.mlp.weight")
