"""The same batches on every rank."""

from whyloss.checks.distributed.ranks_see_same_data import RanksSeeSameData
from whyloss.testing import check_contract, evidence_from, findings

NAME = "DistributedDataParallel"


def batches(which, codes=range(8), losses=1, ranks=4, loader=None):
    return [{"ranks": ranks, "which": which, "alike": len(which), "code": code, "losses": losses, "size": 32, "loader": loader,
             "place": "train.py:40"} for code in codes]


def run(**kinds):
    replica = {"kind": NAME, "group": [0, 1, 2, 3], "place": "train.py:30", "ranks": 4}
    return evidence_from(ranks_replica={name: [replica] for name in kinds}, ranks_batch=kinds)


def test_keeps_the_contract():
    check_contract(RanksSeeSameData)


def test_is_unexamined_with_one_process():
    assert any(need.lacking(evidence_from(loss=[1.0] * 9), "main") for need in RanksSeeSameData.needs)


def test_names_the_loader_and_the_ranks():
    found, = findings(RanksSeeSameData(), run(a=batches([0, 1, 2, 3], loader={"place": "data.py:12", "sampler": "RandomSampler"})))

    assert found.cause == "ranks-see-same-data" and found.status == "proven" and str(found.location) == "data.py:12"
    assert "ranks 0, 1, 2, 3" in found.measured and "RandomSampler" in found.measured


def test_finds_a_pair_of_ranks_and_falls_back_on_the_line_of_the_forward():
    found, = findings(RanksSeeSameData(), run(a=batches([1, 3])))

    assert "2 ranks" in found.message and str(found.location) == "train.py:40"


def test_spares_ranks_with_samples_of_their_own():
    assert findings(RanksSeeSameData(), run(a=batches([0]))) == []


def test_spares_one_equal_batch_among_others():
    mixed = batches([0, 1, 2, 3], range(3)) + batches([2], range(3, 8))

    assert findings(RanksSeeSameData(), run(a=mixed)) == []


def test_spares_a_constant_input_whose_losses_differ():
    assert findings(RanksSeeSameData(), run(a=batches([0, 1, 2, 3], [7] * 8, losses=4))) == []


def test_spares_equal_noise_for_a_generator_whose_critic_sees_samples_of_its_own():
    assert findings(RanksSeeSameData(), run(a=batches([0, 1, 2, 3]), b=batches([0]))) == []
