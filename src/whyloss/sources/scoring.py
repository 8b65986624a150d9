"""What is compared with labels outside the gradient: which model calls a score came from, in which mode, and by what comparison.

Every tensor that a root module returned, or that carries a gradient, and everything computed from it outside modules is
followed by identity, so that a score can be traced back to its calls whatever the loop looks like.
"""

import hashlib
import weakref
from collections import deque
from dataclasses import dataclass, field

import torch

from whyloss.sources.lossfunctions import LOSSES
from whyloss.sources.structure import tensors_in

CALLS = 512         # unfinished calls remembered
FOLLOWED = 20_000   # tensors followed at once
ROWS_KEPT = 32      # comparisons written down per line

_COMPARE = {"eq", "__eq__", "ne", "__ne__"}
_ORDER = {"gt", "ge", "lt", "le", "__gt__", "__ge__", "__lt__", "__le__", "greater", "less", "greater_equal", "less_equal"}
_OVERLAP = {"__and__", "__rand__", "__or__", "__ror__", "__xor__", "__rxor__", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and",
            "logical_or", "logical_xor", "mul", "__mul__", "__rmul__", "multiply"}   # what intersection and union are made of
_UNIT = {"sigmoid", "softmax", "sigmoid_"}   # values strictly between 0 and 1
_KEEP = {"view", "reshape", "flatten", "squeeze", "unsqueeze", "float", "int", "long", "bool", "double", "half", "to", "cpu", "cuda", "detach",
         "contiguous", "clone", "type", "type_as", "expand", "expand_as", "view_as", "reshape_as", "t", "transpose", "permute", "data", "T", "byte",
         "__getitem__", "cat", "stack", "hstack", "vstack"}
_EXITS = {"numpy", "tolist", "__array__"}


@dataclass(eq=False)
class Call:
    """One call of a root module: the parts in training mode that change its output, and what became of its output."""

    place: str
    awake: list
    kinds: dict
    root_training: bool
    evaluation: bool
    clock: int
    monitor: bool = False      # the batch that was just trained on
    repeated: bool = False     # the same rows as another call of this evaluation
    scored: bool = False
    trained: bool = False
    inputs: list = field(default_factory=list)   # weak references


@dataclass
class Track:
    """What is known of a followed tensor."""

    ref: weakref.ref
    calls: tuple
    unit: bool = False                             # made by sigmoid or softmax
    made: dict = field(default_factory=dict)       # how it was made a prediction: {"by", "axis", "size", "of"}


