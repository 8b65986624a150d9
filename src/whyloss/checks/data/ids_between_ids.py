"""Check: label maps with ids that exist only on the borders of regions, as an interpolation makes them."""

from dataclasses import dataclass

from whyloss.check import Check, Need


@dataclass(frozen=True)
class IdsBetweenIds(Check):
    """Several ids of a label map have no inside anywhere: each of their pixels lies between two other ids.

    Sees      the label maps of all captured steps: the share of each id's pixels with four equal neighbours, and of those with a smaller id on
              one side and a larger one on the other.
    Expects   ids that form regions; at most a contour class or two.
    Means     the masks were resized (or rotated, or stored) like pictures: between ids 2 and 10 interpolation puts 3 to 9, which are no classes
              there.
    Not for   quantities cut into levels (every level has an inside somewhere), pixels that are their own target, one or two contour classes.
    Source    bilinear interpolation of a step is monotonic; the shares and counts are a choice.
    """

    ids: int = 3        # without an inside, at least
    regions: int = 2    # ids with one, at least
    pixels: int = 100   # of the ids without, at least
    steps: int = 2      # batches looked at, at least

    stage = "data"
    needs = (Need("label_borders"),)
    isolates = "each id of a label map has an inside"
    causes = ("labels-corrupted",)

    def judge(self, evidence, run):
        fact = next(iter(evidence.by_subject("label_borders", run).values())).values[0]
        edges, regions = fact["edges"], fact["regions"]
        if len(edges) < self.ids or len(regions) < self.regions or fact["edge_pixels"] < self.pixels or fact["steps"] < self.steps:
            return
        if not all(min(regions) < i < max(regions) for i in edges) or set(edges) | set(regions) != set(fact["ids"]):
            return
        where = next(iter(evidence.by_subject("loss_call", run)), None) or evidence.fact("main_loss_place", run=run)
        yield self.prove("labels-corrupted", subject="targets", step=0, location=where, explains=("plateau-high",),
                         measured=f"ids {_listed(edges)} have no pixel inside a region in {fact['steps']} batches: {fact['edge_pixels']} of "
                                  f"{fact['pixels']} pixels, between the regions {_listed(regions)}",
                         expected="ids that form regions",
                         message=f"The ids {_listed(edges)} lie only on borders between other ids, as an interpolation makes them: the masks were "
                                 "resized like pictures.",
                         remedies=("resize, rotate and store masks with nearest-neighbour interpolation",
                                   "compare the set of ids before and after each transform"))


def _listed(ids) -> str:
    return ", ".join(map(str, ids[:8])) + ("" if len(ids) <= 8 else f" and {len(ids) - 8} more")
