"""Check: labels that may not belong to their inputs."""

from dataclasses import dataclass

from whyloss.check import Check, Need
from whyloss.checks.start import loss_calls


@dataclass(frozen=True)
class LabelsMisaligned(Check):
    """The model can memorise a few samples but finds nothing that holds for all.

    Sees      whether the run learned, the result of the memorising experiment, labels and inputs that vary.
    Expects   what can be memorised can be learned in part.
    Means     a suspicion: labels shuffled, shifted or re-sorted against their inputs. The permutation test decides.
    Not for   trainings that learn, constant inputs, a model that cannot even memorise (a fault of mechanics).
    Source    Zhang et al. 2017: random labels are memorised; own measurements.
    """

    stage = "data"
    needs = (Need("loss_call"), Need("learned"), Need("memorised"))
    isolates = "the labels belong to their inputs"
    causes = ("labels-misaligned",)

    def judge(self, evidence, run):
        memorised = evidence.fact("memorised", run=run) or {}
        if evidence.fact("learned", run=run)["learned"] or not memorised.get("passed"):
            return
        if any(c.values[0].get("between_samples") == 0 for c in evidence.by_subject("input", run).values()):
            return
        for place, call, _calls in loss_calls(evidence, run)[:1]:
            if (call.get("label_entropy") or call.get("target_std") or 0.0) > 0:
                yield self.suspect("labels-misaligned", subject="labels", step=0,
                                   location=place, explains=("flat-at-baseline", "flat-from-start", "validation-at-chance"),
                                   measured="ten samples are memorised, the whole set is not learned",
                                   expected="a set that can be memorised can be learned in part",
                                   message="The mechanics work, yet nothing holds from one sample to the next: labels may not belong to their "
                                           "inputs.", asks={"unseen": True})  # not learning is no evidence of it: the test alone speaks
