"""Sequences that the models of a captured step are fed: tokens, or numbers with a position axis."""

SHORTEST = 4   # positions
_LOOKED_UP = {"embedding", "__getitem__", "one_hot", "index_select"}


def sequences(tape) -> list[tuple]:
    """(key, (rows, positions[, features]), order of axes that gives it) of each constant that may be a batch of sequences."""
    keys = []
    for node in tape.nodes:
        if node.module is not None or node.name in _LOOKED_UP:
            keys += [ref for ref in node.inputs if isinstance(ref, int) and ref not in keys]
    found = []
    for key in keys:
        value = tape.constants[key]
        counted = not value.is_floating_point() and not value.is_complex() and str(value.dtype) != "torch.bool"
        orders = ()
        if counted and value.dim() == 2:
            orders = ((0, 1), (1, 0))
        elif value.is_floating_point() and value.dim() == 3:
            orders = ((0, 1, 2), (1, 0, 2), (0, 2, 1))  # each of these is its own inverse
        for order in orders:
            one = value.permute(*order)
            if one.shape[1] >= SHORTEST:
                found.append((key, one, order))
    return found


def at_the_end(watch) -> None:
    """Observe whether the main loss's first whole step is fed sequences, so that the exact tests on a copy are worth while."""
    main = watch.evidence.fact("main_loss_place")
    for tape in watch.program.whole_tapes().values():
        if main is None or tape.place == main:
            shapes = {tuple(tape.constants[key].shape) for key, _, _ in sequences(tape)}
            for shape in shapes:
                watch.observe("sequence_input", {"shape": list(shape)}, tape.place or "backward", tape.step)
            return
