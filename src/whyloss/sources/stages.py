"""Several trainings in one script: pretraining and fine-tuning, folds, a search. Each is watched as a training of its own.

A stage begins where backward() reaches none of the tensors that were trained before, or where a new optimizer goes on with some
of them from another line, or with others of the model. Models that take turns (a generator and its critic) are one training: where
an earlier one comes back, the watch goes back to it and looks for stages no more.
"""

import math
import statistics

import torch

from whyloss.evidence import Evidence
from whyloss.observation import Run
from whyloss.sources import facts
from whyloss.sources.gradients import leaves_of

SHORTEST = 10   # backward passes: a stage is no shorter, or it is a look at a gradient between two steps
JUDGED = 20     # losses without which a stage is not what the script is about
KEPT = 4        # finished stages kept
WELL = 0.7      # of its first loss: a stage that ends above it did not get far


class Stages:
    """Part of a Watch."""

    def __init__(self, watch):
        self.watch = watch
        self.earlier: list[dict] = []      # the state of a watch at the end of each stage
        self.count = 1
        self.turns = False                 # the models take turns
        self.made: dict[int, int] = {}     # optimizer -> backward passes of this stage before it was made
        self.places: set = set()
        self.unseen = False                # an optimizer was made since the last backward()

    def optimizer_made(self, optimizer) -> None:
        self.made[id(optimizer)] = self.watch.window_count
        self.unseen = True

    # ------------------------------------------------------------------ at a backward()
    def before_backward(self, window, loss, where) -> None:
        """Is this backward() the first of another training, or one of an earlier training?"""
        if self.turns or self.watch.ranks.world > 1:
            return
        roots = set(window.roots) if window is not None else set()
        news = self.unseen or where not in self.places or not roots <= self.watch.named_roots
        self.unseen = False
        if news and self.watch.window_count and loss.grad_fn is not None:
            reached = {id(leaf): leaf for leaf in leaves_of(loss)[0]}
            back = self._comes_back(reached, where)
            if back is not None:
                self._restore(back, window)
            elif self.watch.window_count >= SHORTEST and self._is_new(reached, where):
                self._begin(window)
        self.places.add(where)

    def _comes_back(self, reached: dict, where) -> dict | None:
        """The earlier stage whose tensors are trained again from one of its own lines."""
        known = self.watch.ever_reached
        return next((state for state in reversed(self.earlier) if where in state["places"]
                     and any(key in state["watch"]["ever_reached"] and key not in known for key in reached)), None)

    def _is_new(self, reached: dict, where) -> bool:
        held = {id(p) for o in self.watch.optimizers.values() for group in o.param_groups for p in group["params"]}
        trained = {key for key, leaf in reached.items() if isinstance(leaf, torch.nn.Parameter) or key in held}
        if not trained:
            return False
        if not trained & self.watch.ever_reached:
            return True
        fresh = {id(p) for key, o in self.watch.optimizers.items() if self.made.get(key) for group in o.param_groups for p in group["params"]}
        if where in self.places:  # an optimizer made anew for each epoch, or for more layers that thaw, is no stage; one that leaves some out is
            before = self._trained()
            return bool(before - fresh) and trained <= fresh
        return bool(trained & fresh)

    def _trained(self) -> set[int]:
        """What the optimizers held that stepped in this stage so far."""
        stepped = {event.key for event in self.watch.program.events if event.kind == "step"}
        return {id(p) for key, o in self.watch.optimizers.items() if key in stepped for group in o.param_groups for p in group["params"]}

    # ------------------------------------------------------------------ from one to the next
    def _state(self) -> dict:
        recorder = self.watch.recorder
        held = {name: vars(self.watch)[name] for name in self.watch.STAGE}
        return {"watch": held, "places": self.places, "made": self.made, "shared": recorder.shared}

    def _put(self, state: dict) -> None:
        vars(self.watch).update(state["watch"])
        self.places, self.made, self.watch.recorder.shared = state["places"], state["made"], state["shared"]
        self._rewire()

    def _rewire(self) -> None:
        recorder, forward = self.watch.recorder, self.watch.forward
        recorder.on_update, recorder.is_target = forward.updated_by_hand, forward.is_target
        recorder.on_write = self.watch.gradients.wrote

    def _begin(self, window) -> None:
        watch, old = self.watch, self._state()
        roots = [call[0] for call in window.calls] if window is not None else []
        originals = {key: watch.program.originals[key] for key in (window.roots if window is not None else ()) if key in watch.program.originals}
        goes_on = self._goes_on([*roots, *originals.values()]) or self._loaded([*roots, *originals.values()])
        self.earlier.append(old)
        self._forget()
        self.count += 1
        optimizers = {key: o for key, o in watch.optimizers.items() if self.made.get(key, 0) > 0}
        made, first, options, places = watch.settings.made, watch.settings.first, watch.settings.options, watch.optimizer_places
        watch.evidence = Evidence()
        watch.evidence.add_run(Run("main", "watched"))
        watch.fresh()
        watch.early = old["watch"]["early"]
        watch.settings.made, watch.settings.first, watch.settings.options = made, first, options
        watch.optimizers, watch.optimizer_places = optimizers, places
        self.made, self.places, watch.recorder.shared = dict.fromkeys(optimizers, 0), set(), {}
        self._rewire()
        for module in {**{id(m): m for m in roots}, **originals}.values():
            watch.program.know_module(module)
            watch.root_last[id(module)] = 0
        if window is not None:
            window.step, window.earlier = 0, []
        watch.checkpoints.stage_begins(old["watch"]["gradients"].parameters)
        watch.observe("stage_goes_on", goes_on)

    def _goes_on(self, roots) -> bool:
        """Whether the new training starts from what the last one has learned, not from a model of its own or one set back to its start."""
        start, reached = self.watch.program.leaves, self.watch.ever_reached
        kept = [p for root in roots for p in root.parameters() if id(p) in reached and id(p) in start and p.shape == start[id(p)].shape]
        return any(not torch.equal(p.detach(), start[id(p)].to(p.dtype)) for p in kept)

    def _loaded(self, roots) -> bool:
        """The same where the new training's model is another one: what was loaded into it is not what the last one began with."""
        inside = {id(p) for root in roots for p in root.parameters()}
        start = [leaf for key, leaf in self.watch.program.leaves.items() if key not in inside]
        kept = [values for module, _where, _row, kept in self.watch.checkpoints.later for values in kept.values()
                if any(id(p) in inside for p in module.parameters())]
        return any(not any(torch.equal(values, leaf.detach().float().flatten()[:len(values)].cpu()) for leaf in start if leaf.numel() >= len(values))
                   for values in kept)

    def _restore(self, state: dict, window) -> None:
        """The training that was here before goes on: what was taken for a stage belongs to it."""
        now = self.watch.window_count
        self._put(state)
        self.earlier, self.turns = [], True
        self.watch.window_count = max(self.watch.window_count, now)
        if window is not None:
            window.earlier = []

    def _forget(self) -> None:
        """Copies of models need room: of many stages the one that got farthest and the last ones stay."""
        if len(self.earlier) > KEPT:
            best = min(self.earlier, key=lambda state: _way(state["watch"]["evidence"]))
            self.earlier.remove(next(state for state in self.earlier if state is not best))

    # ------------------------------------------------------------------ at the end
    def over(self) -> None:
        """Write what every stage shows at its end, and leave the watch at the one to be judged."""
        states = [*self.earlier, self._state()]
        for state in states:
            self._put(state)
            self.watch.evaluation.phase_over()
            facts.at_the_end(self.watch)
        evidence = [state["watch"]["evidence"] for state in states]
        at = chosen(evidence)
        _copies_of_folds(evidence, at)
        self._put(states[at])
        self.earlier = []
        if self.count > 1:
            raised = evidence[-1].fact("raised")
            if raised is not None and at != len(states) - 1:
                self.watch.observe("raised", raised)
            self.watch.observe("stages", {"seen": self.count, "judged": self.count - len(states) + at + 1})


