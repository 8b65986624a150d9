"""Causes that need several processes."""

from whyloss.cause import Cause

CAUSES = [
    Cause(
        "ranks-diverge", "distributed",
        title="ranks have different weights",
        meaning="Parameters differ between ranks that should hold the same model.",
        why="Something is done on one rank only: clipping, a skipped step, another seed after wrapping. From then on "
            "the average gradient belongs to none of the models.",
        remedies=(
            "do on every rank what changes gradients or weights",
            "compare a checksum of the parameters now and then",
        ),
        source="PyTorch documentation, DistributedDataParallel: replicas start equal and get equal gradients",
    ),
    Cause(
        "gradients-not-reduced", "distributed",
        title="gradients are not averaged",
        meaning="The forward pass goes past the wrapper, so gradients are not averaged over the ranks.",
        why="Only the forward of the wrapper prepares the reduction. Calling `wrapper.module(x)` or a method of the "
            "inner module trains every rank for itself.",
        remedies=(
            "call the wrapper itself",
            "move the work into `forward`",
            "use `no_sync` only for all but the last micro-batch",
        ),
        source="PyTorch documentation, DistributedDataParallel: forward synchronisation",
    ),
    Cause(
        "ranks-see-same-data", "distributed",
        title="every rank sees the same samples",
        meaning="All ranks train on the same samples.",
        why="Without a distributed sampler, or with the same shard everywhere, the average over the ranks is the "
            "gradient of one: n devices do the work of a single one.",
        remedies=(
            "use `DistributedSampler`, and `set_epoch` in each epoch",
            "shard an iterable data set by rank and worker",
        ),
        source="PyTorch documentation, DistributedSampler",
    ),
    Cause(
        "batch-statistics-not-synchronised", "distributed",
        title="batch norm per rank",
        meaning="Batch normalisation uses the few samples of its own rank only.",
        why="With small batches per device, or shards that differ, each rank normalises in its own way and running "
            "statistics drift apart.",
        remedies=(
            "convert with `SyncBatchNorm.convert_sync_batchnorm`",
            "mix the shards, or use group normalisation",
        ),
        source="PyTorch documentation, SyncBatchNorm",
    ),
]
