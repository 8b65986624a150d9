"""Check: ReLU layers whose units give 0 for every input."""

from dataclasses import dataclass

import numpy as np

from whyloss.check import Check, Need


@dataclass(frozen=True)
class DeadRelus(Check):
    """Most units of a ReLU layer are 0 for every sample seen.

    Sees      share of units that are 0 in all of the last batches (up to 12), per activation; gradients and their norms over the run.
    Expects   a minority: up to a quarter is usual after training and does no harm.
    Means     the units sit where the slope is 0. From step 0: an initialisation at fault. Since a step: an update that was too long.
    Not for   GELU, SiLU, ELU and leaky ReLU; sparse nets and experts without tokens; a training that learns, except for a layer of which
              not one unit was ever active.
    Source    Lu et al. 2020, arXiv 1903.06733; own measurements: one batch over-reports, half dead is harmless, deep units revive.
    """

    cut: float = 0.95      # a layer that is cut in two
    half: float = 0.6      # suspicious where the training suffers
    spike: float = 20.0    # gradient norm over its running median
    units: int = 8         # of a layer without which the rest of the model learns
    traced: int = 8        # batches of such a training

    stage = "gradients"
    needs = (Need("dead_over_batches", points=3), Need("loss", points=3))
    isolates = "the units in the middle answer to something"
    causes = ("dead-relus",)

    def judge(self, evidence, run):
        if _blank_input(evidence, run):
            return
        if (evidence.fact("learned", run=run) or {}).get("learned"):
            yield from self._whole_layers(evidence, run)
            return
        layers = {s: c for s, c in evidence.by_subject("dead_over_batches", run).items() if len(c) >= 3 and c.values[-1] >= self.half}
        zeros = [s for s, c in evidence.by_subject("parameter", run).items() if (c.values[-1].get("initial") or {}).get("zero")
                 and len(c.values[-1]["shape"]) > 1]
        if not layers or len(zeros) > 1:
            return
        name, column = max(layers.items(), key=lambda item: item[1].values[-1])
        share, began = column.values[-1], next(s for s, v in zip(column.steps, column.values) if v >= min(self.cut, column.values[-1]))
        broken = evidence.fact("first_non_finite", run=run)
        if broken and broken["step"] <= began:
            return  # units are dead because the weights are NaN
        said = self._said(evidence, run, name, began)
        if began <= column.steps[0] and min(column.values) == 1.0:
            yield self._never(name, column, said)
        elif share >= self.cut or len(layers) > 1:
            yield from self._died(evidence, run, name, share, began, said)

    def _never(self, name, column, said, effect=""):
        return self.prove("dead-relus", **said,
                          measured=f"all units of {name} are 0 for every sample of {len(column)} traced batches, from step 0 on",
                          message=f"Every unit behind {name} is dead from the start, so no gradient reaches what lies before it. {effect}Look at "
                                  f"its biases and weights.",
                          remedies=("initialise the layer in front again, with biases at 0",
                                    "a leaky ReLU alone does not revive units that sit far below 0"))

    def _whole_layers(self, evidence, run):
        """The rest of the model learns around a layer of which not one unit ever gave anything: what lies before it does not."""
        last = max((c.steps[-1] for c in evidence.by_subject("loss", run).values() if len(c)), default=0)
        for name, column in evidence.by_subject("dead_over_batches", run).items():
            layer = evidence.fact("activation_layer", name, run)
            if layer and min(column.values) == 1.0 and len(column) >= self.traced and column.steps[-1] >= last / 2 and \
                    (evidence.fact("relu_units", name, run) or 0) >= self.units:
                said = self._said(evidence, run, name, column.steps[0])
                yield self._never(name, column, said, "The loss falls all the same, by what goes around it. ")
                return

    @staticmethod
    def _said(evidence, run, name, began):
        return {"subject": evidence.fact("activation_layer", name, run) or name.split(":")[0],
                "location": evidence.fact("activation_place", name, run), "step": began,
                "explains": ("flat-from-start", "flat-at-baseline", "plateau-high", "zero-gradients"), "expected": "at most a quarter of the units"}

    def _died(self, evidence, run, name, share, began, said):
        column = evidence.series("dead_over_batches", name, run)
        start, spike = column.values[0], self._spike(evidence, run, began)
        late = began > column.steps[0] and min(column.values) < share - 0.25
        when = f"since step {began} (at step {column.steps[0]} it was {start:.0%})" if late else "from the start"
        burst = f"; the gradient norm jumped to {spike[1]:.3g} at step {spike[0]}, {spike[2]:.0f} x its median" if spike and late else ""
        jump = self._jump(evidence, run, name) if late else None
        if jump:
            burst += f"; the learning rate was {jump[1]:g} at step {jump[0]}, {jump[2]:.0f} x its usual value"
        say = self.prove if jump else self.suspect  # alive before one overlong step and dead after it: no experiment is needed
        yield say("dead-relus", **{**said, "step": jump[0]} if jump else said, **({} if jump else {"asks": {"rate_factor": 0.1} if late else {}}),
                           measured=f"{share:.0%} of the units of {name} are 0 for every sample, {when}{burst}",
                           message=f"{share:.0%} of {name} died {when}: no gradient passes through these units." if late else
                                   f"{share:.0%} of {name} never fire, {when}.",
                           remedies=("lower the learning rate or clip the gradient norm, and start from fresh weights",) if late else
                                    ("initialise the layer in front again, with biases at 0",))

    def _jump(self, evidence, run, name):
        """(step, rate, times the median) of a few steps' rate far above all others, with the units alive before it and dead after it."""
        dead = evidence.series("dead_share", name, run)
        for column in evidence.by_subject("learning_rate", run).values():
            values = np.array(column.values, float)
            middle, at = float(np.median(values)), int(values.argmax())
            before = [v for s, v in zip(dead.steps, dead.values) if s <= column.steps[at]]
            after = [v for s, v in zip(dead.steps, dead.values) if s > column.steps[at]]
            if middle > 0 and values[at] > self.spike * middle and (values > self.spike * middle).sum() <= 3 and before and after and \
                    float(np.median(after[:5])) > float(np.median(before[-5:])) + 0.25:
                return column.steps[at], float(values[at]), values[at] / middle
        return None

    def _spike(self, evidence, run, began):
        """(step, norm, times the median before) of the largest gradient norm up to `began`."""
        for column in evidence.by_subject("grad_norm_total", run).values():
            pairs = [(s, v) for s, v in zip(column.steps, column.values) if s <= began and np.isfinite(v)]
            if len(pairs) >= 5:
                middle, (step, top) = float(np.median([v for _, v in pairs])), max(pairs, key=lambda p: p[1])
                return (step, top, top / middle) if middle > 0 and top > self.spike * middle else None
        return None


def _blank_input(evidence, run) -> bool:
    return any(c.values[0].get("between_samples") == 0 for c in evidence.by_subject("input", run).values())