def _copies_of_folds(stages: list[Evidence], judged: int) -> None:
    """Of folds one is judged, and it may be the last training, on all rows: what the others were evaluated on is told with it."""
    for other in stages:
        if other is not stages[judged] and _task(other) == _task(stages[judged]):
            for place, column in other.by_subject("evaluation_copies").items():
                for seen in column:
                    stages[judged].add("evaluation_copies", seen.value, subject=place, step=seen.step)


def chosen(stages: list[Evidence]) -> int:
    """Which of several trainings is judged: the last one of which nothing better is known.

    Repetitions (folds, the settings of a search: same line, same shape of the output) count as one training, told by the one that got
    farthest; but one whose optimizer never found a gradient was no attempt that may fail.
    """
    long = [at for at, evidence in enumerate(stages) if len(evidence.series("loss")) >= JUDGED]
    if not long:
        return len(stages) - 1
    idle = [at for at in long if _idle(stages[at])]
    if idle:
        return idle[-1]
    last = long[-1]
    alike = [at for at in long if _task(stages[at]) == _task(stages[last])]
    if stages[last].fact("stage_goes_on"):
        return last  # a model trained further, by the same lines
    if len(alike) > 1 and _way(stages[last]) > WELL:
        return min(alike, key=lambda at: (_way(stages[at]), -at))
    return last


def _idle(evidence: Evidence) -> bool:
    """Whether optimizers stepped and never on a gradient."""
    steps = [row for column in evidence.by_subject("step").values() for row in column.values]
    return len(steps) >= SHORTEST and not any(row["fresh"] for row in steps)


def _task(evidence: Evidence) -> tuple:
    calls = [o.value for column in evidence.by_subject("loss_call").values() for o in column if o.value.get("counts")]
    return evidence.fact("main_loss_place"), tuple(calls[0]["shape"][1:]) if calls else None


def _way(evidence: Evidence) -> float:
    """The last losses as a share of the first ones; infinite where they are no numbers."""
    main = evidence.series("loss") or max(evidence.by_subject("loss").values(), key=len, default=None)
    values = list(main.values) if main else []
    if len(values) < 4 or not all(math.isfinite(v) for v in values[-8:]):
        return math.inf
    start, end = statistics.median(values[:3]), statistics.median(values[-max(3, len(values) // 8):])
    return end / start if start > 0 else end - start
