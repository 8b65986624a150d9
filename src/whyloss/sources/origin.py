"""Where the user's source makes what a line is given: the variable's name and the line that bound it. Parsed, never run."""

import ast

from whyloss.sources import place
from whyloss.sources.written import trees

HOPS = 5            # bindings followed: xb -> batch -> loader
_PASS = {"to", "cuda", "cpu", "float", "long", "double", "half", "clone", "detach", "contiguous", "requires_grad_", "pin_memory",
         "view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "split", "chunk", "items", "values", "next"}
_LOOP = {"enumerate", "zip", "tqdm", "iter", "next", "cycle", "islice", "trange", "range", "reversed", "list"}


def observe_origins(watch) -> None:
    """One "origin" a line that calls a model or a loss: {"input": [name, line], "target": [name, line]}."""
    wanted = {}
    for quantity in ("root", "input", "evaluation_inputs", "loss_call", "loss_made", "confusion"):
        for where in watch.evidence.by_subject(quantity):
            file, _, line = str(where).rpartition(":")
            if file and line.isdigit():
                wanted.setdefault(file, set()).add(int(line))
    if not wanted:
        return
    for file, tree in trees():
        for line in sorted(wanted.get(place.shown(file), ())):
            found = _of_line(tree, line)
            if found:
                shown = {role: [name, f"{place.shown(file)}:{at}"] for role, (name, at) in found.items()}
                watch.evidence.add("origin", shown, subject=f"{place.shown(file)}:{line}")


def _of_line(tree: ast.AST, line: int) -> dict[str, tuple[str, int]]:
    statements = [n for n in ast.walk(tree) if isinstance(n, (ast.Assign, ast.Expr, ast.AugAssign, ast.AnnAssign, ast.Return))
                  and n.lineno <= line <= (n.end_lineno or n.lineno)]
    if not statements:
        return {}
    statement = min(statements, key=lambda n: (n.end_lineno or n.lineno) - n.lineno)
    names = _arguments(statement)
    roles = {"input": names[0]} if names else {}
    if len(names) > 1:
        roles["target"] = names[-1]
    found = {role: _bound(tree, statement, name, line) for role, name in roles.items()}
    return {role: value for role, value in found.items() if value is not None}


def _arguments(statement) -> list[str]:
    """Base names of what the calls of a statement are given, in order, innermost call first."""
    found: list[str] = []

    def visit(call):
        for argument in [*call.args, *(k.value for k in call.keywords)]:
            inner = [n for n in ast.walk(argument) if isinstance(n, ast.Call)]
            if inner and inner[0] is argument and not _base(argument):
                visit(argument)
            else:
                name = _base(argument)
                if name and name not in found:
                    found.append(name)

    for call in [n for n in ast.walk(statement) if isinstance(n, ast.Call) and not isinstance(getattr(n, "parent", None), ast.Call)]:
        visit(call)
    return found


def _base(node) -> str | None:
    """x of x, x[i], x.T, x.to(device); None of what is made on the spot."""
    while True:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PASS:
            node = node.func.value
        else:
            return None


def _bound(tree, statement, name: str, line: int) -> tuple[str, int] | None:
    """(name, line) of the last binding followed through loops, indexing and conversions."""
    scope, result = _scope(statement), None
    for _ in range(HOPS):
        if name == "self":
            return result
        binding = _last_binding(scope, name, line) if scope is not None else None
        if binding is None and isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = _handed_over(tree, scope, name)
            if given is not None:
                (name, call), line = given, given[1].lineno + 1
                scope = _scope(call)
                continue
        if binding is None:
            outer = _last_binding(tree, name, None, skip=scope)
            if outer is None:
                return result
            binding, scope = outer, _scope(outer)
        result, line = (name, binding.lineno), binding.lineno
        following = _followed(binding)
        if following is None or following == name:
            return result
        name = following
    return result


def _handed_over(tree, function, name: str):
    """(name, call) of what the calls of a function give for its parameter, if all give the same variable."""
    parameters = [a.arg for a in function.args.args if a.arg != "self"]
    if name not in parameters:
        return None
    at, found = parameters.index(name), {}
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", getattr(n.func, "attr", None)) == function.name):
        value = call.args[at] if at < len(call.args) else next((k.value for k in call.keywords if k.arg == name), None)
        if value is not None:
            found[_base(value)] = call
    return next(iter(found.items())) if len(found) == 1 and None not in found else None


def _followed(binding) -> str | None:
    """The name that a binding only hands on: of `for x, y in loader`, `x = batch[0]`, `x = x.to(device)`."""
    value = binding.iter if isinstance(binding, (ast.For, ast.AsyncFor)) else getattr(binding, "value", None)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _LOOP and value.args:
        value = value.args[0]
    return _base(value) if value is not None else None


def _scope(node):
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
        node = getattr(node, "parent", None)
    return node


def _last_binding(scope, name: str, before: int | None, skip=None):
    """The last assignment or loop in a scope that binds the name; `before` keeps to lines up to there."""
    found = None
    for node in ast.walk(scope):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, (ast.For, ast.AsyncFor, ast.AnnAssign)) else []
        if skip is not None and _scope(node) is skip or before is not None and getattr(node, "lineno", 0) >= before and \
                not isinstance(node, (ast.For, ast.AsyncFor)):
            continue
        if any(isinstance(t, ast.Name) and t.id == name for target in targets for t in ast.walk(target) if isinstance(t, ast.Name)
               and isinstance(t.ctx, ast.Store)) and (before is None or node.lineno < before or isinstance(node, ast.For)):
            if found is None or node.lineno > found.lineno:
                found = node
    return found
