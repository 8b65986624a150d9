"""A remedy as a small diff: only where the line is known, the change is mechanical, and the line reads as expected. Else nothing."""

import re

from whyloss.finding import Finding
from whyloss.render import words
from whyloss.render.source import text_of

_MODULE = r"(?:F|self|functional|torch|nn\.functional|torch\.nn\.functional)"
_LOGITS = ((_MODULE + r"\.(?:log_)?{0}\((\w[\w.\[\]]*(?:\([\w., ]*\))?)(?:,\s*(?:dim=)?-?\d+)?\)", r"\1"),
           (r"\.(?:log_)?{0}\((?:(?:dim=)?-?\d+)?\)", ""), (r",\s*(?:torch\.)?nn\.{1}\((?:(?:dim=)?-?\d+)?\)(?=[,)\s])", ""))


def _without(function: str, module: str):
    return tuple((pattern.format(function, module), new) for pattern, new in _LOGITS)


# cause -> (pattern on the line, what takes its place); the first that matches once is used
_REPLACED = {
    "softmax-before-cross-entropy": _without("softmax", "Softmax"),
    "sigmoid-before-bce-with-logits": _without("sigmoid", "Sigmoid"),
    "nll-without-log-softmax": ((r"\bnll_loss\(", "cross_entropy("), (r"\bNLLLoss\(", "CrossEntropyLoss(")),
    "bce-on-logits": ((r"\bbinary_cross_entropy\(", "binary_cross_entropy_with_logits("), (r"\bBCELoss\(", "BCEWithLogitsLoss(")),
    "loss-reduction-scale": ((r"""(reduction\s*=\s*)(["'])sum\2""", r"\1\2mean\2"),),
    "loss-sign-flipped": ((r"\(-(\w+)\)\.backward\(", r"\1.backward("), (r"^(\s*\w*loss\s*=\s*)-(?=[A-Za-z_])", r"\1")),
}
_RATE = re.compile(r"\blr\s*=\s*\d[\d.eE+-]*")
_NAMED = re.compile(r"\blr\s*=\s*([A-Za-z_]\w*)\b(?!\.)")
_CONSTANT = re.compile(r"^(\w+\s*=\s*)\d[\d.eE+-]*(\s*(?:#.*)?)$")
_NEAR = re.compile(r"learning rate near (\S+)")
_BACKWARD = re.compile(r"^(\s*)\w+\.backward\([^;]*\)\s*$")
_OPTIMIZER = re.compile(r"^\s*((?:self\.)?\w+)\s*=\s*(?:torch\.)?(?:optim\.)?(?:SGD|Adam|AdamW|RMSprop|Adagrad|NAdam|RAdam)\(", re.MULTILINE)


def diff(finding: Finding) -> list[tuple[str, int | str, str]]:
    """("+", "-" or " ", line number, text) of the change; [] where it takes a person to make it."""
    if finding.location is None or not finding.sure:
        return []
    lines = text_of(finding.location.file)
    at = finding.location.line - 1
    if not 0 <= at < len(lines):
        return []
    if finding.cause in ("step-never-called", "gradients-not-cleared"):
        return _inserted(lines, at, finding.cause)
    if finding.cause.startswith("learning-rate"):
        at, changed = _new_rate(lines, at, finding)
    else:
        changed = _replaced(lines[at], finding.cause)
    if changed is None or changed == lines[at]:
        return []
    return [("-", at + 1, lines[at]), ("+", at + 1, changed)]


def _replaced(line: str, cause: str) -> str | None:
    for pattern, new in _REPLACED.get(cause, ()):
        if len(re.findall(pattern, line)) == 1:
            return re.sub(pattern, new, line)
    return None


def _new_rate(lines: list[str], at: int, finding: Finding) -> tuple[int, str | None]:
    """(line, its new text): the rate that the experiment found, in place of the one number on the line or of the constant that the line names."""
    near = _NEAR.search(" ".join(words.remedies(finding)))
    if near is None:
        return at, None
    if len(_RATE.findall(lines[at])) == 1:
        return at, _RATE.sub(f"lr={near[1]}", lines[at])
    named = _NAMED.findall(lines[at])
    places = [i for i, line in enumerate(lines) if re.match(rf"{re.escape(named[0])}\s*=[^=]", line)] if len(named) == 1 else []
    constant = _CONSTANT.match(lines[places[0]]) if len(places) == 1 else None
    return (places[0], f"{constant[1]}{near[1]}{constant[2]}") if constant else (at, None)


def _inserted(lines: list[str], at: int, cause: str) -> list[tuple[str, int | str, str]]:
    """step() behind the backward(), or zero_grad() in front of it, of the only optimizer of the file."""
    backward = _BACKWARD.match(lines[at])
    names = set(_OPTIMIZER.findall("\n".join(lines)))
    if not backward or len(names) != 1:
        return []
    call = "step" if cause == "step-never-called" else "zero_grad"
    new, kept = ("+", "", f"{backward[1]}{names.pop()}.{call}()"), (" ", at + 1, lines[at])
    return [kept, new] if call == "step" else [new, kept]
