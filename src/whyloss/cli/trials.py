"""`whyloss try NAME script.py`: one experiment on the captured step, written for render/trial to show."""

import math
from pathlib import Path

from whyloss.laboratory.names import EXPERIMENTS
from whyloss.render.json import dumps

LEARNS = 0.1      # share of the first loss that the best rate of a sweep must take off
DECAY = 0.85      # a lowered rate must end below this share of the unchanged branch
# Told in words already, or too long for a row.
_SKIP = {"experiment", "change", "control", "changed", "rows", "arms", "rates", "losses", "smooth", "steps", "shown",
         "holds", "before", "after", "blocked", "factor", "passed", "own_passed"}
# Without a suspicion from the checks they would change what nobody doubts.
_NEEDS_SUSPICION = {"logits-to-loss": "no function was found between the last layer and the loss that does not belong",
                    "log-softmax-to-loss": "no loss was seen that wants log-probabilities and gets something else",
                    "right-tensor": "no unused output of the model was found",
                    "same-shape": "no prediction and target of different shapes were seen"}


def run_trial(laboratory, name: str, session: Path) -> None:
    """Run the experiment and leave trial.json in the session folder, also when it was not possible."""
    try:
        result = trial(laboratory, name)
    except Exception as error:  # an error of ours is told, it does not end the script
        result = _impossible(name, f"an error of whyloss: {type(error).__name__}: {error}")
    (session / "trial.json").write_text(dumps(result), encoding="utf-8")


def trial(laboratory, name: str) -> dict:
    """The experiment's result in the shape that render/trial shows."""
    suspicion = suspected(laboratory.evidence, name)
    if suspicion is None and name in _NEEDS_SUSPICION:
        return _impossible(name, _NEEDS_SUSPICION[name])
    asks = {"steps": 240} if name == "overfit" else {}
    asks |= suspicion or {}
    if name == "mean-reduction" and "size" not in asks:
        asks["size"] = _samples(laboratory)
    return describe(laboratory, name, laboratory.run(name, asks))


def suspected(evidence, name: str) -> dict | None:
    """What the checks would ask of this experiment; None where no check suspects a cause that it decides."""
    from whyloss.causes import CAUSES
    from whyloss.diagnosis.diagnose import diagnose

    for finding in diagnose(evidence, None).findings:
        known = CAUSES.get(finding.cause)
        if known is not None and known.prediction is not None and known.prediction.experiment == name:
            return {key: value for key, value in finding.asks.items() if key not in ("always", "keep")}
    return None


def _samples(laboratory) -> int:
    from whyloss.laboratory.experiments.overfit import batch_size

    return next((batch_size(tape) or 1 for tape in laboratory.program.whole_tapes().values()), 1)


def _impossible(name: str, reason: str) -> dict:
    return {"experiment": name, "title": EXPERIMENTS.get(name, name), "outcome": "not possible", "rows": [],
            "curves": {}, "summary": f"Not possible here: {reason}.", "x_label": "steps",
            "y_label": "loss", "log_x": False}


def describe(laboratory, name: str, outcome: dict | None) -> dict:
    """Numbers, curves and one sentence of an outcome; None: why there is none."""
    if outcome is None:
        reason = laboratory.failures.get(name) or laboratory.problem or "the experiment gave no result"
        return _impossible(name, reason.rstrip("."))
    result = {"experiment": name, "title": EXPERIMENTS.get(name, name), "x_label": "steps", "y_label": "loss",
              "log_x": False, "rows": _rows(outcome), "curves": _curves(outcome)}
    say = _SAID.get(name) or (_paired if "control" in outcome and "changed" in outcome else _other)
    return {**result, **say(laboratory, outcome)}


def _rows(outcome: dict) -> list[dict]:
    facts = [{"label": key.replace("_", " "), "value": _text(value)} for key, value in outcome.items()
             if key not in _SKIP and isinstance(value, (int, float, str, bool))]
    return list(outcome.get("rows") or []) + ([] if outcome.get("rows") else facts)


