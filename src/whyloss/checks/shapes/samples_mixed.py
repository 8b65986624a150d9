"""Check: a recurrent layer that takes the batch for time."""

import re
from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import size


@dataclass(frozen=True)
class SamplesMixed(Check):
    """A recurrent layer runs over the batch axis: each sample sees those before it.

    Sees      the input of the recurrent layer, the hidden state it returns (its second axis is the batch), the number of predictions;
              batch_first of attention; reshapes of a batch that put another axis first, or the batch behind another axis.
    Expects   as many hidden states as samples.
    Means     `batch_first` does not fit the layout of the input, so sample i depends on samples 0 to i-1.
    Not for   as many time steps as samples (cannot be told apart), packed or flattened sequences, models that mean it (graphs, sets).
    Source    PyTorch documentation, RNN: h_n is (layers, batch, hidden); the experiment changes one sample and looks at the others.
    """

    stage = "shapes"
    needs = (Need("layer"), Need("loss_call"))
    isolates = "recurrent layers keep the samples apart"
    causes = ("samples-mixed",)

    def judge(self, evidence, run):
        found = [*self._reshaped(evidence, run), *self._recurrent(evidence, run)]
        yield from found
        symptoms = evidence.fact("symptoms", run=run)
        if symptoms and not found:  # nothing recognisable: the exact test costs two forward passes
            yield self.suspect("samples-mixed", step=0, location=next(iter(evidence.by_subject("root", run)), None), asks={"unseen": True},
                               explains=tuple(symptoms), measured="one sample changed in eval mode, other outputs changed with it",
                               expected="only the changed sample's output changes",
                               message="The output of one sample depends on other samples of the batch: an axis is taken for another on the way.",
                               remedies=("use transpose or permute where view or reshape moves samples into another axis",
                                         "check batch_first, and every reshape that touches axis 0"))

    def _reshaped(self, evidence, run):
        """The batch reshaped before the model: its axis gets another place, its entries stay. Exact where the model is fed just that."""
        rows = {c.values[0]["shape"][0] for c in evidence.by_subject("loss_call", run).values() if c.values[0]["shape"]}
        fed = [row["shape"] for column in evidence.by_subject("input", run).values() for row in column.values if "shape" in row]
        for place, column in evidence.by_subject("axis_lost", run).items():
            fact = column.values[0]
            before, after = fact["before"], fact["after"]
            moved = [n for n in rows if n > 1 and before.count(n) == 1 and n in after and before.index(n) != after.index(n)]
            if fact["kind"] != "samples" or not moved or after not in fed:
                continue
            yield self.prove("samples-mixed", subject="input", step=column.steps[0], location=place,
                             explains=("flat-at-baseline", "flat-from-start", "plateau-high"),
                             measured=f"{fact['operation']}: {size(before)} to {size(after)}, {moved[0]} samples",
                             expected="the axes exchanged by permute or transpose",
                             message=f"{fact['operation']} turns {size(before)} into {size(after)} without moving an entry: what the model takes for "
                                     f"one sample holds pieces of several.",
                             remedies=(f"use transpose or permute instead of {fact['operation']}",))

    def _recurrent(self, evidence, run):
        samples = _samples(evidence, run)
        for name, column in evidence.by_subject("layer", run).items():
            layer = column.values[-1]
            axes = _sequence_of_samples(layer, samples)
            if axes:
                yield self._attention(name, axes)
                continue
            given = [[int(n) for n in re.findall(r"\d+", part)] for part in re.findall(r"\(([^)]*)\)", layer["in"])]
            made = [[int(n) for n in re.findall(r"\d+", part)] for part in re.findall(r"\(([^)]*)\)", layer["out"])]
            if layer["kind"] not in ("RNN", "LSTM", "GRU") or len(made) < 2 or len(made[1]) != 3 or not given or len(given[0]) != 3:
                continue
            states, axes = made[1][1], given[0]
            rows = samples & set(axes[:2])
            if states in samples or not rows:
                continue
            batch = rows.pop()
            first = axes[0] == batch
            yield self.suspect("samples-mixed", subject=name, step=0, explains=("flat-at-baseline", "flat-from-start", "plateau-high"),
                               asks={"module": name},
                               measured=f"input {tuple(axes)}, {batch} samples; {name} returns {states} hidden states",
                               expected=f"{batch} hidden states",
                               message=f"{name} takes axis {0 if first else 1} of its input, the {batch} samples, for time: each sample sees those "
                                       f"before it.",
                               remedies=("set batch_first=True",) if first else ("leave batch_first=False, or give (batch, time, features)",))

    def _attention(self, name, axes):
        return self.suspect("samples-mixed", subject=name, step=0, asks={"module": name}, explains=("flat-at-baseline", "plateau-high"),
                            measured=f"input {tuple(axes)}, {axes[0]} samples, batch_first=False", expected="(length, samples, features)",
                            message=f"{name} takes axis 0 of its input, the {axes[0]} samples, for the sequence: each sample attends to the others.",
                            remedies=("set batch_first=True",))


def attends_to_samples(evidence, run) -> bool:
    """Whether some attention takes the samples for the sequence. What is pooled behind it may then depend on no input at all."""
    samples = _samples(evidence, run)
    return any(_sequence_of_samples(column.values[-1], samples) for column in evidence.by_subject("layer", run).values())


def _samples(evidence, run) -> set[int]:
    """How many there are in a batch, by the predictions of each loss: CTC has time in front of them."""
    calls = [c.values[0] for c in evidence.by_subject("loss_call", run).values() if c.values[0]["shape"]]
    return {call["shape"][call.get("function") == "ctc_loss" and len(call["shape"]) == 3] for call in calls}


def _sequence_of_samples(layer, samples: set[int]) -> list[int]:
    """The axes of an attention's input whose first, the sequence, counts the samples; [] elsewhere."""
    if layer["kind"] != "MultiheadAttention" or layer.get("batch_first") is not False:
        return []
    axes = [int(n) for n in re.findall(r"\d+", (re.findall(r"\(([^)]*)\)", layer["in"]) or [""])[0])]
    return axes if len(axes) == 3 and axes[0] in samples and axes[1] not in samples and axes[1] > 1 else []
