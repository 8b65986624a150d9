"""Classes and functions of a script are made again from its text, and nothing else of the script is run."""

import linecache
import sys
import types

import pytest
import torch

from whyloss.sources.frozen.definitions import NoSource, Sources, Texts
from whyloss.sources.frozen.pickling import Tensors, Thawing, Vault, frozen
from whyloss.sources.frozen.writing import _globals

SCRIPT = """
from dataclasses import dataclass
import functools
import math
import torch

calls = []
calls.append("the script was run")
WIDTH = 3 + 1
table = torch.arange(4.0)

@dataclass
class Settings:
    width: int = WIDTH
    names: tuple = ("a", "b")

class Base(torch.nn.Module):
    scale = math.sqrt(WIDTH)

    class Part:
        size = 7

class Net(Base):
    def __init__(self, settings):
        super().__init__()
        self.settings, self.weight = settings, torch.nn.Parameter(torch.ones(settings.width))

    def forward(self, x):
        return double(x * self.weight) * self.scale + table

def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

@logged
def double(x, by=2):
    return by * x

def outer(n, *, step=1):
    def inner(x, plus=10, *, times=step):
        return (x + n) * times + plus
    class Local:
        def __call__(self, x):
            return inner(x) + n + self.zero()

        def zero(self):
            return super().__hash__() * 0
    pair = (lambda x: x + n), (lambda x: x - n)
    return inner, Local, pair

global_lambda = lambda x: x * WIDTH
"""


@pytest.fixture
def main(tmp_path, monkeypatch):
    """The script as `__main__`, run once as its training ran it."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.chdir(tmp_path)
    exec(compile(SCRIPT, str(path), "exec"), vars(module))
    linecache.checkcache()
    return module


def again(thing):
    """Through bytes, into a namespace where nothing of the script is known."""
    vault, texts = Vault(), Texts()
    data = frozen(thing, vault, texts)
    values, omitted = _globals(vault, texts)
    assert omitted == {}
    tensors, sources = Tensors(vault.tensors), Sources(dict(texts.texts), texts.defined, {})
    sources.values = {key: lambda data=data: Thawing(data, tensors, sources).load() for key, data in values.items()}
    return Thawing(data, tensors, sources).load(), sources


def test_a_model_of_the_script_works_as_before(main):
    model = main.Net(main.Settings())
    twin, sources = again(model)

    x = torch.arange(4.0)
    assert torch.equal(twin(x), model(x))
    assert type(twin) is not type(model) and type(twin).__qualname__ == "Net"
    assert twin.settings.names == ("a", "b") and twin.weight is not model.weight
    assert "calls" not in sources.spaces["__main__"]


def test_only_the_globals_that_are_used_are_taken_along(main):
    texts, vault = Texts(), Vault()
    frozen(main.Net(main.Settings()), vault, texts)
    values, _ = _globals(vault, texts)

    names = {name for _module, name in values}
    assert {"WIDTH", "table", "math", "torch", "functools"} <= names
    assert {"Base", "double", "logged"} <= texts.needed["__main__"] - names  # known by the text
    assert not {"calls", "outer", "global_lambda"} & texts.needed["__main__"]


def test_lambdas_closures_and_local_classes_keep_what_they_hold(main):
    (inner, local, (plus, minus)), _ = again(main.outer(5, step=3))

    assert inner(1) == 28 and inner(1, 0, times=1) == 6
    assert local()(1) == 33
    assert (plus(1), minus(1)) == (6, -4)
    assert again(main.global_lambda)[0](2) == 8


def test_a_class_inside_a_class_and_a_decorated_function_are_found(main):
    part, double = again((main.Base.Part, main.double))[0]

    assert part.size == 7
    assert double(4) == 8


def test_a_text_that_changed_since_is_noticed(main, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT.replace("x * WIDTH", "x + WIDTH"))
    linecache.checkcache()

    with pytest.raises(NoSource, match="not what the file says now"):
        again(main.global_lambda)


def test_what_has_no_source_is_refused_with_its_name(main):
    exec("made = lambda x: x", vars(main))

    with pytest.raises(NoSource, match="no source"):
        again(main.made)


def test_tensors_stay_shared_and_parameters_parameters():
    weight = torch.nn.Parameter(torch.ones(2))
    data = frozen({"a": weight, "b": weight, "c": weight.detach()[:1]}, vault := Vault(), Texts())
    thing = Thawing(data, Tensors(vault.tensors), None).load()

    assert thing["a"] is thing["b"] and isinstance(thing["a"], torch.nn.Parameter)
    assert thing["c"].untyped_storage().data_ptr() == thing["a"].untyped_storage().data_ptr()


@pytest.mark.parametrize("function", [torch.relu, torch.nn.functional.max_pool2d, torch.Tensor.add, torch.Tensor.grad.__get__,
                                      torch.Tensor.__getitem__, torch._C._nn.gelu, torch.einsum, torch.special.expit,
                                      torch.nn.utils.clip_grad_norm_, torch.Tensor.T.__get__],
                         ids=lambda function: getattr(function, "__name__", "function"))
def test_functions_of_torch_are_known_by_name(function):
    assert Thawing(frozen(function, Vault(), Texts()), None, None).load() == function
