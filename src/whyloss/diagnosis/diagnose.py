"""The walk through the fixed order: judge each stage's checks, let the laboratory decide suspicions, stop at a sure cause.

diagnose() is handed a laboratory, or none; it never imports one, and needs no torch.
"""

import sys
import time
from dataclasses import replace

from whyloss import __version__
from whyloss.causes import CAUSES
from whyloss.causes.predictions import shown
from whyloss.check import Examination
from whyloss.checks import ALL
from whyloss.diagnosis.baselines import the_number
from whyloss.diagnosis.examine import examine
from whyloss.diagnosis.grids import grids
from whyloss.diagnosis.order import BY_NAME, STAGES
from whyloss.diagnosis.origin import at_its_origin
from whyloss.diagnosis.principal import ordered, rank
from whyloss.diagnosis.progress import LEARNED, assess, read_curves, symptoms
from whyloss.evidence import Evidence
from whyloss.finding import Finding, Location
from whyloss.report import Layer, PathStep, Report

# A remedy of these kinds improves many healthy runs too; it is tried only where there is a symptom to explain.
NEEDS_SYMPTOM = {"rate", "capacity", "init", "activation"}


WELL = 0.8   # of the way to the floor: a training that came so far needs no remedy
SECOND = ("start", "learning-rate", "initialisation", "data", "shapes")  # where a second fault of its own is looked for
MUCH = 0.3   # a remedy for a training that learned must end at less than this share of the unchanged run's loss


