"""Graphs of past steps stay alive."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import busiest, calls


@dataclass(frozen=True)
class GraphKeptAlive(Check):
    """Graphs of past steps stay alive, or one graph grows with every step.

    Sees      how many loss graphs are still held, the number of nodes behind each backward, lines that add to a loss
              after its backward.
    Expects   one graph at a time, of constant size.
    Means     `total += loss` keeps every graph; a hidden state carried over without detach() lengthens the graph.
    Not for   losses kept for one epoch and dropped, retain_graph for two losses of one graph, longer sequences.
    Source    PyTorch FAQ, "My model reports out of memory"; graph nodes are counted, memory is not guessed.
    """

    graphs: int = 24    # alive at once
    growth: float = 0.9  # of the observed steps add a graph

    stage = "wiring"
    needs = (Need("graph_size", points=8),)
    isolates = "each step's graph is freed"
    causes = ("graph-kept-alive",)

    def judge(self, evidence, run):
        yield from self._held(evidence, run)
        yield from self._longer(evidence, run)

    def _held(self, evidence, run):
        alive = evidence.series("live_graphs", run=run)
        values = alive.values
        if not values or values[-1] < self.graphs or any(b < a for a, b in zip(values, values[1:])):
            return
        adding = sum(b > a for a, b in zip(values, values[1:]))
        full = sum(a == values[-1] for a in values) - 1  # the count stops at its limit
        if adding + full < self.growth * (len(values) - 1):
            return
        where = busiest(calls(evidence, "graph_used_after_backward", run))
        yield self.prove(
            "graph-kept-alive", step=alive.steps[0],
            location=where or busiest(calls(evidence, "backward", run)),
            measured=f"{values[0]} loss graphs alive at step {alive.steps[0]}, {values[-1]} at step {alive.steps[-1]}",
            expected="1 or 2",
            message="The loss is kept together with its graph at every step" + (f" ({where})" if where else "") +
                    ", so memory grows as long as training runs.",
            remedies=(f"add loss.item() or loss.detach() instead of the loss ({where or 'where it is stored'})",),
            explains=("memory-grows", "step-time-grows"))

    def _longer(self, evidence, run):
        for where, column in evidence.by_subject("graph_size", run).items():
            sizes = column.values
            retained = [row["retain_graph"] for row in evidence.series("backward", where, run).values]
            if not retained or sum(retained) < 0.9 * len(retained) or len(sizes) < 8:
                continue
            if all(b > a for a, b in zip(sizes, sizes[1:])) and sizes[-1] > 3 * sizes[0]:
                yield self.prove(
                    "graph-kept-alive", step=column.steps[0], location=where,
                    measured=f"{sizes[0]} graph nodes at step {column.steps[0]}, {sizes[-1]} at step "
                             f"{column.steps[-1]}",
                    expected="a constant number of nodes",
                    message="Each backward goes through all steps before it: a state is carried over together "
                            "with its graph.",
                    remedies=(f"detach the carried state before each step, and drop retain_graph=True ({where})",),
                    explains=("step-time-grows", "memory-grows"))
