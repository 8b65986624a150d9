"""Check: copies of training samples, but for a little noise, in the validation set."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import loss_calls


@dataclass(frozen=True)
class NearCopies(Check):
    """Rows were multiplied with a little noise and then split: copies of one row stand on both sides.

    Sees      distances of evaluation rows to the training rows and to each other: a few rows very near, then none for a long way.
    Expects   no such rows: where rows are drawn one by one, distances grow smoothly from neighbour to neighbour.
    Means     validation measures memory instead of learning. Shown by the distances: of k rows drawn in d dimensions the next one is five times
              as far away as the k-th in one case of 5^(dk); a fifth of the rows and three dimensions are asked for.
    Not for   copies in the training set alone, the training set evaluated (rows equal bit for bit), dense regions, grids, signals with few
              degrees of freedom, one group of rows for each class, copies that were turned or mirrored.
    Source    Kapoor and Narayanan 2023; ratio of neighbour distances: Facco et al. 2017, arXiv 1803.06992.
    """

    least: float = 0.2       # of the evaluation's rows
    clusters: int = 20       # different originals
    dimension: float = 3.0
    columns: float = 0.5     # of the columns are no grid
    classes: int = 4         # so many originals a class at least

    stage = "data"
    needs = (Need("evaluation_copies"),)
    isolates = "evaluation rows are no copies of training rows"
    causes = ("validation-leak",)

    def judge(self, evidence, run):
        shapes = [call["shape"] for _, call, _ in loss_calls(evidence, run) if call.get("function") in ("cross_entropy", "nll_loss")]
        classes = max((shape[1] for shape in shapes if len(shape) > 1), default=2)
        for place, column in evidence.by_subject("evaluation_copies", run).items():
            fact = max(column.values, key=lambda f: f["near"] / f["rows"])
            if fact["near"] < self.least * fact["rows"] or fact["within"] < 0.25 * fact["near"] or fact["dimension"] < self.dimension:
                continue
            if fact["clusters"] < max(self.clusters, self.classes * classes) or fact["columns"] < self.columns:
                continue
            yield self.prove("validation-leak", subject="validation split", step=column.steps[-1], location=place, explains=("validation-too-good",),
                             measured=f"{fact['near']} of {fact['rows']} evaluation rows looked at are copies of training rows but for a little "
                                      f"noise (about {fact['copies']:.0f} of each, {fact['clusters']} different ones)", expected="0",
                             message=f"{fact['near'] / fact['rows']:.0%} of the rows evaluated here are noisy copies of rows that were trained on, "
                                     "so this number says nothing about new data.",
                             remedies=("split first, then oversample or augment the training rows alone",
                                       "in cross-validation, resample inside of each fold"))
            return
