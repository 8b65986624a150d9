"""Layers in a plain list or dict."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.wiring import learned, listed, module_of, moved, parameters, stepping


@dataclass(frozen=True)
class ModulesNotRegistered(Check):
    """Layers used in the forward pass live in a plain list or dict.

    Sees      modules found in plain containers of another module, reached by backward, in no optimizer, unchanged.
    Expects   every layer that is trained is registered with its owner.
    Means     parameters() does not list them: they are not trained, moved or saved.
    Not for   lists whose parameters are passed to an optimizer by hand, a frozen teacher kept out of the way.
    Source    torch.nn.ModuleList.
    """

    satisfied: float = 0.95  # share of the way to the floor from which hiding them may be on purpose

    stage = "wiring"
    needs = (Need("parameter"), Need("loss"))
    isolates = "parameters() lists every layer that is used"
    causes = ("modules-not-registered",)

    def judge(self, evidence, run):
        hidden = [name for name, row in parameters(evidence, run) if row.get("unregistered") and row["reached"]
                  and row["requires_grad"] and not row["held"] and not moved(evidence, name, row, run)]
        if not hidden:
            return
        modules = sorted({module_of(name) for name in hidden})
        place = next((facts["place"] for facts in stepping(evidence, run).values()), None)
        say = self.note if learned(evidence, run, self.satisfied) else self.prove
        yield say(
            "modules-not-registered", subject=modules[0], step=0, location=place,
            measured=f"{len(modules)} layers in a plain container ({listed(modules)}): {len(hidden)} tensors get "
                     "gradients, none is in an optimizer, none changed",
            expected="nn.ModuleList or nn.ModuleDict",
            message=f"{listed(modules)} sit in a plain list or dict: parameters() does not see them, so they "
                    "are never trained.",
            remedies=(f"wrap the container {modules[0].split('[')[0]} in nn.ModuleList (or nn.ModuleDict)",
                      f"create the optimizer after that ({place})"),
            explains=("plateau-high", "flat-from-start", "parameters-unchanged"))
