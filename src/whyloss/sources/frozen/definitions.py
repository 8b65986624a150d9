"""Classes and functions of a training script, known by where they stand in its source.

pickle knows a class by the module it can be imported from, and a script cannot be imported: that would train. So what a
script defines is written down as a place in its text, and made again from the text of that one definition; nothing else of
the script is run. No bytecode is stored: another Python may read the file.
"""

import ast
import builtins
import contextlib
import linecache
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass

from whyloss.sources import place

LOCAL = "<locals>"


class NoSource(Exception):
    """A definition cannot be found in any source text."""


@dataclass(frozen=True)
class Definition:
    """One class or function. file: as places in it are shown; line: its first one, decorators counted; kind: named, class, code"""

    kind: str
    module: str
    file: str
    qualname: str
    line: int = 0
    nth: int = 0


# ---------------------------------------------------------------------- in a text
def walk(tree: ast.AST, outer: str = "") -> Iterator[tuple[str, ast.AST]]:
    """(qualified name, node) of every class and named function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield outer + node.name, node
            yield from walk(node, f"{outer}{node.name}." + ("" if isinstance(node, ast.ClassDef) else f"{LOCAL}."))
        elif isinstance(node, ast.Lambda):
            yield from walk(node, f"{outer}<lambda>.{LOCAL}.")
        else:
            yield from walk(node, outer)


def first_line(node) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


def codes(code: types.CodeType, qualname: str, line: int) -> Iterator[types.CodeType]:
    """Every code object of that name at that line, in the order of the text."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            if inner.co_qualname == qualname and inner.co_firstlineno == line:
                yield inner
            yield from codes(inner, qualname, line)


def names_in(code: types.CodeType) -> set[str]:
    """Names that a function may look up outside itself, inner functions counted."""
    found = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= names_in(inner)
    return found


def looked_up_now(node: ast.AST) -> set[str]:
    """Names that a definition uses while it is made: not those inside the bodies of its functions."""
    if isinstance(node, ast.Name):
        return {node.id}
    parts = [part for name, part in ast.iter_fields(node)
             if not (name == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))]
    inner = [item for part in parts for item in (part if isinstance(part, list) else [part]) if isinstance(item, ast.AST)]
    return set().union(*map(looked_up_now, inner)) if inner else set()


