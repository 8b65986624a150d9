"""What the name of one logged column says, read word by word. `val` is a word of "val_loss" and no word of "value_loss": substrings never count."""

import re
from dataclasses import dataclass

TRAINING = {"train", "training", "trn", "tr", "learn"}
HELD_OUT = {"val", "valid", "validation", "vali", "eval", "evaluation", "dev", "test", "testing", "heldout", "holdout", "vld"}
SHORT_HELD_OUT = {"te", "va", "vl", "cv", "tst"}  # only beside one word: "te_loss", "va acc"
LOSS = {"loss", "losses", "nll", "ce", "xent", "bce", "crossentropy", "bpc", "bpb", "cost", "elbo", "objective", "criterion"}
ERROR = {
    "mse",
    "mae",
    "rmse",
    "mape",
    "smape",
    "huber",
    "l1",
    "l2",
    "error",
    "err",
    "ppl",
    "perplexity",
    "wer",
    "cer",
    "fid",
    "brier",
    "ece",
    "deviance",
}
SQUARED = {"mse", "rmse", "mae", "huber", "l1", "l2"}  # they can be the loss itself where no column is called loss
ACCURACY = {
    "acc",
    "accuracy",
    "accuracies",
    "f1",
    "map",
    "ap",
    "precision",
    "recall",
    "auc",
    "auroc",
    "auprc",
    "iou",
    "miou",
    "dice",
    "bleu",
    "sacrebleu",
    "rouge",
    "rouge1",
    "rouge2",
    "rougel",
    "r2",
    "psnr",
    "ssim",
    "top1",
    "top5",
    "em",
    "ndcg",
    "mrr",
    "kappa",
    "mcc",
    "specificity",
    "sensitivity",
    "spearman",
    "pearson",
    "spearmanr",
    "jaccard",
    "fitness",
    "chrf",
    "meteor",
    "hits",
    "acc1",
    "acc5",
    "prec1",
    "prec5",
    "f1score",
    "win",
    "accs",
}
REWARD = {"reward", "rewards", "return", "returns", "rew", "episode", "episodic", "ep", "episodes", "rollout"}
ACTOR_CRITIC = {
    "critic",
    "actor",
    "policy",
    "pg",
    "vf",
    "qf",
    "qf1",
    "qf2",
    "td",
    "advantage",
    "advantages",
    "bellman",
    "ppo",
    "surrogate",
    "sac",
    "ddpg",
}
ADVERSARIAL = {"adv", "adversarial", "disc", "discriminator", "generator", "gan", "dis", "netd", "netg", "wasserstein", "hingegan"}
DERIVED = {"best", "min", "max", "std", "var", "weight", "weights", "coef", "coeff", "coefficient", "ratio", "delta", "patience", "lambda", "target"}
TIME = {
    "time",
    "wall",
    "seconds",
    "second",
    "sec",
    "secs",
    "duration",
    "elapsed",
    "runtime",
    "timestamp",
    "eta",
    "hours",
    "minutes",
    "ms",
    "fps",
    "speed",
    "throughput",
    "ups",
    "wps",
    "wpb",
    "flos",
    "flops",
    "relative",
    "walltime",
    "datetime",
    "date",
    "dt",
    "mfu",
    "latency",
    "ips",
}
COUNTS = {"number", "num", "count", "samples", "tokens", "memory", "mem", "gpu", "cpu", "ram", "size", "seed", "rank"}
EPOCH = {"epoch", "epochs", "ep"}
STEP = {
    "step",
    "steps",
    "iter",
    "iters",
    "iteration",
    "iterations",
    "timesteps",
    "timestep",
    "batch",
    "batches",
    "update",
    "updates",
    "globalstep",
    "row",
    "index",
}
WHOLE = {
    "total",
    "mean",
    "avg",
    "average",
    "overall",
    "sum",
    "all",
    "full",
    "running",
    "combined",
    "final",
    "global",
    "value",
    "values",
    "log",
    "logs",
    "metric",
    "metrics",
    "scalar",
    "model",
    "dataset",
    "set",
    "curve",
    "raw",
    "history",
    "main",
}
IDENTITY = {"run", "trial", "experiment", "seed", "fold", "model", "config", "id", "mutant", "layer", "hash", "combination"}


@dataclass(frozen=True)
class Words:
    """One column name taken apart.

    kind: "loss", "error", "accuracy", "reward", "not-a-loss", "adversarial", "learning-rate", "gradient-norm", "loss-scale",
    "time", "epoch", "step", "other". split: "train", "validation" or "" (not said). grain: "step", "epoch" or "". topic: the words that are left."""

    name: str
    kind: str
    split: str
    grain: str
    topic: tuple[str, ...]
    plain: bool = False  # the name has the word loss itself, not an error that can be one


# what a loss, an accuracy and a rate are called elsewhere; the longest first, for one holds the other
ABROAD = (
    ("trainingsverlust", "train loss"), ("validierungsverlust", "val loss"), ("testverlust", "test loss"), ("verlust", "loss"),
    ("genauigkeit", "accuracy"),
    ("lernrate", "lr"), ("训练损失", "train loss"), ("验证损失", "val loss"), ("损失", "loss"), ("準確率", "accuracy"), ("准确率", "accuracy"),
    ("学习率", "lr"), ("損失", "loss"), ("pérdida", "loss"), ("perdida", "loss"), ("perte", "loss"),
)  # fmt: skip


