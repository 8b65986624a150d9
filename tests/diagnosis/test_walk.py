"""The walk through the order, on evidence written by hand: no torch, no laboratory unless handed one."""

from whyloss.diagnosis.diagnose import diagnose, settle_rivals
from whyloss.diagnosis.order import BY_NAME, STAGES
from whyloss.diagnosis.principal import ordered
from whyloss.finding import Finding, Trial
from whyloss.testing import evidence_from

FALLING = [2.3 * 0.97**i for i in range(200)]


class Laboratory:
    """Answers every experiment with the same two arms."""

    problem, spent = None, 0.0

    def __init__(self, evidence, before, after):
        self.evidence, self.before, self.after, self.asked, self.failures = evidence, before, after, [], {}

    def run(self, name, asks):
        self.asked.append(name)
        if name == "overfit":
            return None
        for arm, level in (("control", self.before), ("changed", self.after)):
            for step in range(40):
                self.evidence.add("loss", 2.3 + (level - 2.3) * step / 39, step=step, run=f"{name}/{arm}")
        return {"experiment": name, "control": [2.3, self.before], "changed": [2.3, self.after]}

    def trial(self, outcome, holds):
        return Trial(outcome["experiment"], self.before, self.after, 40, holds)


def stuck(**more):
    return evidence_from(loss=[2.3] * 60, learning_rate={"SGD.group0": [1e-7] * 60},
                         update_ratio={"fc.weight": [1e-8] * 20}, **more)


def test_every_stage_leads_somewhere_that_exists():
    known = {s.name for s in STAGES} | {"end"}
    assert all({s.on_healthy, s.on_finding, s.on_unexamined} <= known for s in STAGES)
    assert BY_NAME["memorise"].on_finding == "initialisation"


def test_a_training_that_fell_is_healthy_without_a_laboratory():
    report = diagnose(evidence_from(loss=FALLING))
    assert report.verdict == "healthy"
    assert any("experiments" in line for line in report.not_examined)


def test_no_loss_at_all_is_undetermined():
    assert diagnose(evidence_from(learning_rate=[0.1])).verdict == "undetermined"


def test_a_suspicion_without_a_laboratory_stays_suspected():
    report = diagnose(stuck())
    assert report.verdict == "undetermined"
    assert report.findings[0].cause == "learning-rate-too-low" and report.findings[0].status == "suspected"


def test_a_suspicion_whose_experiment_shows_the_change_is_confirmed():
    evidence = stuck()
    report = diagnose(evidence, Laboratory(evidence, before=2.3, after=0.1))
    assert report.verdict == "fault" and report.cause.cause == "learning-rate-too-low"
    assert report.cause.trial.holds and report.cause.trial.after == 0.1


def test_a_suspicion_whose_experiment_shows_nothing_is_dropped():
    evidence = stuck()
    report = diagnose(evidence, Laboratory(evidence, before=2.3, after=2.29))
    assert report.verdict == "undetermined"
    assert not [f for f in report.findings if f.cause == "learning-rate-too-low"]


def test_a_training_that_learned_gets_no_rate_experiment():
    evidence = evidence_from(loss=FALLING, learning_rate={"SGD.group0": [1e-7] * 200}, update_ratio={"fc.weight": [1e-8] * 20})
    laboratory = Laboratory(evidence, before=2.3, after=0.1)
    assert diagnose(evidence, laboratory).verdict == "healthy"
    assert "raise-learning-rate" not in laboratory.asked


def test_an_ignored_cause_is_not_reported():
    report = diagnose(stuck(), ignore=["learning-rate-too-low"])
    assert all(f.cause != "learning-rate-too-low" for f in report.findings)


def test_a_loop_that_never_steps_comes_before_what_follows_from_it():
    findings = [Finding("parameters-frozen", "proven"), Finding("step-never-called", "proven"), Finding("vanishing-gradients", "suspected")]
    assert [f.cause for f in ordered(findings)] == ["step-never-called", "parameters-frozen", "vanishing-gradients"]


def test_a_rate_gives_way_to_a_repair_that_ends_clearly_lower():
    rate = Finding("learning-rate-too-high", "confirmed", trial=Trial("lower-learning-rate", 9.0, 1.0, 40, True))
    start = Finding("initial-weights-too-large", "confirmed", trial=Trial("fresh-init", 9.0, 0.1, 40, True))
    assert settle_rivals([rate, start])[0].cause == "initial-weights-too-large"
    weak = Finding("initial-weights-too-large", "confirmed", trial=Trial("fresh-init", 9.0, 0.98, 40, True))
    assert settle_rivals([rate, weak])[0].cause == "learning-rate-too-high"


def test_weight_decay_comes_before_a_rate_that_helps_no_more():
    def settled(rate, decay):
        found = [Finding("learning-rate-too-high", "confirmed", trial=Trial("lower-learning-rate", 1.3, rate, 40, True)),
                 Finding("weight-decay-too-strong", "confirmed", trial=Trial("without-weight-decay", 1.3, decay, 40, True))]
        return [f.cause for f in settle_rivals(ordered(found))]
    assert settled(0.5, 0.5)[0] == settled(0.45, 0.5)[0] == "weight-decay-too-strong"  # a lower rate scales the decay as well
    assert settled(0.1, 0.9)[0] == "learning-rate-too-high"


def test_a_loss_that_is_nan_from_the_start_is_a_symptom():
    report = diagnose(evidence_from(loss=[float("nan")] * 20))
    assert report.verdict == "undetermined"
    assert report.curves[0].label == "non-finite"
