"""Check: loader workers that all draw the same random numbers."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class WorkerRandomness(Check):
    """Every loader worker, or every epoch, draws the same random numbers for the training samples.

    Sees      the training loader's workers and worker_init_fn; whether one sample draws from a generator that the data set holds, or from a
              process-wide source that worker_init_fn leaves in one state for workers 0 and 1.
    Expects   a state of its own for each worker and each epoch.
    Means     workers are copies: a generator kept in the data set starts from one state in each of them, and again in each epoch, so the same
              few views come again and again.
    Not for   loaders without workers; evaluation loaders; a worker_init_fn that reaches into the data set; samples made from their own index.
    Source    PyTorch documentation, torch.utils.data, randomness in multi-process data loading; one call of the data set on a copy: exact.
    """

    stage = "data"
    needs = (Need("worker_randomness"),)
    isolates = "random transforms differ between workers and epochs"
    causes = ("repeated-augmentation",)

    def judge(self, evidence, run):
        for where, column in evidence.by_subject("worker_randomness", run).items():
            row = column.last.value
            workers = f"each of the {row['workers']} workers" if row["workers"] > 1 else "the worker"
            if row["kind"] == "held":
                measured = (f"{row['dataset']}.{row['name']} ({row['generator']}) is copied with its state to {workers}, "
                            f"again in each of {row['epochs']} epochs")
                remedies = ("draw with torch.rand or np.random inside __getitem__: torch seeds both for each worker",
                            "or make the generator in worker_init_fn from torch.initial_seed()")
            else:
                measured = f"{row['name']} leaves {row['generator']} in the same state in worker 0 and worker 1, and the samples draw from it"
                remedies = ("seed from torch.initial_seed(), or add the worker's number to the seed",
                            "or leave worker_init_fn out: torch seeds each worker")
            yield self.prove("repeated-augmentation", subject=row["dataset"], step=0, location=where, measured=measured,
                             expected="other numbers in each worker and each epoch", explains=("overfitting", "plateau-high"),
                             message="The random transforms of the training samples repeat: the model sees the same few views again and again.",
                             remedies=remedies)
