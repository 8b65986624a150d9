"""The first loss of an untrained model against guessing: one forward pass of a copy.

Two yardsticks from the outputs alone: the uniform guess, ln C, and what these outputs give for labels that have nothing
to do with them. A loss at the second is a matter of scale; far from it, the outputs know something about the labels.
"""

import math

import torch

from whyloss.errors import BadInput
from whyloss.sources import meters
from whyloss.sources.batches import as_tensor, on_device
from whyloss.sources.defaults import any_loss, as_logits, tensor_of
from whyloss.sources.probe import as_found, copies, scalar

ORDERS = 40        # permutations of the labels
FAR = 4.0          # standard deviations of a permuted loss
HARMLESS = 1.5     # nats above ln C: networks with He's initialisation start there and train


def read_start(model, x, y, loss_fn=None) -> dict:
    """Fields of whyloss.Start. Raises BadInput."""
    x, y = as_tensor(x, "x"), as_tensor(y, "y")
    if len(x) != len(y) or not len(x):
        raise BadInput(f"x and y differ in length, or are empty: {len(x)} and {len(y)}")
    with as_found(model), torch.no_grad():
        twin, _, loss_fn, _ = copies(model, _no_optimizer, loss_fn or any_loss)
        device = next((p.device for p in twin.parameters()), torch.device("cpu"))
        x, y = on_device(x, device), on_device(y, device)
        try:
            output = twin(x)
            loss = float(scalar(loss_fn(output, y)))
        except BadInput:
            raise
        except Exception as error:
            raise BadInput(f"loss_fn(model(x), y) raised {type(error).__name__}: {error}") from error
        torch.manual_seed(0)
        read = _numbers if y.is_floating_point() else _classes
        return read(tensor_of(output).detach(), y, loss, loss_fn)


def _no_optimizer(parameters) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters or [torch.zeros(1)], lr=0.0)


def _row(loss, chance, entropy, expected, verdict, message) -> dict:
    return {"loss": loss, "chance": chance, "label_entropy": entropy, "expected": expected, "verdict": verdict,
            "message": f"first loss {loss:.4g}; {message}"}


def _permuted(loss_fn, output, y) -> tuple[float, float]:
    """Mean and standard deviation of the loss for labels in random order."""
    orders = [torch.randperm(len(y), device=y.device) for _ in range(ORDERS)]
    losses = torch.tensor([float(loss_fn(output, y[order])) for order in orders], dtype=torch.double)
    return float(losses.mean()), float(losses.std())


def _classes(output, y, loss: float, loss_fn) -> dict:
    z, labels = as_logits(output.float(), y)
    if z.dim() == 1:
        z = torch.stack([torch.zeros_like(z), z], 1)
    elif z.dim() > 2:
        z, labels = z.movedim(1, -1).reshape(-1, z.shape[1]), labels.reshape(-1)
    kept = labels >= 0  # -100 is ignored by cross_entropy
    z, labels = z[kept], labels[kept].long()
    count = z.shape[1]
    chance, entropy = math.log(count), meters.entropy(labels)
    share = torch.bincount(labels, minlength=count)[:count].float() / max(1, len(labels))
    expected = float(torch.logsumexp(z, 1).mean() - (z @ share).mean())
    fits = len(labels) and int(labels.max()) < count
    own = float(torch.nn.functional.cross_entropy(z, labels)) if fits else math.nan
    _, spread = _permuted(torch.nn.functional.cross_entropy, z, labels) if math.isfinite(own) else (0.0, 0.0)
    verdict, why = _judge(z, labels, loss, own, chance, entropy, expected, max(spread, 1e-6))
    return _row(loss, chance, entropy, expected, verdict,
                f"a uniform guess gives {chance:.4g} (ln {count}), the best constant {entropy:.4g}, these outputs with "
                f"unrelated labels {expected:.4g}: {why}")