class Scoring:
    """Part of a Watch."""

    def __init__(self, watch):
        self.watch = watch
        self.tracks: dict[int, Track] = {}
        self.calls: deque[Call] = deque()
        self.tallies: dict[str, dict] = {}
        self.rows: dict[str, int] = {}
        self.tables: dict[str, tuple] = {}   # line -> (clock, {(predicted, label): counts in two halves})
        self.prints: deque[tuple] = deque(maxlen=256)
        self.last_trained: list = []
        self.current: Call | None = None

    # ------------------------------------------------------------------ calls of root modules
    def call_begins(self, module, args, kwargs, evaluation: bool, where) -> None:
        awake = awake_parts(module)
        call = Call(where or "evaluation", [name for name, _ in awake], dict(awake), bool(module.training), evaluation, self.watch.clock)
        if awake and evaluation:
            given = next((t for t in tensors_in((args, kwargs)) if t.dim() >= 1 and t.numel()), None)
            call.monitor = given is not None and any(r() is given for r in self.last_trained)
            call.repeated = given is not None and self._seen_before(given)
        call.inputs = [weakref.ref(t) for t in tensors_in((args, kwargs))][:2]
        self.current = call
        self.calls.append(call)
        while len(self.calls) > CALLS:
            self._conclude(self.calls.popleft())

    def _seen_before(self, given: torch.Tensor) -> bool:
        """Whether these rows were evaluated before since the last step, or are there several times: averaging on purpose."""
        rows = given.detach()[:64].reshape(min(len(given), 64), -1)[:, :2048]
        rows = rows.float().cpu() if rows.dtype == torch.bfloat16 else rows.cpu()
        key = (self.watch.clock, hashlib.blake2b(rows.contiguous().numpy().tobytes(), digest_size=8).digest(), tuple(given.shape))
        known = key in self.prints
        self.prints.append(key)
        return known or len(rows) > 2 and len(torch.unique(rows, dim=0)) <= 0.6 * len(rows)

    def call_over(self, result) -> None:
        call, self.current = self.current, None
        if call is None:
            return
        for tensor in tensors_in(result):
            self._follow(tensor, (call,))

    def inside(self, name: str, module: str, args, kwargs, place) -> None:
        """Functional dropout and batch statistics inside the running call."""
        call = self.current
        if call is None:
            return
        kind = active_function(name, args, kwargs)
        if kind is not None and module not in call.kinds and (place or module):
            label = module or place
            call.awake.append(label)
            call.kinds[label] = kind

    def differentiated(self, loss) -> None:
        track = self.tracks.get(id(loss))
        if track is not None and track.ref() is loss:
            for call in track.calls:
                call.trained = True
                self.last_trained = call.inputs
        else:  # a step that is not looked into: what it computed with gradients since the last one may all be in it
            for call in self.calls:
                if not call.evaluation and call.clock == self.watch.clock:
                    call.trained = True

    # ------------------------------------------------------------------ functions outside modules
    def concerns(self, args) -> bool:
        """Whether a followed tensor, or one with a gradient, is among the first arguments: cheap, asked for every function."""
        for thing in args[:2]:
            if isinstance(thing, (list, tuple)):
                thing = thing[0] if thing else None
            if isinstance(thing, torch.Tensor) and (id(thing) in self.tracks or thing.requires_grad):
                return True
        return False

    def heard(self, name: str, args, kwargs, result) -> None:
        """A torch function between module calls, with its result."""
        given = [t for t in args if isinstance(t, torch.Tensor)]
        if args and isinstance(args[0], (list, tuple)):
            given += [t for t in args[0] if isinstance(t, torch.Tensor)][:64]
        given += [t for t in kwargs.values() if isinstance(t, torch.Tensor)]
        tracks = [self._track(t) for t in given]
        known = [t for t in tracks if t is not None]
        if not known:
            return
        if name in _COMPARE and len(given) >= 2:
            self._compared(name, given, tracks, result)
        elif name in LOSSES and len(given) >= 2 and tracks[0] is not None and tracks[1] is None and varies(given[1]):
            self._scored(tracks[0])
            if given[0].dim() == 2 and given[0].shape[1] > 1:
                self._confused(tracks[0], given[0].detach().argmax(1), given[1])
        elif name in _EXITS and known[0].made:
            self._left(given[0], known[0])
        elif name in _OVERLAP and len(given) == 2 and known[0].made and len(known) == 1:
            self._overlapped(given, tracks, result)
        if len(self.tracks) > FOLLOWED:
            return
        calls = tuple(dict.fromkeys(call for track in known for call in track.calls))[-64:]
        made, unit = self._made(name, args, kwargs, given, known[0])
        for tensor in tensors_in(result):
            self._follow(tensor, calls, unit, made)

    def _made(self, name, args, kwargs, given, track) -> tuple[dict, bool]:
        """(how the result became a prediction, whether it lies strictly between 0 and 1)."""
        plain = name.strip("_")
        if name in _UNIT:
            return {}, True
        if plain in ("argmax", "max", "argmin") and (len(args) > 1 or "dim" in kwargs) or plain == "topk":
            axis = kwargs.get("dim", args[1] if len(args) > 1 and plain != "topk" else -1)
            shape = tuple(given[0].shape)
            if isinstance(axis, int) and shape and -len(shape) <= axis < len(shape):
                made = {"by": plain, "axis": axis % len(shape), "size": shape[axis], "of": list(shape)}
                return made | ({"place": self._here()} if shape[axis] == 1 else {}), False
        if name in _ORDER and len(args) > 1 and isinstance(args[1], (int, float)):
            return {"by": "threshold", "bound": float(args[1]), "unit": track.unit, "side": plain[0]}, False
        if plain in ("round", "sign"):
            return {"by": plain, "unit": track.unit}, False
        if name in _KEEP:
            return track.made, track.unit
        if name in _COMPARE and len(given) == 1 and track.made.get("by") in ("argmax", "max"):
            return track.made | {"class": True}, False   # is it this class? One class of a score by class
        return {}, False

    def _compared(self, name, given, tracks, result) -> None:
        """A prediction beside something that no model made: a score."""
        if not isinstance(result, torch.Tensor) or (tracks[0] is None) == (tracks[1] is None):
            return
        at = 0 if tracks[0] is not None else 1
        prediction, target, track = given[at], given[1 - at], tracks[at]
        if target.numel() < 2 or not prediction.numel():
            return
        self._scored(track)
        if track.made.get("by") in ("argmax", "max") and track.made["size"] > 1 and "class" not in track.made:
            self._confused(track, prediction, target)
        where = self._here()
        if self.rows.get(where, 0) >= ROWS_KEPT:
            return
        self.rows[where] = self.rows.get(where, 0) + 1
        equal = float(result.detach().float().mean())
        row = {"prediction": list(prediction.shape), "target": list(target.shape), "result": list(result.shape), "made": dict(track.made),
               "floating": prediction.is_floating_point(),
               "whole": bool((prediction == prediction.round()).all()) if prediction.is_floating_point() else True,
               "equal": equal if name.strip("_") == "eq" else 1 - equal, "low": float(prediction.min()), "high": float(prediction.max()),
               "target_low": float(target.min()), "target_high": float(target.max()), "explicit": is_view_pair(prediction, target)}
        self.watch.observe("comparison", row, where)

    def _confused(self, track, prediction, target) -> None:
        """Which label was there for which predicted class, in the last evaluation from this line; rows in two halves."""
        if prediction.shape != target.shape or target.dim() != 1 or target.is_floating_point() or not track.calls or \
                not all(call.evaluation for call in track.calls):
            return
        where, clock = self._here(), self.watch.clock
        if where not in self.tables or self.tables[where][0] != clock:
            self.tables[where] = (clock, {})
        table = self.tables[where][1]
        for at, pair in enumerate(zip(prediction.tolist(), target.tolist())):
            if len(table) > 4096:
                return
            table.setdefault(pair, [0, 0])[at % 2] += 1

    def _left(self, tensor, track) -> None:
        """A prediction that is handed to NumPy or Python: how it was made is still known."""
        self._scored(track)
        where = self._here()
        if track.made.get("by") in ("argmax", "max") and self.rows.get(where, 0) < ROWS_KEPT:
            self.rows[where] = self.rows.get(where, 0) + 1
            self.watch.observe("prediction_left", {"prediction": list(tensor.shape), "made": dict(track.made)}, where)
            if track.made["size"] == 1 and tensor.numel():
                self._used("exported", tensor, track, where)

    def _overlapped(self, given, tracks, result) -> None:
        """A predicted mask beside one that no model made: an intersection or a union of areas."""
        at = 0 if tracks[0] is not None else 1
        prediction, target, track = given[at], given[1 - at], tracks[at]
        if not isinstance(result, torch.Tensor) or target.numel() < 2 or not prediction.numel() or prediction.requires_grad:
            return
        where = self._here()
        if self.rows.get(where, 0) < ROWS_KEPT:
            self.rows[where] = self.rows.get(where, 0) + 1
            self._used("overlap", prediction, track, where, target=list(target.shape), result=list(result.shape),
                       counts=result.dtype == torch.bool, explicit=is_view_pair(prediction, target))

    def _used(self, how: str, prediction, track, where, **facts) -> None:
        row = {"how": how, "prediction": list(prediction.shape), "made": dict(track.made), "floating": prediction.is_floating_point(),
               "low": float(prediction.min()), "high": float(prediction.max()), **facts}
        self.watch.observe("prediction_used", row, where)

    @staticmethod
    def _here() -> str:
        from whyloss.sources import place
        return place.here(4) or "?"

    @staticmethod
    def _scored(track) -> None:
        for call in track.calls:
            call.scored = True

    def _track(self, tensor) -> Track | None:
        track = self.tracks.get(id(tensor))
        if track is not None and track.ref() is tensor:
            return track
        return Track(None, ()) if tensor.requires_grad else None

    def _follow(self, tensor, calls, unit: bool = False, made: dict | None = None) -> None:
        key, tracks = id(tensor), self.tracks

        def gone(ref, key=key, tracks=tracks):
            known = tracks.get(key)
            if known is not None and known.ref is ref:
                del tracks[key]

        tracks[key] = Track(weakref.ref(tensor, gone), calls, unit, made or {})

    # ------------------------------------------------------------------ at the end
    def _conclude(self, call: Call) -> None:
        if not call.scored or call.trained or not self.watch.window_count or call.clock == 0 and call.evaluation:
            return
        tally = self.tallies.setdefault(call.place, {"calls": 0, "awake": {}, "asleep": 0, "repeated": 0, "monitor": 0, "root_eval": 0,
                                                     "first": call.clock, "without_gradient": call.evaluation})
        tally["calls"] += 1
        tally["asleep"] += not call.awake
        tally["repeated"] += call.repeated
        tally["monitor"] += call.monitor
        tally["root_eval"] += bool(call.awake) and not call.root_training
        for name, kind in call.kinds.items():
            tally["awake"][name] = kind

    def over(self) -> None:
        """Write the tallies down; what is still open is concluded on copies, for the training may go on."""
        kept = {where: {**tally, "awake": dict(tally["awake"])} for where, tally in self.tallies.items()}
        for call in self.calls:
            self._conclude(call)
        for where, tally in self.tallies.items():
            self.watch.observe("scored_call", tally, where, tally["first"])
        self.tallies = kept
        for where, (clock, table) in self.tables.items():
            self.watch.observe("confusion", [[*pair, *counts] for pair, counts in table.items()], where, clock)
        for row in class_maps():
            self.watch.observe("class_maps", row, row["subject"])


