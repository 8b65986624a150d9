"""What the user's source says about a setting: where it is written, and whether what was written is ever read. Parsed, never run."""

import ast
import re
import sys

from whyloss.sources import place

RATE = re.compile(r"^(base_|init_|initial_|peak_|start_)?(lr|learning_?rate)(_init)?$", re.IGNORECASE)
_SHOWN = {"print", "info", "debug", "warning", "log", "write", "append", "log_metric", "add_scalar", "format"}
_WHOLE = {"vars", "asdict", "getattr", "_get_kwargs", "setattr", "locals", "globals", "eval", "exec"}


def trees() -> list[tuple[str, ast.AST]]:
    """(file, parsed source) of the user's modules."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and place.is_user_file(file):
            found[file] = None
    if sys.argv and sys.argv[0].endswith(".py"):
        found[sys.argv[0]] = None
    result = []
    for file in list(found)[:40]:
        try:
            with open(file, encoding="utf-8") as source:
                tree = ast.parse(source.read())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                child.parent = node
        result.append((file, tree))
    return result


def attribute_writes(name: str, sources) -> str | None:
    """The first line that assigns to `something.name` outside a class's own self."""
    for file, tree in sources:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store) and \
                    not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                return f"{place.shown(file)}:{node.lineno}"
    return None


def key_writes(name: str, sources, *, dicts: bool = True) -> str | None:
    """The first line with `something[name] = ...` or, unless told not to, {name: ...}."""
    for file, tree in sources:
        for node in ast.walk(tree):
            stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _constant(node.slice) == name
            if stored or dicts and isinstance(node, ast.Dict) and any(_constant(key) == name for key in node.keys):
                return f"{place.shown(file)}:{node.lineno}"
    return None


def unread_rates(sources, parsed: dict) -> list[dict]:
    """Numbers given as a learning rate under a name that nothing reads except to print it. parsed: {option: value} of argparse."""
    trees_ = [tree for _, tree in sources]
    if any(isinstance(n, ast.Call) and (_called(n) in _WHOLE or any(k.arg is None for k in n.keywords)) or
           isinstance(n, ast.Attribute) and n.attr == "__dict__" for tree in trees_ for n in ast.walk(tree)):
        return []  # settings travel as a whole: who reads what cannot be told from the text
    read = {name for tree in trees_ for node in ast.walk(tree) for name in _read(node)}
    given = [{"name": name, "value": value, "place": _option(name, sources)} for name, value in parsed.items()]
    given += [row for file, tree in sources for node in ast.walk(tree) for row in _given(node, file)]
    return [row for row in given if RATE.match(row["name"]) and row["name"] not in read]


def _constant(node):
    return node.value if isinstance(node, ast.Constant) else None


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _read(node):
    """The rate's name that this node reads, unless the value is only shown or handed on under a rate's name."""
    name = None
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        name = node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        name = node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        name = _constant(node.slice)
    elif isinstance(node, ast.Call) and _called(node) in ("get", "pop") and node.args:
        name = _constant(node.args[0])
    if not isinstance(name, str) or not RATE.match(name):
        return
    above = getattr(node, "parent", None)
    if isinstance(above, ast.Assign) and above.value is node and all(
            isinstance(t, ast.Name | ast.Attribute) and RATE.match(getattr(t, "id", getattr(t, "attr", ""))) for t in above.targets):
        same = [getattr(t, "id", getattr(t, "attr", "")) for t in above.targets]
        if same != [name]:
            return  # handed on: whether the new name is read decides
        return
    while above is not None and not isinstance(above, ast.stmt):
        if isinstance(above, ast.JoinedStr) or isinstance(above, ast.Call) and _called(above) in _SHOWN:
            return
        above = getattr(above, "parent", None)
    yield name


def _given(node, file):
    """Numbers written down under a rate's name: constants, dictionary entries, fields, defaults, keywords of the user's calls."""
    pairs = []
    if isinstance(node, ast.Assign):
        pairs = [(getattr(t, "id", getattr(t, "attr", "")), node.value) for t in node.targets if isinstance(t, ast.Name | ast.Attribute)]
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        pairs = [(node.target.id, node.value)]
    elif isinstance(node, ast.Dict):
        pairs = [(_constant(key), value) for key, value in zip(node.keys, node.values)]
    elif isinstance(node, ast.arguments):
        plain = [*node.posonlyargs, *node.args]
        pairs = [(a.arg, d) for a, d in [*zip(plain[len(plain) - len(node.defaults):], node.defaults), *zip(node.kwonlyargs, node.kw_defaults)]]
    for name, value in pairs:
        number = _constant(value) if value is not None else None
        if isinstance(name, str) and isinstance(number, int | float) and not isinstance(number, bool):
            yield {"name": name, "value": float(number), "place": f"{place.shown(file)}:{value.lineno}"}


def _option(name: str, sources) -> str | None:
    """The line that declares an option of that name."""
    for file, tree in sources:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node) == "add_argument" and any(
                    isinstance(_constant(a), str) and _constant(a).lstrip("-").replace("-", "_") == name for a in node.args):
                return f"{place.shown(file)}:{node.lineno}"
    return None
