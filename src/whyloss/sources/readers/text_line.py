"""One line of a printed log: what it counts, what it measures, and what only looks like a metric (times, progress, rates)."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from whyloss.sources.readers import moments, roles
from whyloss.sources.readers.jsonl import flat, python_object
from whyloss.sources.readers.table import to_number

LONGEST = 4000  # characters of a line that are looked at
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[()][A-B0-2]")
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf|infinity)\b"
# dates, times of day, durations, addresses, hexadecimal numbers, file names with numbers: none is a metric
_NO_METRIC = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?(?:[T ]\d\d?:\d\d:\d\d(?:[.,]\d+)?)?|\b\d+ days?, |\b\d+:\d\d(?::\d\d)?(?:[.,]\d+)?\b|\b0x[0-9a-fA-F]+\b"
    r"|\b\d+\.\d+\.\d+(?:\.\d+)*\b|[\w.~-]*/[\w./~-]*\.\w{1,5}\b|\b\d+d\d+h\b|\b(?:\d+h)?\d+m\d+s\b"
    r"|\bnumber of (?:nan|skipped) iterations:?\s*\d+|[\w./-]+\.py:\d+(?::\w+)?"
)
_WORD = r"[A-Za-z_@|][\w@./%^'-]{0,60}"
_PAIR = re.compile(
    rf"(?P<name>{_WORD}(?:[ ](?:{_WORD}|\([\w%/ ]{{1,20}}\))){{0,4}}?)['\"]?(?P<mark>\s*(?:[:=]+|->|→|\bis\b|\bof\b)\s*|\s+|\s*(?=[\[(]))"
    rf"(?:tensor|array|np\.float(?:32|64))?[\[(\s'\"]*(?P<value>{_NUMBER})"
    rf"(?P<rest>\s*/\s*\d[\d,]*|\s*%|\s?(?:[kKMG]?[a-zA-Z]+/s(?:ec)?|ms|us|µs|secs?|seconds?|s|mins?|minutes?|h|hours?|it/s|[KMGT]i?B|[KMG])"
    rf"(?=$|[\s,;)\]|/]))?(?P<average>\s*\(\s*(?:{_NUMBER})\s*%?\s*\))?",
    re.I,
)
_EPOCH = re.compile(
    r"\b(?:epochs?|ep)\b\s*(?:\((?P<phase>\w+)\))?[\s:=#'\"\[(]*(?P<n>\d+(?:\.\d+)?)(?:\s*(?:/|of)\s*(?P<of>\d+))?[\])'\"]*"
    r"(?:\s*[:,-]?\s*[\[(]\s*(?P<inner>\d+)\s*/\s*(?P<total>\d+)|\s*:\s+(?P<inner2>\d+)\s*/\s*(?P<total2>\d+)(?=\s))?",
    re.I,
)
_STEP = re.compile(
    r"\b(?P<name>global[ _]step|train[ _]step|training[ _]step|num_updates|total[ _]timesteps|timesteps?|steps?|iterations?|iters?|itr|it"
    r"|batch(?:es)?|updates?|frames?|episodes?)\b\s*(?:\((?P<phase>\w+)\))?[\s:=#'\"\[(]*(?P<n>\d[\d,]*)(?![\d.]*\w)(?!\.\d)"
    r"(?:\s*(?:/|of)\s*(?P<of>\d[\d,]*))?",
    re.I,
)
_BRACKET = re.compile(r"[\[(]\s*(?P<n>\d+)\s*/\s*(?P<of>\d+)\s*(?:\(\s*\d+(?:\.\d+)?%\s*\))?\s*[\])]")
_BAR = re.compile(
    r"(?P<before>.*?)(?P<share>\d{1,3})%\|(?P<bar>[^|]*)\|\s*(?P<n>[\d.]+[kMG]?)/(?P<of>[\d.]+[kMG]?)\s*\[(?P<inside>[^\]]*)\]?(?P<after>.*)", re.S
)
_KERAS = re.compile(r"\s*(?P<n>\d+)/(?P<of>\d+|Unknown)\s*(?:\[[=>.\s]*\]|\[[=>.]+|[━╸╺\s]*━[━╸╺\s]*|(?=\s-\s+\d+m?s\b))(?P<rest>.*)")
_METRIC = re.compile(
    r"loss|acc|err|ppl|perplex|\blr\b|_lr|lr_|learning|grad|norm|reward|return|score|f1|auc|\bap\b|map|iou|bleu|rouge|wer|cer|psnr|ssim|fid"
    r"|\bkl|nll|bce|mse|mae|rmse|\br2\b|\bl[12]\b|prec|recall|dice|top-?[15]|entropy|bpb|bpc|bpd|elbo|\bce\b|mfu|metric|reg|penalty|wd|decay|temp|scale"
    r"|entrop|value|policy|critic|actor|adv|disc|gen|\bd\b|\bg\b|momentum|mom|success|len",
    re.I,
)
_QUALIFY = re.compile(
    r"avg|average|mean|total|best|final|running|train\w*|val\w*|valid\w*|test\w*|eval\w*|dev|ema|smooth\w*|top|learning|cross|global|batch"
    r"|epoch|lm|mlm|ctc|box|cls|obj|dfl|contrastive|reconstruction|rec|kl|generator|discriminator|gen|disc|d|g|policy|value|critic|actor"
    r"|gradient|grad|weight|macro|micro|weighted|character|word|balanced|clean|mask|set|auxiliary|aux",
    re.I,
)
_TIMING = re.compile(
    r"\beta\b|time|elapsed|remaining|duration|latency|speed|throughput|/s\b|per.?sec|samples?.?/|tokens?.?/|\bdt\b|^data$|_ms\b|\bms\b|mem(?:ory)?\b|progress"
    r"|complete|\bpid\b|port\b|gb$|\bmb\b|\bwall\b|^wps$|^ups$|^wpb$|^bsz$|version|_wall$|^v_num$|\bat$|^(?:in|took|for|after|line|rank|gpu|device|cuda|node|the|than|by|with"
    r"|from|to|until|every|and|or|a|an|took|takes|loaded|found|using|is|of|on|world)$",
    re.I,
)
_PHASE = re.compile(r"(?<![\w/])(train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test(?:ing)?|dev)(?![\w/])", re.I)
_TUTORIAL = re.compile(r"\s*\[\s*(?P<epoch>\d+)\s*,\s*(?P<inner>\d+)\s*\](?=\s*[a-z ]*loss)", re.I)  # "[1,  2000] loss: 2.2"
_OF = re.compile(r"(?P<n>\d+)\s*/\s*(?P<of>\d+)\s+(?:mini-?)?(?:batches|steps|iterations|iters|updates)\b", re.I)
_BOOSTED = re.compile(r"\s*(?:\[(?P<a>\d+)\]\s|(?P<b>\d+):\t)\s*(?=\S+[-: ])")  # XGBoost and LightGBM; CatBoost
_COUNTERS = "global_step", "num_updates", "total_timesteps", "timesteps", "timestep"


@dataclass
class Line:
    """What one line told. step, epoch: counters; inner, total: place in the epoch; bar: (key, n, of) of a progress bar; cells: metrics."""

    epoch: float | None = None
    step: float | None = None
    inner: float | None = None
    total: float | None = None
    phase: str | None = None
    seconds: float | None = None
    bar: tuple | None = None
    last_only: bool = False
    cells: dict = field(default_factory=dict)
    words: dict = field(default_factory=dict)


def cleaned(line: str) -> str:
    """As shown, without the spaces around it."""
    return shown(line).strip()


def shown(line: str) -> str:
    """Without colours, and without what a backspace took back."""
    if "\x1b" in line:
        line = ANSI.sub("", line)
    if "\x08" in line:
        line = line[line.rindex("\x08") + 1 :]
    return line


def parsed(line: str) -> Line | None:
    """What a cleaned line tells; None if it has neither a counter nor a metric."""
    if not any(character.isdigit() for character in line[:LONGEST]) and "nan" not in line.lower():
        return None
    told = Line()
    brace = line.find("{")
    if 0 <= brace and "}" in line[brace:]:
        cells = _dictionary(line[brace : line.rindex("}") + 1])
        if cells:
            _from_dictionary(told, cells, line[:brace])
            return told
    line = line[:LONGEST]
    stamp = moments.STAMP.search(line[:80])
    if stamp is not None:
        told.seconds = moments.of(stamp)
    bar = _BAR.match(line)
    keras = None if bar else _KERAS.match(line)
    if bar:
        rest = _progress(told, bar)
    elif keras:
        told.bar, told.last_only, rest = ("keras", float(keras["n"]), keras["of"]), True, keras["rest"]
    else:
        rest = line
    rest = _NO_METRIC.sub(" ", rest)
    rest = _counted(told, rest)
    _measured(told, rest)
    useful = told.cells or told.epoch is not None or told.step is not None or told.inner is not None
    return told if useful else None


def _dictionary(text: str) -> dict | None:
    value = python_object(text)
    return flat({str(k): v for k, v in value.items()}) if isinstance(value, dict) else None


def _from_dictionary(told: Line, cells: dict, before: str) -> None:
    _counted(told, _NO_METRIC.sub(" ", before))
    stamp = moments.STAMP.search(before[:80])
    told.seconds = moments.of(stamp) if stamp else None
    for name, value in cells.items():
        number = to_number(value) if value is not None else None
        if number is None:
            if isinstance(value, str):
                told.words[name] = value
        elif roles.rank(name, roles.EPOCHS) is not None:
            told.epoch = number
        elif roles.rank(name, roles.STEPS) is not None and number >= 0 and number == int(number if abs(number) < 1e300 else 0):
            told.step = number if told.step is None or roles.short(name) in _COUNTERS else told.step
        else:
            told.cells[name] = number


def _progress(told: Line, bar: re.Match) -> str:
    """A tqdm bar: its counter, and as text what stands before and after it."""
    before = bar["before"].strip().rstrip(":").strip()
    key = re.sub(r"[\d.]+", "#", before)
    told.bar = (key, _amount(bar["n"]), _amount(bar["of"]))
    phase = _PHASE.search(before)
    told.phase = roles.phase_prefix(phase[1]) if phase else None
    postfix = re.sub(r"^[^,]*(?:,\s*[^,=:]*?(?:/s|s/\w+|\?\w*/?\w*))?", "", bar["inside"], count=1)
    return f"{before} | {postfix} | {bar['after']}"


def _amount(text: str) -> float:
    scale = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1.0)
    try:
        return float(text.rstrip("kMG")) * scale
    except ValueError:
        return 0.0


def _counted(told: Line, line: str) -> str:
    """Takes the counters out of a line; what is left."""
    found = _TUTORIAL.match(line)
    if found:
        told.epoch, told.inner = float(found["epoch"]), float(found["inner"])
        return line[found.end() :]
    found = _BOOSTED.match(line)
    if found:
        told.step = float(found["a"] or found["b"])
        return line[found.end() :]
    found = _EPOCH.search(line)
    if found and not re.match(r"\s*(?:s|sec|min|m|h|ms)\b", line[found.end() :]):
        told.epoch = float(found["n"])
        inner, total = found["inner"] or found["inner2"], found["total"] or found["total2"]
        if inner:
            told.inner, told.total = float(inner), float(total)
        if found["phase"]:
            told.phase = roles.phase_prefix(found["phase"])
        line = line[: found.start()] + (f" {found['phase']} | " if found["phase"] else " | ") + line[found.end() :]
    steps = []
    for found in _STEP.finditer(line):
        before = line[max(0, found.start() - 24) : found.start()]
        if not re.search(r"(?:per|/|skipped|nan|total|of|max|warmup|number of[\w ]*)\s*_?$", before, re.I) and not re.match(
            r"\s*(?:it/s|/s)", line[found.end() :]
        ):
            steps.append(found)
    if steps:
        best = next((f for name in _COUNTERS for f in steps if roles.short(f["name"]) == name), steps[0])
        told.step = float(best["n"].replace(",", ""))
        if best["of"] and roles.short(best["name"]) not in _COUNTERS:
            told.total = float(best["of"].replace(",", ""))
        if best["phase"]:
            told.phase = roles.phase_prefix(best["phase"])
        for found in reversed(steps):
            line = line[: found.start()] + " | " + line[found.end() :]
    elif told.inner is None and told.bar is None:
        found = _BRACKET.search(line) or _OF.search(line)
        if found:
            told.inner, told.total = float(found["n"]), float(found["of"])
    line = re.sub(r"\s(?:at|after|for|in|of|@)\s*\|\s*(?=[:=])", " ", line)  # "loss at epoch 5: 0.3"
    return _OF.sub(" | ", _BRACKET.sub(" | ", line))


def _measured(told: Line, line: str) -> None:
    phases = [(found.start(), found[1]) for found in _PHASE.finditer(line)]
    if told.phase:
        phases.insert(0, (-1, told.phase))
    for found in _PAIR.finditer(line):
        marked = found["mark"].strip() != "" or line[found.end("name") : found.start("value")].strip(" '\"") != ""
        name = _name(found["name"], marked)
        if name is None and (marked or told.epoch is not None) and "." in found["value"] and _PHASE.fullmatch(found["name"]):
            name = found["name"]  # CatBoost's "test: 0.68"; "Epoch 3 | train 0.31 | valid 0.42"
        unit = (found["rest"] or "").strip()
        if name is None or (unit and not unit.startswith(("/", "%")) and not re.search("loss|ppl|acc", name, re.I)):
            continue
        if unit == "%" and not _METRIC.search(name):
            continue  # "Downloading: 100%"
        value = to_number(found["value"].replace(",", ""))
        if value is None:
            continue
        if unit.startswith("/"):
            whole = float(unit[1:].strip().replace(",", ""))
            if not re.search("acc|correct|err|top|success", name, re.I) or not whole:
                continue
            value /= whole  # "Accuracy: 9800/10000 (98%)"
        said = [word for place, word in phases if place <= found.start("value")]
        phase = roles.phase_prefix(said[-1]) if said else None
        name = roles.with_phase(name, phase) if phase else name
        told.cells.setdefault(name, value)


@lru_cache(maxsize=4096)
def _name(text: str, marked: bool) -> str | None:
    """The metric's name in the words before a number; None where they name no metric. marked: ":" or "=" stood between."""
    text = text.strip(" |-_.:'\"")
    words = [word.strip(" |:'\"") for word in text.split() if word.strip(" |-:'\"")]
    if not words:
        return None
    last = words[-1]
    if last.startswith("(") and len(words) > 1:
        words, last = words[:-1], words[-2]
    kept = [last]
    for word in reversed(words[:-1]):
        if not (_QUALIFY.fullmatch(word) or _METRIC.search(word)) and not (marked and len(kept) < 3 and word[0].islower() and len(words) <= 3):
            break
        kept.insert(0, word)
    name = " ".join(kept)
    if _TIMING.search(last) or _TIMING.search(name) or roles.short(last) in (*roles.STEPS, *roles.EPOCHS, *roles.EPISODES) or _PHASE.fullmatch(name):
        return None
    if not marked and not _METRIC.search(name):
        return None
    return name
