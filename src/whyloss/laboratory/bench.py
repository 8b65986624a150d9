"""The captured model on rows of our choice: training pairs, pairs of an evaluation, at the start or with the trained weights."""

import inspect
import math

import torch

from whyloss.errors import CannotReplay
from whyloss.laboratory.experiments.overfit import first_tape
from whyloss.laboratory.experiments.pairs import target_key
from whyloss.sources.program import Arm
from whyloss.sources.tape import Packed, Reference

ROWS = 2000


def constants_in(stored) -> list[int]:
    """Keys of the constants among stored arguments, in the order of the arguments."""
    if isinstance(stored, Reference):
        return [stored.ref] if isinstance(stored.ref, int) else []
    if isinstance(stored, Packed):
        return [key for item in stored.items for key in constants_in(item)]
    if isinstance(stored, (tuple, list)):
        return [key for item in stored for key in constants_in(item)]
    if isinstance(stored, dict):
        return [key for item in stored.values() for key in constants_in(item)]
    return []


class Pairs:
    """inputs: one tensor (rows, ...) per argument; labels: (rows, ...)"""

    def __init__(self, inputs, labels):
        self.inputs, self.labels = tuple(inputs), labels

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, index) -> "Pairs":
        return Pairs([x[index] for x in self.inputs], self.labels[index])

    def halves(self, seed: int = 0) -> tuple["Pairs", "Pairs"]:
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed)).to(self.labels.device)
        return self.rows(order[: len(order) // 2]), self.rows(order[len(order) // 2:])


class Bench:
    """One model, its captured training pairs and the pairs of its last evaluation. Raises CannotReplay where there is no such pair."""

    def __init__(self, lab):
        _, tape = first_tape(lab)
        self.lab, self.tape = lab, tape
        calls = self._models(tape)
        if len(calls) != 1:
            raise CannotReplay("the step calls several models, or none")
        self.call = calls[0]
        self.keys = [k for k in constants_in((self.call.args, self.call.kwargs)) if tape.constants[k].dim()]
        self.target = target_key(tape)
        if not self.keys or self.target is None or self.target in self.keys:
            raise CannotReplay("inputs and labels of the step were not captured apart")
        self.size = tape.constants[self.target].shape[0]
        if any(tape.constants[k].shape[0] != self.size for k in self.keys):
            raise CannotReplay("an input has no row for each label")
        self.train, self.steps = self._training()
        self.held = self._held()

    def _models(self, tape) -> list:
        """Calls of modules; a loss that keeps class weights or other constants is none that trains."""
        calls = [n for n in tape.nodes if n.module is not None]
        return [n for n in calls if next(self.lab.program.modules[n.module].parameters(), None) is not None] or calls

    def _training(self):
        xs, ys, at, seen = [], [], [], set()
        for tape in self.lab.program.whole_tapes().values():
            calls = self._models(tape)
            wanted = target_key(tape)
            if len(calls) != 1 or calls[0].module != self.call.module or wanted is None or len(xs) and sum(map(len, ys)) >= ROWS:
                continue
            keys = [k for k in constants_in((calls[0].args, calls[0].kwargs)) if tape.constants[k].dim()]
            x, y = [tape.constants[k] for k in keys], tape.constants[wanted]
            if len(keys) != len(self.keys) or any(t.shape[0] != y.shape[0] for t in x) or not self._alike(x):
                continue
            new = []
            for row in range(len(y)):
                mark = b"".join(t[row].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t[row].dim() else
                                t[row].reshape(1).cpu().numpy().tobytes() for t in x)
                if mark not in seen:
                    seen.add(mark)
                    new.append(row)
            index = torch.tensor(new, dtype=torch.long, device=y.device)
            xs.append([t[index] for t in x])
            ys.append(y[index])
            at += [(tape.step, row) for row in new]
        if not ys:
            raise CannotReplay("no training pair was captured")
        return Pairs([torch.cat([x[i] for x in xs]) for i in range(len(self.keys))], torch.cat(ys)), at

    def _alike(self, x) -> bool:
        return all(t.shape[1:] == self.tape.constants[k].shape[1:] and t.dtype == self.tape.constants[k].dtype for t, k in zip(x, self.keys))

    def _held(self) -> Pairs | None:
        goal = self.tape.constants[self.target]
        fits = [p for p in self.lab.program.holdout if p.module == self.call.module and len(p.inputs) == len(self.keys) and self._alike(p.inputs)
                and (p.labels.shape[1:] == goal.shape[1:] or p.labels[0].numel() == goal[0].numel())]
        if not fits:
            return None
        labels = torch.cat([p.labels for p in fits]).reshape(-1, *goal.shape[1:])
        return Pairs([torch.cat([p.inputs[i] for p in fits]) for i in range(len(self.keys))], labels.to(goal.dtype))

    # ------------------------------------------------------------------ arms
    def trained(self) -> Arm:
        """A copy with the weights as the script left them."""
        arm = self.lab.program.fresh()
        originals = self.lab.program.originals
        with torch.no_grad():
            for key, module in arm.modules.items():
                module.load_state_dict(originals[key].state_dict())
            for key, leaf in arm.leaves.items():
                if leaf.shape == originals[key].shape:
                    leaf.copy_(originals[key].detach())
        return arm

    def outcome(self, arm: Arm, pairs: Pairs, *, training: bool = False) -> tuple[float, torch.Tensor | None, torch.Tensor]:
        """(mean loss, which rows are right or None, outputs) of an arm on given rows, in batches of the step's size."""
        losses, rights, outputs = [], [], []
        slot = self.call.outputs[0]
        arm.bindings.force_training = training
        kept, arm.bindings.change_constant = arm.bindings.change_constant, None
        with torch.no_grad():
            for at in range(0, len(pairs), self.size):
                index = torch.arange(at, at + self.size, device=pairs.labels.device) % len(pairs)
                part = pairs.rows(index)
                given = {**dict(zip(self.keys, part.inputs)), self.target: part.labels}
                arm.bindings.change_constant = lambda key, t, g=given: g.get(key, t)
                made = self.tape.run(arm.bindings)
                count = min(self.size, len(pairs) - at)
                losses.append((float(made[self.tape.loss.index].sum()) / self.tape.scale, count))
                outputs.append(made[slot][:count])
                right = which_right(made[slot], part.labels)
                rights.append(None if right is None else right[:count])
        arm.bindings.change_constant, arm.bindings.force_training = kept, None
        mean = sum(v * n for v, n in losses) / sum(n for _, n in losses)
        return mean, None if any(r is None for r in rights) else torch.cat(rights), torch.cat(outputs)

    def argument(self, position: int) -> str:
        """The name the model's forward gives to its n-th tensor."""
        module = self.lab.program.originals.get(self.call.module)
        try:
            names = [n for n in inspect.signature(type(module).forward).parameters if n != "self"]
        except (TypeError, ValueError):
            names = []
        keywords = [k for k, v in self.call.kwargs.items() for _ in constants_in(v)]
        positional = sum(len(constants_in(a)) for a in self.call.args)
        if position >= positional:
            return keywords[position - positional] if position - positional < len(keywords) else "input"
        return names[position] if position < len(names) and len(self.call.args) == positional else "input"


def which_right(output: torch.Tensor, labels: torch.Tensor) -> torch.Tensor | None:
    """For each row, whether the prediction is the label; None where outputs are no class scores."""
    if not isinstance(output, torch.Tensor) or output.shape[0] != labels.shape[0]:
        return None
    if output.dim() == 2 and output.shape[1] > 1 and labels.dim() == 1 and not labels.is_floating_point():
        return output.argmax(1) == labels
    if output.numel() == labels.numel() == labels.shape[0] and bool(((labels == 0) | (labels == 1)).all()):
        scores = output.reshape(-1)
        edge = 0.5 if float(scores.min()) >= 0 and float(scores.max()) <= 1 else 0.0
        return (scores > edge) == (labels.reshape(-1) > 0.5)
    return None


def z_of_shares(a: torch.Tensor, b: torch.Tensor) -> float:
    """How many standard errors share(a) lies above share(b), under one common share."""
    one, two = a.float(), b.float()
    share = float(torch.cat([one, two]).mean())
    spread = math.sqrt(max(share * (1 - share), 1e-9) * (1 / len(one) + 1 / len(two)))
    return float(one.mean() - two.mean()) / spread
