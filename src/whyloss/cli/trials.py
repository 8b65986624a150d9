"""`whyloss try NAME script.py`: one experiment on the captured step, written for render/trial to show."""

import math
from pathlib import Path

from whyloss.laboratory.names import EXPERIMENTS
from whyloss.render.json import dumps

_SKIP = {"experiment", "change", "control", "changed", "rows", "arms", "rates", "losses", "smooth", "steps"}


def run_trial(laboratory, name: str, session: Path) -> None:
    """Run the experiment and leave trial.json in the session folder, also when it was not possible."""
    if name == "recorded-loop":
        outcome = {"experiment": name, "change": "", "control": laboratory.control()}
    else:
        outcome = laboratory.run(name, {})
    (session / "trial.json").write_text(dumps(describe(laboratory, name, outcome)), encoding="utf-8")


def describe(laboratory, name: str, outcome: dict | None) -> dict:
    """The result in the shape that render/trial shows."""
    result = {"experiment": name, "title": EXPERIMENTS.get(name, name), "outcome": "not possible", "rows": [], "curves": {},
              "x_label": "step", "y_label": "loss", "log_x": False}
    if outcome is None:
        return {**result, "summary": laboratory.failures.get(name) or laboratory.problem or "not possible"}
    if "rates" in outcome and "losses" in outcome:
        return {**result, **_sweep(outcome)}
    if "rows" in outcome:
        result["rows"] = outcome["rows"]
    arms = outcome.get("arms") or {"unchanged": outcome.get("control"), "changed": outcome.get("changed")}
    result["curves"] = {label: {"x": list(range(len(losses))), "y": list(losses)} for label, losses in arms.items() if losses}
    facts = [{"label": key.replace("_", " "), "value": _text(value)} for key, value in outcome.items() if key not in _SKIP and _plain(value)]
    return {**result, "rows": result["rows"] + facts, **_verdict(laboratory, name, outcome)}


def _verdict(laboratory, name: str, outcome: dict) -> dict:
    if name == "overfit":
        word = "memorised" if outcome["passed"] else "not memorised"
        own = "" if outcome["own_passed"] else "; your own optimizer step does not get there"
        return {"outcome": word, "summary": f"{outcome['examples']} examples {word}: {outcome['first']:.4g} to {outcome['last']:.4g}{own}"}
    if "shown" in outcome and "control" not in outcome:
        return {"outcome": "shown" if outcome["shown"] else "not shown", "summary": outcome["change"]}
    if "control" in outcome and "changed" in outcome:
        from whyloss.cause import remedy_wins
        holds = remedy_wins(laboratory.evidence, name)
        trial = laboratory.trial(outcome, holds)
        return {"outcome": "better" if holds else "no better",
                "summary": f"{outcome['change']}: {trial.after:.4g} against {trial.before:.4g} unchanged, after {trial.steps} steps"}
    return {"outcome": "done", "summary": outcome.get("change", "")}


def _sweep(outcome: dict) -> dict:
    found = outcome["drop"] >= 0.1
    rows = [{"label": label, "value": f"{outcome[key]:.2e}"} for label, key in (
        ("a tenth of the minimum", "suggested"), ("interval from", "low"), ("interval to", "high"), ("steepest", "steepest"),
        ("valley", "valley"), ("lowest loss at", "at_minimum"))]
    text = (f"try {outcome['suggested']:.1e}, between {outcome['low']:.1e} and {outcome['high']:.1e}" if found
            else "no learning rate lowers the loss by a tenth: the rate is not what holds this training back")
    return {"outcome": "found" if found else "no rate learns", "summary": text, "rows": rows, "log_x": True, "x_label": "learning rate",
            "curves": {"loss": {"x": outcome["rates"], "y": outcome["losses"]}}}


def _plain(value) -> bool:
    return value is None or isinstance(value, (int, float, str, bool))


def _text(value) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return {True: "yes", False: "no", None: "unknown"}.get(value, value) if not isinstance(value, str) else value
    return f"{value:.4g}" if math.isfinite(value) else str(value)