def tokens(name: str) -> tuple[str, ...]:
    """Lower-case words: cut at everything that is no letter or digit, at camel case, and "trainloss", "valloss" in two."""
    words, lower = [], name.lower()
    for word, english in ABROAD:
        if word in lower and (not word.isascii() or re.search(rf"(?<![a-z]){word}(?![a-z])", lower)):  # Chinese parts no words
            name = lower = lower.replace(word, f" {english} ")
    for chunk in re.split(r"[^0-9A-Za-z]+", name.strip()):
        lower = chunk.lower()
        if lower in ACCURACY | ERROR | LOSS:
            words.append(lower)
            continue
        for piece in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]+|[0-9]+", chunk) or [chunk]:
            words += _unglued(piece.lower())
    return tuple(w for w in words if w)


def _unglued(word: str) -> list[str]:
    for part in (*TRAINING, *HELD_OUT):
        rest = word.removeprefix(part)
        if rest != word and rest in ("loss", "losses", "acc", "accuracy", "error", "err", "nll", "ppl"):
            return [part, rest]
    return [word.removesuffix("loss"), "loss"] if word.endswith("loss") and len(word) > 4 else [word]


def read_name(name: str) -> Words:
    """The words of a column, judged. Never raises; a name that says nothing is "other"."""
    words = tokens(name)
    bare = {re.sub(r"\d+$", "", w) or w for w in words} | set(words)
    short = len(words) == 2 and bare & SHORT_HELD_OUT and bare & (LOSS | ERROR | ACCURACY)
    split = "validation" if bare & HELD_OUT or short else "train" if bare & TRAINING else ""
    grain = words[-1] if words and words[-1] in ("step", "epoch") and len(words) > 1 else ""
    kind = _kind(words, bare)
    silent = TRAINING | HELD_OUT | WHOLE | {"loss", "losses", "step", "epoch", "by", "per", "of", "the", "iter", "batch", "on"}
    silent |= SHORT_HELD_OUT if short else set()
    silent |= set() if bare & {"loss", "losses"} else LOSS | {"cross", "entropy"} if bare & LOSS or "cross" in bare else SQUARED
    topic = tuple(w for w in words if w not in silent)
    return Words(name, kind, split, grain, topic, bool(bare & LOSS))


def _kind(words, bare) -> str:
    text = " ".join(words)
    if "learning rate" in text or bare & {"lr", "learningrate"}:
        return "learning-rate"
    if bare & {"grad", "gradient", "gradients", "grads"} and "norm" in bare or bare & {"gnorm", "gradnorm"} or text == "total norm":
        return "gradient-norm"
    if bare & {"scale", "scaler"} and bare & {"loss", "amp", "grad", "scaler"}:
        return "loss-scale"
    if bare & TIME or {"it", "s"} <= bare:
        return "time"
    loss, cross = bool(bare & LOSS), "cross entropy" in text
    if not loss and not bare & (ACCURACY | ERROR) and bare & EPOCH and not bare & REWARD - EPOCH and not bare & {"rew", "reward", "ret", "len"}:
        return "epoch"
    if loss or cross or bare & ERROR:
        return _kind_of_loss(words, bare, text, loss or cross)
    if bare & {"kl", "kld", "entropy", "logits", "logps", "logratio"}:
        return "not-a-loss"
    if bare & ACCURACY:
        return "accuracy"
    if bare & {"reward", "rewards", "return", "returns", "rew", "ret", "episodic"} and not bare & {"chosen", "rejected", "margins", "margin"}:
        return "reward" if not bare & DERIVED and "history" not in bare else "other"
    return "step" if bare & STEP and not bare & COUNTS - {"num", "number"} else "other"


def _kind_of_loss(words, bare, text, named) -> str:
    if bare & DERIVED and not bare & {"weighted"}:
        return "other"
    if not named and bare & COUNTS:
        return "other"
    if bare & ADVERSARIAL or len(words) > 1 and bare & {"d", "g"} and _letters_next_to_loss(words):
        return "adversarial"
    entropy = "entropy" in bare and "cross entropy" not in text
    if (
        entropy
        or bare & ACTOR_CRITIC
        or bare & {"kl", "kld"}
        or bare & {"reward", "rewards"}
        or "value loss" in text
        or bare & {"q"}
        and named
        or "alpha loss" in text
    ):
        return "not-a-loss"
    if named and len(words) == 2 and bare & {"pi", "v"}:  # an actor's and a critic's
        return "not-a-loss"
    return "loss" if named or bare & SQUARED else "error"


def _letters_next_to_loss(words) -> bool:
    """ "loss_D", "G_loss", "errD_real": the letter stands beside the loss."""
    near = {"loss", "losses", "err", "error"}
    return any({a, b} & near and {a, b} & {"d", "g"} for a, b in zip(words, words[1:]))