def awake_parts(module: torch.nn.Module) -> list[tuple[str, str]]:
    """(name, "dropout" or "batch statistics") of the parts whose training mode changes what they return."""
    found = []
    for name, part in module.named_modules():
        if not part.training:
            continue
        if isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.p > 0:
            found.append((name, "dropout"))
        elif isinstance(part, torch.nn.RNNBase) and part.dropout > 0 and part.num_layers > 1 or \
                isinstance(part, torch.nn.MultiheadAttention) and part.dropout > 0:
            found.append((name, "dropout"))
        elif isinstance(part, torch.nn.modules.batchnorm._NormBase) and part.track_running_stats and \
                not isinstance(part, torch.nn.modules.instancenorm._InstanceNorm):
            found.append((name, "batch statistics"))
    return found


def active_function(name: str, args: tuple, kwargs: dict) -> str | None:
    """"dropout" if this call drops values, else None."""
    if name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        share = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
        training = kwargs.get("training", kwargs.get("train", args[2] if len(args) > 2 else name == "dropout"))
        return "dropout" if training and share else None
    if name == "scaled_dot_product_attention":
        return "dropout" if kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0) else None
    return None


def class_maps() -> list[dict]:
    """Pairs of data sets of one class whose maps from the same names to class ids disagree."""
    import gc
    held = [o for o in gc.get_objects() if issubclass(type(o), torch.utils.data.Dataset) and hasattr(o, "__dict__")][:64]
    known, found = {}, []
    for dataset in held:
        for name, value in vars(dataset).items():
            if isinstance(value, (list, tuple)) and 1 < len(value) <= 2000 and all(isinstance(v, str) for v in value):
                value = {v: at for at, v in enumerate(value)}
            if not isinstance(value, dict) or not 1 < len(value) <= 2000 or not all(type(v) is int for v in value.values()) or \
                    sorted(value.values()) != list(range(len(value))):
                continue
            key = (type(dataset), name, frozenset(value))
            other = known.setdefault(key, value)
            differing = [k for k in value if other[k] != value[k]]
            if differing:
                found.append({"subject": f"{type(dataset).__name__}.{name}", "names": len(value), "differing": len(differing),
                              "example": str(differing[0])[:40], "first": other[differing[0]], "second": value[differing[0]]})
    return found[:4]


def varies(target: torch.Tensor) -> bool:
    """Whether a target tells samples apart: not all ones for "real"."""
    return target.numel() > 1 and bool((target != target.reshape(-1)[0]).any())


def is_view_pair(one: torch.Tensor, two: torch.Tensor) -> bool:
    """(1, N) beside (M, 1) with at least two axes each: somebody meant every pair."""
    return one.dim() >= 2 and two.dim() >= 2 and one.dim() == two.dim()