def _curves(outcome: dict) -> dict:
    """One curve an arm; with its end, so that the label says the number."""
    from whyloss.laboratory.lab import thin
    from whyloss.render.words import number

    arms = outcome.get("arms") or {"unchanged": outcome.get("control"), "changed": outcome.get("changed")}
    curves = {}
    for label, losses in arms.items():
        if losses:
            kept = thin(list(losses))
            stride = (len(losses) - 1) / max(1, len(kept) - 1)
            curves[f"{label} {number(_end(losses))}"] = {"x": [round(i * stride) for i in range(len(kept))], "y": kept}
    return curves


def _end(losses) -> float:
    import numpy

    from whyloss.cause import tail

    return tail(numpy.array(losses, dtype=float))


def _text(value) -> str:
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "unknown"}[value]
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else f"{value:.4g}"


# ---------------------------------------------------------------------- what came of it
def _paired(laboratory, outcome: dict) -> dict:
    from whyloss.cause import remedy_wins

    name = outcome["experiment"]
    helps = remedy_wins(laboratory.evidence, name)
    before, after = _end(outcome["control"]), _end(outcome["changed"])
    steps = max(len(outcome["control"]), len(outcome["changed"]))
    told = "this change helps" if helps else "this change makes no clear difference for the better"
    return {"outcome": "helps" if helps else "no better",
            "summary": f"{_sentence(outcome['change'])}. After {steps} steps the loss is {_loss(before)} unchanged and "
                       f"{_loss(after)} changed: {told}. Same start, same batches, one change."}