def _judge(z, labels, loss, own, chance, entropy, expected, spread) -> tuple[str, str]:
    if not math.isfinite(loss):
        return "not finite", "the forward pass or the loss makes NaN or Inf"
    simplex = float(z.min()) >= 0 and float((z.sum(1) - 1).abs().max()) < 1e-3
    if simplex and abs(loss - own) < 1e-3 * max(1.0, own):
        return "outputs are probabilities", "the model ends in a softmax, the loss takes another one: give it logits"
    if not math.isfinite(own) or abs(loss - own) > 0.05 * max(own, 0.1):
        return "another loss", _ratio(loss / own if own else math.nan, len(labels), z.shape[1])
    away = (loss - expected) / spread
    mapped, right, common = _relabelled(z.argmax(1), labels, z.shape[1])
    if mapped > common + 0.5 * (1 - common) and right < 0.5 * mapped:
        return "labels or wiring wrong", f"{mapped:.0%} of the predictions would be right under other label numbers, " \
                                         f"{right:.0%} are: two parts of the program number the classes differently"
    if loss < 0.8 * entropy and away < -FAR:
        return "knows the labels", "the outputs know the labels before training: a leak, or a trained model"
    if expected > chance + HARMLESS:
        return "logits too large", "the outputs are too large for a start: scale the inputs or the last layer"
    if away > FAR and loss > 1.1 * expected:
        return "labels or wiring wrong", "worse than for labels drawn at random: look at the labels and at the loss"
    if expected > chance + 0.5:
        return "as expected", "somewhat large outputs, which is harmless"
    return "as expected", "as guessing"


def _ratio(ratio: float, samples: int, classes: int) -> str:
    """What a loss that is no plain cross-entropy of these outputs may be."""
    for factor, words in ((samples, "the sum over the samples, not their mean"), (1 / math.log(2), "counted in bits"),
                          (1 / classes, "divided by the number of classes too"),
                          (1 / samples, "divided by the number of samples twice")):
        if abs(ratio / factor - 1) < 0.01:
            return f"the loss is cross-entropy times {ratio:.4g}: {words}"
    return "the loss is not the cross-entropy of these outputs, so chance says nothing about it"


def _relabelled(guess, labels, classes: int) -> tuple[float, float, float]:
    """Share right if each predicted class stood for its commonest label; share right; share of the commonest label."""
    table = torch.zeros(classes, classes)
    table.index_put_((guess.cpu(), labels.cpu()), torch.ones(len(labels)), accumulate=True)
    total = max(1, len(labels))
    return (float(table.max(1).values.sum()) / total, float(table.diagonal().sum()) / total,
            float(table.sum(0).max()) / total)


def _numbers(output, y, loss: float, loss_fn) -> dict:
    """Numbers: the best constant is their mean; targets in random order tell what the outputs know."""
    if not math.isfinite(loss):
        return _row(loss, None, None, None, "not finite", "the forward pass or the loss makes NaN or Inf")
    like = y.reshape(output.shape) if y.numel() == output.numel() else y
    if like.shape != output.shape:
        return _row(loss, None, None, None, "another loss", "outputs and targets differ in size: chance is not known")
    chance = float(loss_fn(like.mean(0, keepdim=True).expand_as(output).contiguous(), y))
    zero = float(loss_fn(torch.zeros_like(output), y))
    expected, spread = _permuted(loss_fn, output, y)
    said = (f"predicting the mean gives {chance:.4g}, predicting 0 {zero:.4g}, these outputs with targets in random "
            f"order {expected:.4g}: ")

    def row(verdict: str, why: str) -> dict:
        return _row(loss, chance, None, expected, verdict, said + why)

    if loss < 0.5 * chance and loss < expected - FAR * max(spread, 1e-9):
        return row("knows the labels", "the outputs know the targets before training")
    if expected > 4 * max(chance, zero):
        return row("outputs too large", "the outputs are far larger than the targets")
    if zero > 25 * chance or chance > 100 or 0 < chance < 1e-4:
        return row("targets not normalised", "bring the targets to mean 0 and standard deviation 1")
    return row("as expected", "as guessing")
