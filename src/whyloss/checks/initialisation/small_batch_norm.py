"""Batch norm over a handful of samples."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class SmallBatchNorm(Check):
    """Batch norm is computed over so few values that its output says little about the input.

    Sees      how many values a channel each batch norm of the traced steps had (samples times positions), and how far the
              training came.
    Expects   at least some ten values a channel; with two, the output is +1 and -1 whatever the input.
    Means     a suspicion; confirmed only if the same training with each sample normalised by itself ends clearly lower.
    Not for   a training that learns; convolutions with many positions; frozen batch norm.
    Source    Ioffe and Szegedy 2015; Wu and He 2018 (group normalisation).
    """

    least: int = 6     # values a channel
    well: float = 0.8  # a training that came so far is not held back

    stage = "initialisation"
    needs = (Need("batch_norm"), Need("learned"))
    isolates = "batch statistics rest on enough values"
    causes = ("batch-statistics-unreliable",)

    def judge(self, evidence, run):
        progress = evidence.fact("learned", run=run)
        if progress["learned"] and progress.get("share", 1.0) > self.well:
            return
        rows = {name: column.values[-1] for name, column in evidence.by_subject("batch_norm", run).items()}
        small = {name: row for name, row in rows.items() if 0 < row["values"] < self.least}
        if not small:
            return
        name, row = min(small.items(), key=lambda item: item[1]["values"])
        yield self.suspect("batch-statistics-unreliable", subject=name, step=0, location=row["place"], explains=("plateau-high",),
                           asks={"unseen": True} if progress["learned"] else {},
                           measured=f"{row['values']} values a channel in {name}, input {tuple(row['shape'])}; {len(small)} of {len(rows)} layers",
                           expected=f"at least {self.least}",
                           message=f"{name} normalises over {row['values']} values a channel: its output hardly depends on the input.",
                           remedies=("use larger batches", "use GroupNorm or LayerNorm instead of batch norm"))