# ---------------------------------------------------------------------- while it is written
class Texts:
    """The source texts of a running program, and what in them defines a given class or function."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}      # as shown -> text
        self.trees: dict[str, ast.Module] = {}
        self.needed: dict[str, set[str]] = {}  # module -> global names that the definitions use
        self.defined: dict[str, str] = {}      # name at the top of the script -> text it is defined in

    def text(self, filename: str) -> str:
        shown = place.shown(filename)
        if shown not in self.texts:
            text = "".join(linecache.getlines(filename))
            if not text:
                raise NoSource(f"no source text is known for {filename!r}")
            self.texts[shown] = text
        return shown

    def tree(self, shown: str) -> ast.Module:
        if shown not in self.trees:
            self.trees[shown] = ast.parse(self.texts[shown])
        return self.trees[shown]

    def of(self, thing) -> Definition | None:
        """Where a class or function is defined; None if it can be imported from its module, as pickle will do. Raises NoSource."""
        module, qualname = getattr(thing, "__module__", None) or "", getattr(thing, "__qualname__", "")
        scope = vars(sys.modules.get(module, builtins))
        found = scope.get(qualname.split(".")[0])
        for part in qualname.split(".")[1:]:
            found = getattr(found, part, None)
        if found is thing and LOCAL not in qualname:
            return self._named(thing, module, qualname) if module == "__main__" else None
        return self._class(thing, module, qualname) if isinstance(thing, type) else self._code(thing, module)

    def _named(self, thing, module: str, qualname: str) -> Definition:
        name = qualname.split(".")[0]
        scope = vars(sys.modules[module])
        shown = self.text(_file_of(scope[name], scope))
        nodes = [node for path, node in walk(self.tree(shown)) if path == name]
        if not nodes:
            raise NoSource(f"{name} is not defined in {shown}")
        self.defined[name] = shown
        self._needs(module, {n.id for n in ast.walk(nodes[-1]) if isinstance(n, ast.Name)})
        return Definition("named", module, shown, qualname)

    def _class(self, thing: type, module: str, qualname: str) -> Definition:
        scope = vars(sys.modules.get(module, builtins))
        shown = self.text(_file_of(thing, scope))
        lines = [f.__code__.co_firstlineno for f in vars(thing).values() if isinstance(f, types.FunctionType) and f.__code__.co_filename[0] != "<"]
        for path, node in walk(self.tree(shown)):
            if path == qualname and isinstance(node, ast.ClassDef) and all(node.lineno <= line <= node.end_lineno for line in lines):
                self._needs(module, {n.id for n in ast.walk(node) if isinstance(n, ast.Name)})
                return Definition("class", module, shown, qualname, first_line(node))
        raise NoSource(f"the source of class {qualname} was not found in {shown}")

    def _code(self, thing, module: str) -> Definition:
        code = thing.__code__
        shown = self.text(code.co_filename)
        whole = compile(self.texts[shown], code.co_filename, "exec", dont_inherit=True)
        for nth, candidate in enumerate(codes(whole, code.co_qualname, code.co_firstlineno)):
            if candidate == code:
                self._needs(module, names_in(code))
                return Definition("code", module, shown, code.co_qualname, code.co_firstlineno, nth)
        raise NoSource(f"{code.co_qualname} at {shown}:{code.co_firstlineno} is not what the file says now")

    def _needs(self, module: str, names: set[str]) -> None:
        if module == "__main__":  # any other module is imported again, with all of its names
            known = vars(sys.modules[module])
            self.needed.setdefault(module, set()).update(name for name in names if name in known)


def _file_of(thing, scope: dict) -> str:
    """The file a class or function was read from. A class of a notebook has no module file; its methods know their cell."""
    while hasattr(thing, "__wrapped__"):
        thing = thing.__wrapped__
    if isinstance(thing, types.FunctionType):
        return thing.__code__.co_filename
    if scope.get("__file__"):
        return scope["__file__"]
    for part in vars(thing).values() if isinstance(thing, type) else ():
        if isinstance(part, types.FunctionType) and part.__module__ == thing.__module__ and linecache.getlines(part.__code__.co_filename):
            return part.__code__.co_filename
    raise NoSource(f"no source is known for {getattr(thing, '__qualname__', thing)!r}")


# ---------------------------------------------------------------------- while it is read
class Namespace(dict):
    """The globals of a script that is not run: a name is defined, or unpickled, when it is first looked up."""

    def __init__(self, sources: "Sources", module: str):
        super().__init__(__name__=module, __builtins__=builtins, __doc__=None)
        self.sources = sources

    def __missing__(self, name: str):
        self.sources.provide(self, name)
        return self[name]


class Sources:
    """Makes classes and functions again. defined: name at the top of the script -> its text; values: {(module, name): () -> value} of
    globals that are no definitions"""

    def __init__(self, texts: dict[str, str], defined: dict[str, str], values: dict):
        self.texts, self.defined, self.values = texts, defined, values
        self.trees: dict[str, ast.Module] = {}
        self.spaces: dict[str, Namespace] = {}
        self.made: dict[Definition, object] = {}
        for file, text in texts.items():  # so that tracebacks and reports can quote it
            linecache.cache.setdefault(file, (len(text), None, text.splitlines(keepends=True), file))

    def tree(self, file: str) -> ast.Module:
        if file not in self.trees:
            self.trees[file] = ast.parse(self.texts[file])
        return self.trees[file]

    def space(self, module: str) -> dict:
        if module != "__main__":
            __import__(module)
            return vars(sys.modules[module])
        return self.spaces.setdefault(module, Namespace(self, module))

    def provide(self, space: Namespace, name: str) -> None:
        """Put a global name where it is looked up. Raises KeyError where it is none, as a dict does."""
        if ("__main__", name) in self.values:
            space[name] = self.values["__main__", name]()
            return
        file = self.defined[name]
        self._run([node for path, node in walk(self.tree(file)) if path == name][-1], file, space)

    def _run(self, node, file: str, space: dict) -> None:
        for name in looked_up_now(node):  # the body of a class looks into a dict past its __missing__
            with contextlib.suppress(Exception):  # a name that is none is noticed by the definition itself
                space[name]
        exec(compile(ast.Module([node], []), file, "exec", dont_inherit=True), space)

    def named(self, definition: Definition):
        """A class or function at the top of the script, or inside such a class."""
        first, *rest = definition.qualname.split(".")
        found = self.space(definition.module)[first]
        for part in rest:
            found = getattr(found, part)
        return found

    def local_class(self, definition: Definition, free: dict):
        """A class defined inside a function. free: the function's variables that its methods use"""
        if definition not in self.made:
            node = next(node for path, node in walk(self.tree(definition.file)) if path == definition.qualname
                        and isinstance(node, ast.ClassDef) and first_line(node) == definition.line)
            space = Around(self.space(definition.module), free)
            self._run(node, definition.file, space)
            made = self.made[definition] = dict.__getitem__(space, node.name)
            made.__qualname__ = definition.qualname
        return self.made[definition]

    def function(self, definition: Definition, name: str, defaults, keyword_defaults, held: tuple):
        """A lambda, or a function defined inside another one. held: what its closure holds"""
        whole = compile(self.texts[definition.file], definition.file, "exec", dont_inherit=True)
        code = list(codes(whole, definition.qualname, definition.line))[definition.nth]
        made = types.FunctionType(code, self.space(definition.module), name, defaults, tuple(types.CellType(value) for value in held))
        made.__kwdefaults__ = keyword_defaults
        made.__module__ = definition.module
        return made


class Around(dict):
    """The globals of a class that was local: the variables of its function first, then the module's own."""

    def __init__(self, outer: dict, free: dict):
        super().__init__(free, __name__=outer["__name__"], __builtins__=builtins)
        self.outer = outer

    def __missing__(self, name: str):
        return self.outer[name]