class Walk:
    """One diagnosis in progress."""

    def __init__(self, evidence: Evidence, laboratory, *, ignore=(), only=(), experiments=True):
        self.evidence, self.laboratory = evidence, laboratory if experiments else None
        self.ignore, self.only = set(ignore), set(only)
        self.findings: list[Finding] = []
        self.examinations: list[Examination] = []
        self.path: list[PathStep] = []
        self.visited: set[str] = set()
        self.interrupted = self.on_top = False
        self.principal: str | None = None
        progress = assess(evidence)
        if progress is not None:
            evidence.add("learned", progress)
        self.curves = read_curves(evidence)
        self.symptoms = symptoms(evidence, self.curves)
        if self.symptoms:
            evidence.add("symptoms", list(self.symptoms))

    # ------------------------------------------------------------------ the walk
    def run(self) -> None:
        stage = STAGES[0].name
        try:
            while stage != "end":
                stage = self._visit(stage)
                if stage == "end" and not self._sure():
                    stage = next((s.name for s in STAGES if s.name not in self.visited), "end")
        except KeyboardInterrupt:
            self.interrupted = True

    def further(self) -> None:
        """A second fault beside the sure one: facts of stages not walked; suspicions, tried on top of the first repair.

        Only where the repair alone does not make the copy learn; what gradients, numbers and generalisation show is mostly
        a consequence of the first fault and is not read again.
        """
        first = next(iter(ordered([f for f in self.findings if f.sure])), None)
        if first is None or self.interrupted:
            return
        fact = self.evidence.fact("learned")
        repaired = first.trial is not None and not self._is_rate(first) and fact is not None and self.laboratory is not None and \
            fact["floor"] >= 0 and _way(fact, first.trial.after) < LEARNED and self.laboratory.adopt(first.trial.experiment)
        waiting = [f for f in self.findings if f.status == "suspected" and f.cause != first.cause]
        for stage in (BY_NAME[name] for name in SECOND if name not in self.visited):
            here = [examine(kind(), self.evidence) for kind in ALL if kind.stage == stage.name]
            self.examinations += here
            waiting += self._wanted(here)
        known, self.on_top, self.principal = {f.cause for f in self.findings if f.sure}, True, first.cause
        self.findings = [f for f in self.findings if f.status != "suspected"]
        for finding in waiting:
            exact = getattr(CAUSES[finding.cause].prediction, "holds", None) is shown
            if finding.cause in known or finding.status == "note" or finding.status == "suspected" and not (repaired or exact):
                continue
            decided = self._decided(finding) if repaired or exact else finding
            if decided is not None and decided.sure:
                self.findings.append(decided)
                known.add(decided.cause)

    def _sure(self) -> bool:
        return any(f.sure for f in self.findings)

    def _visit(self, name: str) -> str:
        stage = BY_NAME[name]
        self.visited.add(name)
        if name == "memorise":
            self._experiment("overfit", {})
        here = [examine(kind(), self.evidence) for kind in ALL if kind.stage == name]
        self.examinations += here
        found = [self._decided(f) for f in self._wanted(here)]
        self.findings += [f for f in found if f is not None]
        serious = [f for f in found if f is not None and f.status != "note"]
        sure = ordered([f for f in serious if f.sure])
        judged = [e for e in here if e.outcome != "unexamined"]
        outcome = "finding" if serious else "healthy" if judged else "unexamined"
        detail = ", ".join(f"{f.cause} ({f.status})" for f in ordered(serious)[:3]) if serious else \
            (f"{len(judged)} of {len(here)} checks examined" if judged else (here[0].reason or "no material") if here else "no check")
        if name == "memorise":
            fact = self.evidence.fact("memorised")
            outcome, detail = ("healthy" if fact["passed"] else "finding", self._memorise_detail()) if fact else (outcome, detail)
        if outcome == "unexamined" and here and all("'symptoms'" in (e.reason or "") for e in here):
            outcome, detail = "healthy", "the training learns: nothing to explain"
        if name == "record":
            outcome, detail = self._record_detail(outcome, detail)
        if name == "ranks" and outcome == "unexamined":
            detail = self._ranks_detail(detail)
        self.path.append(PathStep(name, outcome, detail))
        if sure and not self._rivals_ahead(sure[0]):
            return "end"
        following = stage.on_finding if serious and stage.on_finding != "end" else stage.on_healthy if judged else stage.on_unexamined
        if name == "memorise":
            following = self._after_memorise()
        while following != "end" and following in self.visited:
            following = BY_NAME[following].on_healthy
        return following

    def _record_detail(self, outcome: str, detail: str) -> tuple[str, str]:
        main = next((c for c in self.curves if c.quantity == "loss"), None)
        if main is None:
            return "unexamined", "no loss was seen at a backward()"
        return ("finding" if self.symptoms else "healthy"), f"{main.label}: {main.detail}"

    def _ranks_detail(self, detail: str) -> str:
        heard = self.evidence.fact("ranks_heard")
        return "one process" if heard is None else detail if heard["heard"] > 1 else f"{heard['heard']} of {heard['world']} ranks left evidence"

    def _memorise_detail(self) -> str:
        fact = self.evidence.fact("memorised")
        if not fact:
            return ""
        got = "memorised" if fact["passed"] else "not memorised"
        last = f"{fact['first']:.3g} to {fact['last']:.3g}" if fact["first"] is not None else ""
        own = "" if fact["own_passed"] == fact["passed"] else "; your own optimizer step did not" if fact["passed"] else ""
        return f"{fact['examples']} examples {got} ({last}){own}"

    def _after_memorise(self) -> str:
        """Mechanics at fault: skip the learning rate for now. Own step at fault, ladder passes: the rate is next."""
        fact = self.evidence.fact("memorised")
        return "initialisation" if fact and not fact["passed"] else "learning-rate"

    def _share(self) -> float:
        return (self.evidence.fact("learned") or {}).get("share", 1.0)

    def _rivals_ahead(self, finding: Finding) -> bool:
        """A better learning rate helps many sick trainings; the states before step 0 and the gradients are heard first."""
        return CAUSES[finding.cause].family == "rate" and finding.status == "confirmed" and not {"initialisation", "gradients"} <= self.visited

    # ------------------------------------------------------------------ findings
    def _wanted(self, examinations) -> list[Finding]:
        found = [f for e in examinations for f in e.findings]
        found = [f for f in found if f.cause not in self.ignore and (not self.only or f.cause in self.only)]
        return sorted(found, key=rank)

    def _decided(self, finding: Finding) -> Finding | None:
        """A suspicion after its experiment; a proof with the experiment's numbers beside it."""
        cause = CAUSES.get(finding.cause)
        if finding.status == "note" or cause is None:
            return finding
        if not finding.remedies:
            finding = replace(finding, remedies=cause.remedies[:2])
        finding = replace(finding, explains=tuple(dict.fromkeys((*finding.explains, *self.symptoms))))
        rivals = [f for f in self.findings if f.sure] if not self.on_top else []
        if finding.status == "suspected" and rivals and not all(self._is_rate(f) for f in rivals):
            return None if finding.cause in {f.cause for f in rivals} else finding
        unneeded = finding.status == "suspected" and cause.family in NEEDS_SYMPTOM and not self.symptoms
        if unneeded and (cause.family == "rate" or self._share() > WELL):
            return None  # the training learned: a threshold alone is no suspicion
        if cause.prediction is None:
            return finding
        if finding.asks.get("unseen") and self.laboratory is None:
            return None
        asks = {k: v for k, v in finding.asks.items() if k not in ("always", "unseen", "keep")}
        outcome = self._experiment(cause.prediction.experiment, asks)
        if outcome is None:
            return None if finding.asks.get("unseen") else finding  # "unseen": nothing but the experiment speaks for it
        holds = bool(cause.prediction.holds(self.evidence, cause.prediction.experiment))
        trial = self.laboratory.trial(outcome, holds)
        if unneeded and not trial.after < MUCH * trial.before:
            return None
        if finding.status == "proven":
            return replace(finding, trial=trial)
        if holds:
            return self._with_what_was_found(finding.with_trial(trial, "confirmed"), outcome)
        return None if not finding.asks.get("keep") else replace(finding, trial=trial)

    @staticmethod
    def _is_rate(finding: Finding) -> bool:
        return CAUSES[finding.cause].family == "rate" and finding.status == "confirmed"

    def _with_what_was_found(self, finding: Finding, outcome: dict) -> Finding:
        """What the experiment found out: the rate that works, the module where samples first mix."""
        if finding.subject is None and outcome.get("first_module"):
            finding = replace(finding, subject=outcome["first_module"])
        finding = replace(finding, subject=outcome.get("subject", finding.subject), measured=outcome.get("said", finding.measured))
        file, _, line = (outcome.get("place") or "").rpartition(":")
        if file and finding.asks.get("unseen"):  # only the experiment saw the place
            finding = replace(finding, location=Location(file, int(line)))
        rate = outcome.get("rate")
        return replace(finding, remedies=(f"set the learning rate near {rate:g}", *finding.remedies[:1])) if rate else finding

    def _experiment(self, name: str, asks: dict) -> dict | None:
        if self.laboratory is None:
            return None
        return self.laboratory.run(name, asks)


