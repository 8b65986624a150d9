"""Batch normalisation per rank, and the ranks' batches are not alike."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class BatchStatisticsNotSynchronised(Check):
    """Each rank normalises with its own mean and variance, and those differ between ranks step after step.

    Sees      mean and variance that each batch normalisation takes, per channel, on every rank at the same steps.
    Expects   differences between ranks that average out over the steps, as for samples drawn from one data set.
    Means     the shards differ (by class, by source, sorted): every rank normalises its own part of the data to the same mean, and the
              running statistics of one rank are used for all.
    Not for   SyncBatchNorm, group or layer normalisation, small batches of mixed samples (noise, no shift), differences below a sixth of
              a standard deviation.
    Source    Ioffe and Szegedy 2015: statistics are those of the whole batch; t-statistic of the paired differences against 0.
    """

    shift: float = 0.15   # standard deviations of the layer's input: at 0.1 the normalised values hardly change
    ratio: float = 4.0    # times what the noise of the batches gives
    share: float = 0.3    # of the channels beyond four standard errors; by chance 0.0001 (0.01 with 8 steps)

    stage = "ranks"
    needs = (Need("ranks_statistics"),)
    isolates = "batch normalisation means the same on every rank"
    causes = ("batch-statistics-not-synchronised",)

    def judge(self, evidence, run):
        rows = {layer: column.last.value for layer, column in evidence.by_subject("ranks_statistics", run).items()}
        bad = [(layer, row) for layer, row in rows.items()
               if row["effect"] > self.shift and row["effect"] > self.ratio * row["chance"] and row["share"] >= self.share]
        if not bad:
            return
        layer, row = bad[0]
        worst = max(row["effect"] for _, row in bad)
        yield self.prove(
            "batch-statistics-not-synchronised", subject=layer, step=0,
            measured=f"over {row['steps']} steps the batch mean of rank {row['rank']} is {row['effect']:.2f} standard deviations (root mean square "
                     f"over {row['channels']} channels) from that of the first rank; noise of the batches explains {row['chance']:.2f}; "
                     f"{len(bad)} of {len(rows)} layers, up to {worst:.2f}",
            expected="a difference that averages out between ranks",
            message=f"batch normalisation uses each rank's own {row['size']} samples, and the ranks' samples are of different kinds: "
                    "what tells them apart is normalised away, and evaluation uses the running statistics of one rank.",
            explains=("plateau-high", "train-eval-gap"))
