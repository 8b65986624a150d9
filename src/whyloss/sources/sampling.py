"""Random draws that pass no gradient to what they are drawn from, though a later layer is trained on them: a latent without reparameterisation."""

from whyloss.sources import stepfacts  # (facts first: the two import each other)

_DRAWS = {"normal"}   # autograd gives it a derivative of exactly 0; bernoulli too, but Boltzmann machines are trained on such draws on purpose
_LAYERS = {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "matmul", "__matmul__", "addmm", "mm",
           "bilinear", "gru", "lstm", "rnn_tanh"}


def observe(watch, window, loss) -> None:
    """Write `drawn` for each draw from a tensor that wants a gradient, where what is drawn goes into a layer and into nothing else.

    A draw that also meets the tensors it was drawn from (its log-probability) is a score-function estimator: as it should be.
    """
    ancestors = stepfacts._made_by(window, window.index.get(id(loss)))
    draws = [at for at in sorted(ancestors) if window.trace[at].name in _DRAWS and any(window.meta[i].wants_grad for i in window.trace[at].inputs)]
    if not draws:
        return
    users: dict[int, list[int]] = {}
    for at in ancestors:
        for tensor in set(window.trace[at].inputs):
            users.setdefault(tensor, []).append(at)
    for at in draws:
        step = window.trace[at]
        source = set(step.inputs).union(*(stepfacts._made_by(window, i) for i in step.inputs))
        fed = _fed(window, step, users, source)
        if fed is not None:
            watch.observe("drawn", {"operation": step.name.rstrip("_"), "module": step.module, "into": fed}, step.place or "?")


def _fed(window, step, users, source) -> str | None:
    """The module of the first layer that takes the drawn tensor in; None where there is none, or where the draw is scored."""
    stack, seen, found = list(step.outputs), set(), None
    while stack and len(seen) < 100:
        tensor = stack.pop()
        for at in users.get(tensor, []):
            if at in seen:
                continue
            seen.add(at)
            user = window.trace[at]
            others = [i for i in user.inputs if i != tensor]
            if user.name in _LAYERS and any(window.meta[i].leaf and window.meta[i].wants_grad for i in others):
                found = found or user.module or user.place or "?"
            elif any(i in source or window.meta[i].maker in source for i in others):
                return None
            else:
                stack.extend(user.outputs)
    return found