def diagnose(evidence: Evidence, laboratory=None, *, ignore=(), only=(), experiments: bool = True, script: str | None = None) -> Report:
    """Walk the fixed order over the evidence and report. Never raises because of the training's faults."""
    began = time.monotonic()
    walk = Walk(evidence, laboratory, ignore=ignore, only=only, experiments=experiments)
    walk.run()
    walk.findings = settle_rivals(ordered(walk.findings))
    walk.further()
    findings = [at_its_origin(f, evidence) for f in _principal_first(ordered(walk.findings), walk.principal)]
    verdict, summary = _verdict(walk, findings)
    number = the_number(evidence) if verdict != "healthy" else ""
    summary = summary.rstrip(".") + number if number else summary
    spent = laboratory.spent if laboratory is not None else 0.0
    versions = {"whyloss": __version__, "python": sys.version.split()[0]}
    if "main" in evidence.runs and "torch" in evidence.runs["main"].settings:
        versions["torch"] = evidence.runs["main"].settings["torch"]
    return Report(verdict, tuple(findings), tuple(walk.curves), tuple(walk.examinations), tuple(walk.path), tuple(evidence.runs.values()),
                  layers(evidence), summary, _not_examined(walk), {"experiments_seconds": round(spent, 2)},
                  round(time.monotonic() - began, 2), versions, script, grids(evidence))


def _principal_first(findings: list[Finding], principal: str | None) -> list[Finding]:
    """What was found on top of the first repair stands behind it, unless it is a fact of the loop, the loss or the data that comes earlier."""
    first = next((f for f in findings if f.cause == principal and f.sure), None)
    if first is None or findings[0].status == "proven" and CAUSES[findings[0].cause].family in ("loop", "graph", "loss", "data"):
        return findings
    return [first] + [f for f in findings if f is not first]


def _way(fact: dict, loss: float) -> float:
    """How far a loss has come from the best constant to the floor."""
    return (fact["reference"] - loss) / max(fact["reference"] - fact["floor"], 1e-12) if loss == loss else 0.0


