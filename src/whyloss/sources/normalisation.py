"""Batch normalisation as it was called: over how many values, and whether the running statistics are those of the data.

Seen as an operation, so hand-written nets count like modules; the running tensors are the user's own, read at the end.
"""

import math

import torch

_ROLES = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
_DEFAULTS = {"training": False, "momentum": 0.1, "eps": 1e-5}
_BATCHES = 8   # of the last traced training calls, pooled


class Normalisation:
    """Part of a Watch: every batch norm of the traced steps."""

    def __init__(self, watch):
        self.watch = watch
        self.sites: dict[str, dict] = {}

    def operation(self, window, step) -> None:
        if step.name != "batch_norm":
            return
        given = {**_DEFAULTS, **dict(zip(_ROLES, step.args)), **step.kwargs}
        values = given.get("input")
        if not isinstance(values, torch.Tensor) or values.dim() < 2 or not values.is_floating_point():
            return
        site = self.sites.setdefault(step.module or step.place or "?", {"trained": 0, "evaluated": 0, "unfrozen": 0, "recent": []})
        if window.evaluation or not given["training"]:
            site["evaluated"] += int(window.evaluation and not given["training"])
            return
        self._trained(site, step, given, values)

    def _trained(self, site, step, given, values) -> None:
        site["trained"] += 1
        weight, mean = given.get("weight"), given.get("running_mean")
        frozen = isinstance(weight, torch.Tensor) and not weight.requires_grad
        site["unfrozen"] += int(not frozen)
        site.update(momentum=given["momentum"], eps=given["eps"], values=values.numel() // values.shape[1], shape=list(values.shape),
                    place=step.place, frozen=frozen, running=(mean, given.get("running_var")) if isinstance(mean, torch.Tensor) else None)
        if frozen and "at_freezing" not in site and site["running"] is not None:
            site["at_freezing"] = tuple(t.detach().float().clone() for t in site["running"])
        if values.numel() // values.shape[1] > 1:
            with torch.no_grad():
                flat = values.detach().float().transpose(0, 1).reshape(values.shape[1], -1)
                site["recent"] = [*site["recent"], (flat.mean(1), flat.var(1))][-_BATCHES:]

    # ------------------------------------------------------------------ at the end
    def at_the_end(self) -> None:
        start = self._before_the_first_step()
        for name, site in self.sites.items():
            if site["trained"]:
                self.watch.observe("batch_norm", self._row(site, start), name, 0)

    def _before_the_first_step(self) -> dict[int, torch.Tensor]:
        """id of a buffer -> its value before the first step."""
        program, known = self.watch.program, {}
        for key, twin in program.modules.items():
            for now, before in zip(program.originals[key].buffers(), twin.buffers()):
                known[id(now)] = before.detach().float()
        return known

    def _row(self, site, start) -> dict:
        row = {k: site[k] for k in ("trained", "evaluated", "momentum", "eps", "values", "shape", "place", "frozen")}
        row["tracked"] = site["running"] is not None
        if not row["tracked"]:
            return row
        mean, variance = (t.detach().float() for t in site["running"])
        first = start.get(id(site["running"][0])), start.get(id(site["running"][1]))
        row["fresh"] = first[0] is not None and not bool(first[0].any()) and bool((first[1] == 1).all())
        row["still"] = not bool(mean.any()) and bool((variance == 1).all())
        row["pretrained"] = bool(site["unfrozen"]) or first[0] is not None and not row["fresh"]
        if site["frozen"] and "at_freezing" in site:
            before = site["at_freezing"]
            row["drift"], row["drift_log"] = _distance(mean, variance, *before, site["eps"])
        if site["recent"] and site["recent"][-1][0].shape == mean.shape:
            same = [pair for pair in site["recent"] if pair[0].shape == mean.shape]
            means, variances = torch.stack([m for m, _ in same]), torch.stack([v for _, v in same])
            middle, spread = means.mean(0), variances.mean(0)
            row["off"], row["off_log"] = _distance(mean, variance, middle, spread, site["eps"])
            row["over_eps"] = float(spread.max()) / max(site["eps"], 1e-30)
        return row


def _distance(mean, variance, other_mean, other_variance, eps) -> tuple[float, float]:
    """(mean distance in standard deviations, mean |log| of the ratio of variances) over the channels."""
    scale = (other_variance + eps).sqrt()
    apart = float(((mean - other_mean).abs() / scale).mean())
    ratio = float(((variance + eps) / (other_variance + eps)).clamp_min(1e-30).log().abs().mean())
    return (apart, ratio) if math.isfinite(apart) and math.isfinite(ratio) else (0.0, 0.0)
