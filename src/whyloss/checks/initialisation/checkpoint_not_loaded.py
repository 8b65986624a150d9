"""Weights that were meant to be loaded and are not there."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class CheckpointNotLoaded(Check):
    """A checkpoint was read, and training begins from other weights.

    Sees      the keys that load_state_dict matched, missed and could not place; whether the values that were loaded are in the model
              when training begins; files read by torch.load whose tensors are in no model.
    Expects   the names and shapes of the model among those of the checkpoint.
    Means     strict=False hid that nothing fits (a prefix such as `module.` is enough), or a later initialisation wrote over it.
    Not for   a new head beside a loaded body, a second load into the same model, weights pruned or rounded after loading, teachers.
    Source    PyTorch documentation, Module.load_state_dict: the missing and unexpected keys that it returns.
    """

    renamed: float = 0.5   # of the missing keys that stand in the checkpoint under a prefix

    stage = "wiring"
    needs = (Need("loss"),)
    isolates = "what was loaded is what is trained"
    causes = ("pretrained-weights-not-loaded",)

    def judge(self, evidence, run):
        latest = {}
        for place, column in evidence.by_subject("state_loaded", run).items():
            for row in column.values:
                latest[row["key"]] = (place, row)
        for place, row in latest.values():
            matched = row["given"] - row["unexpected"]
            hidden = row["missing"] and row["renamed"] >= self.renamed * row["missing"]
            if row["given"] and row["missing"] and (matched == 0 or hidden):
                yield self._keys(place, row, matched)
        for place, column in evidence.by_subject("state_overwritten", run).items():
            row = column.last.value
            yield self.prove("pretrained-weights-not-loaded", subject=row["example"], step=0, location=place,
                             measured=f"{row['tensors']} weights of {row['module']} were loaded and hold other values when training begins",
                             expected="the loaded values", explains=("plateau-high", "first-loss-off"),
                             message="The weights were loaded and then written over before training began: an initialisation runs after the loading.",
                             remedies=("load the checkpoint after the last initialisation",))
        for place, column in evidence.by_subject("checkpoint_unused", run).items():
            row = column.last.value
            yield self.prove("pretrained-weights-not-loaded", subject=row["example"], step=0, location=place,
                             measured=f"{row['tensors']} weights were read from a file, none of them is in a model when training begins",
                             expected="load_state_dict with what was read", explains=("plateau-high", "first-loss-off"),
                             message=f"The checkpoint was read, but no model holds its weights ({row['example']} and others are still fresh).",
                             remedies=("give what torch.load returns to model.load_state_dict",))

    def _keys(self, place, row, matched):
        pair = row["pair"] or [(row["examples"][1] or ["?"])[0], (row["examples"][0] or ["?"])[0]]
        return self.prove("pretrained-weights-not-loaded", subject=pair[1], step=0, location=place,
                          measured=f"load_state_dict: {matched} of {row['given']} keys matched, {row['missing']} missing, "
                                   f"{row['unexpected']} unexpected",
                          expected="every weight of the body among the matched keys", explains=("plateau-high", "first-loss-off"),
                          message=f"The checkpoint calls it {pair[0]!r}, {row['module']} calls it {pair[1]!r}: strict=False passed over it, "
                                  f"and training begins from fresh weights.",
                          remedies=(f"rename the keys (as {pair[0]!r} to {pair[1]!r}) before loading",
                                    "load with strict=True, or look at what load_state_dict returns"))