def settle_rivals(findings: list[Finding]) -> list[Finding]:
    """A confirmed learning rate gives way to a confirmed cause of another kind whose repair ends clearly lower."""
    sure = [f for f in findings if f.sure]
    if len(sure) < 2 or not Walk._is_rate(sure[0]) and not any(Walk._is_rate(f) for f in sure):
        return findings
    rates = [f for f in sure if Walk._is_rate(f)]
    others = [f for f in sure if not Walk._is_rate(f)]
    best = min(rates, key=lambda f: f.trial.after)
    rates.sort(key=lambda f: 0.8 * f.trial.after > best.trial.after)  # those that end clearly higher come last
    # a repair that lowered the rate as well says nothing against the rate
    winners = [f for f in others if f.status == "proven"
               or not f.asks.get("rate_factor") and (f.trial is None or f.trial.after < 0.8 * best.trial.after)]
    if winners:
        return winners + [f for f in findings if f not in winners and f not in rates]
    return rates + [f for f in findings if f not in rates and f not in others]


def _verdict(walk: Walk, findings: list[Finding]) -> tuple[str, str]:
    sure = [f for f in findings if f.sure]
    if sure:
        return "fault", f"{sure[0].cause}: {sure[0].message or CAUSES[sure[0].cause].meaning}"
    suspected = [f for f in findings if f.status == "suspected"]
    progress = walk.evidence.fact("learned")
    raised = walk.evidence.fact("raised")
    if raised and raised["type"] not in ("KeyboardInterrupt", "SystemExit") and not (progress and progress["learned"]):
        return "undetermined", f"the script raised {raised['type']} at {raised['place'] or '?'}: {raised['message']}"
    if suspected:
        return "undetermined", f"suspected: {suspected[0].cause}; no experiment decided it"
    if walk.interrupted:
        return "undetermined", "interrupted before every stage was examined"
    if progress is None:
        return "undetermined", "fewer than 5 losses were seen: too little to tell"
    if walk.symptoms:
        return "undetermined", f"the training did not learn ({', '.join(walk.symptoms)}) and no cause was confirmed"
    if progress["learned"]:
        return "healthy", f"the training was seen to learn: loss {progress['start']:.4g} to {progress['end']:.4g}"
    return "undetermined", "no fault was found, and the loss alone does not show that it learned"


def _not_examined(walk: Walk) -> tuple[str, ...]:
    # checks that need a symptom have nothing to explain in a training that learns: that is no gap
    # and with one process there are no ranks to compare
    # (norms of replicas are compared where there are no fingerprints of them)
    silent = ("'symptoms'", "'ranks_apart'") if walk.evidence.has("rank") else ("'symptoms'", "'ranks_")
    rows = [f"{e.check}: {e.reason}" for e in walk.examinations if e.outcome == "unexamined" and not any(word in (e.reason or "") for word in silent)]
    heard = walk.evidence.fact("ranks_heard", default={"absent": {}, "unfinished": {}})
    rows += [f"rank {rank}: no evidence: {why}" for rank, why in heard["absent"].items()]
    rows += [f"rank {rank}: only in part: {why}" for rank, why in heard["unfinished"].items()]
    rows += [f"stage {stage.name}: the walk ended before it" for stage in STAGES if stage.name not in walk.visited]
    if walk.laboratory is None:
        rows.append("experiments: switched off or not possible here")
    else:
        if walk.laboratory.problem:
            rows.append(f"experiments: {walk.laboratory.problem}")
        rows += [f"experiment {name}: {reason}" for name, reason in walk.laboratory.failures.items()]
    errors = walk.evidence.fact("watch_errors")
    if errors:
        rows.append(f"watching stopped early because of an error of whyloss: {errors[0]}")
    return tuple(rows)


def layers(evidence: Evidence, run: str = "main") -> tuple[Layer, ...]:
    """The per-layer table: [first, last] of every quantity seen."""
    rows = []
    names = list(evidence.by_subject("layer", run))
    extra = [s for q in ("dead_share", "saturated_share") for s in evidence.by_subject(q, run) if s not in names]
    for name in names + list(dict.fromkeys(extra)):
        fact = evidence.fact("layer", name, run, {"kind": "function", "in": "", "out": ""})
        values = {}
        for quantity in ("activation_std", "dead_share", "saturated_share", "signal"):
            series = evidence.series(quantity, name, run)
            if series:
                values[quantity] = [series.first.value, series.last.value]
        for quantity in ("grad_norm", "update_ratio", "weight_norm"):
            series = evidence.series(quantity, f"{name}.weight", run)
            if series:
                values[quantity] = [series.first.value, series.last.value]
        rows.append(Layer(name, fact["kind"], fact["in"], fact["out"], values))
    return tuple(rows)