def _loss(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "not finite"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


def _overfit(laboratory, outcome: dict) -> dict:
    own, passed = outcome["own_passed"], outcome["passed"]
    if passed and own:
        said = "the model, the loss and your own step can learn"
    elif passed:
        said = ("model and loss can learn, your own optimizer step does not get there: look at the optimizer and its "
                "settings")
    else:
        said = "the fault is in the model, the loss or the data, not in the learning rate"
    word = "memorised" if passed else "not memorised"
    went = f"{outcome['first']:.4g} to {outcome['last']:.4g}"
    rows = [{"label": "fresh Adam", "value": went, "note": f"rate {outcome['rate']:g}"},
            {"label": "your own step", "value": _text(outcome["own_last"]), "note": "at its lowest"},
            {"label": "floor", "value": _text(outcome["floor"]), "note": "free outputs in place of the network"},
            {"label": "best constant", "value": _text(outcome["constant"]), "note": "the same guess for every example"}]
    if outcome["accuracy"] is not None:
        rows.append({"label": "right answers", "value": f"{outcome['accuracy']:.0%}", "note": "fresh Adam, at the end"})
    curves = _curves({"arms": {"your step": outcome["control"], "fresh Adam": outcome["changed"]}})
    return {"outcome": word, "rows": rows, "curves": curves,
            "summary": f"{outcome['examples']} examples {word}: {said}."}


def _range(laboratory, outcome: dict) -> dict:
    learns = outcome["drop"] >= LEARNS
    rows = [{"label": "lowest loss at", "value": f"{outcome['at_minimum']:.1e}", "note": "already close to unstable"},
            {"label": "a tenth of it", "value": f"{outcome['suggested']:.1e}", "note": "just before the minimum"},
            {"label": "interval", "value": f"{outcome['low']:.1e} to {outcome['high']:.1e}"},
            {"label": "steepest fall at", "value": f"{outcome['steepest']:.1e}"},
            {"label": "valley", "value": f"{outcome['valley']:.1e}"}]
    said = (f"Try {outcome['suggested']:.1e}, between {outcome['low']:.1e} and {outcome['high']:.1e}." if learns else
            f"No learning rate lowers the loss by {LEARNS:.0%}: the rate is not what holds this training back.")
    used = [v for series in laboratory.evidence.by_subject("learning_rate").values() for v in series.values]
    if used:
        rows.append({"label": "your rate", "value": f"{max(used):.1e}"})
    return {"outcome": "found" if learns else "no rate learns", "summary": said, "rows": rows if learns else rows[-1:],
            "log_x": True, "x_label": "learning rate", "curves": _sweep_curve(outcome["rates"], outcome["losses"])}


def _sweep_curve(rates: list, losses: list) -> dict:
    """The curve until it leaves twice its start for good: what follows would flatten all the rest."""
    limit = losses[0] + abs(losses[0])
    last = max((at for at, loss in enumerate(losses) if loss <= limit), default=len(losses) - 1)
    kept = [(rate, loss) for rate, loss in zip(rates[: last + 2], losses[: last + 2]) if loss <= limit]
    return {"loss": {"x": [rate for rate, _ in kept], "y": [loss for _, loss in kept]}}


def _decades(laboratory, outcome: dict) -> dict:
    from whyloss.cause import remedy_wins

    helps = remedy_wins(laboratory.evidence, "lr-decades")
    label = outcome["change"].split(" instead")[0]
    said = f"The {label} ends clearly lower than yours." if helps else \
        "No other decade ends clearly lower than yours: the rate is not what holds this training back."
    order = sorted(outcome["arms"], key=lambda arm: float(arm.split()[-1]))
    return {"outcome": "helps" if helps else "no better", "summary": said,
            "curves": _curves({"arms": {arm: outcome["arms"][arm] for arm in order}})}


def _decay(laboratory, outcome: dict) -> dict:
    falls = outcome["ratio"] < DECAY
    said = "a fresh drop: the rate was too high for this point of the training" if falls else \
        "no fresh drop: the rate does not hold it back here"
    return {"outcome": "helps" if falls else "no better",
            "summary": f"{_sentence(outcome['change'])}: {said} (loss {_end(outcome['changed']):.4g} lowered, "
                       f"{_end(outcome['control']):.4g} unchanged, the same next batches)."}


def _ladder(laboratory, outcome: dict) -> dict:
    return {"outcome": "blocked" if outcome.get("blocked") else "climbs", "summary": f"{_sentence(outcome['change'])}."}


def _floor(laboratory, outcome: dict) -> dict:
    rows = [{"label": "floor", "value": _text(outcome["after"]), "note": "no network can get lower with this loss"},
            {"label": "best constant", "value": _text(outcome["before"]), "note": "for a network blind to its input"}]
    return {"outcome": "done", "rows": rows,
            "summary": "Free outputs were trained in place of the network, on the first batch."}


def _non_finite(laboratory, outcome: dict) -> dict:
    where = f" at {outcome['place']}" if outcome.get("place") else ""
    made = outcome.get("operation") or outcome.get("name") or "an operation"
    rows = [{**row, "label": row["label"].replace("_", " ")} for row in outcome.get("rows", [])
            if row["label"] not in ("chain", "experiment", "root", "kind")]
    return {"outcome": "found", "rows": rows, "curves": {},
            "summary": f"The first value that is not finite and reaches the loss is made by {made}{where}."}


_MEANINGS = {("batch-dependence", True): "a sample's output depends on other samples of its batch",
             ("batch-dependence", False): "each sample stays itself",
             ("input-dependence", True): "the output does not depend on the input",
             ("input-dependence", False): "the output depends on the input",
             ("label-permutation", True): "the labels are as unrelated to the inputs as permuted ones",
             ("label-permutation", False): "the labels belong to the inputs"}


def _other(laboratory, outcome: dict) -> dict:
    """Experiments that show one fact, or only replay a step."""
    change = _sentence(outcome.get("change", ""))
    if "shown" in outcome:
        shown = bool(outcome["shown"])
        meaning = _MEANINGS.get((outcome["experiment"], shown), "shown" if shown else "not shown")
        return {"outcome": "finding" if shown else "healthy", "summary": f"{change}: {meaning}."}
    if "holds" in outcome:
        fine = bool(outcome["holds"])
        return {"outcome": "helps" if fine else "no better", "curves": {},
                "summary": f"{change}: loss {_loss(outcome['after'])} instead of {_loss(outcome['before'])}, gradients "
                           f"{'finite' if fine else 'still not finite'}."}
    return {"outcome": "done", "summary": f"{change}."}


_SAID = {"overfit": _overfit, "lr-range": _range, "lr-decades": _decades, "lr-decay": _decay, "ladder": _ladder,
         "floor": _floor, "first-non-finite": _non_finite}
