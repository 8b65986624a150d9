"""What scripts do to torch and torch does to scripts: keywords, functions replaced, modes, devices, transforms, copies that print."""
import os
import pickle

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls += 1
        return func(*args, **(kwargs or {}))


class Heard(torch.Tensor):
    names = set()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Heard.names.add(getattr(func, "__name__", "?"))
        return super().__torch_function__(func, types, args, kwargs or {})


class Copied(nn.Linear):
    def __getstate__(self):
        print("copied")
        torch.rand(1)
        return self.__dict__


torch.manual_seed(0)
x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
model = nn.Sequential(nn.LazyLinear(16), nn.Tanh(), Copied(16, 3))
model(x)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(call, steps=4):
    for _ in range(steps):
        loss = F.cross_entropy(call(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        nn.utils.clip_grad_value_(parameters=model.parameters(), clip_value=0.1)
        optimizer.step()
    return loss.item()


print(train(model))
with Counting() as counting:
    print(train(model), counting.calls)
print(train(lambda x: model(x.as_subclass(Heard)), 2), sorted(Heard.names - {"__get__", "is_leaf"}))

of_torch, backward = F.cross_entropy, torch.Tensor.backward
F.cross_entropy = lambda *args: 2 * of_torch(*args)
torch.Tensor.backward = lambda loss: backward(3 * loss)
print(train(model))
F.cross_entropy, torch.Tensor.backward = of_torch, backward

weights = {name: p.detach() for name, p in model.named_parameters()}
each = torch.func.vmap(torch.func.grad(lambda w, a, b: F.cross_entropy(torch.func.functional_call(model, w, (a[None],)), b[None])), (None, 0, 0))
print(sum(g.norm() for g in each(weights, x, y).values()).item())

compiled = torch.compile(model, backend="eager")
print(train(compiled))
with torch.device("cpu"):
    print(train(compiled))
inner = torch.compile(lambda a: a * 2, backend="eager", fullgraph=True)
print(torch.compile(lambda a: inner(a) + 1, backend="eager", fullgraph=True)(x).sum().item())

turned = nn.Linear(8, 3, dtype=torch.cfloat)
turning = torch.optim.SGD(turned.parameters(), lr=0.1)
for _ in range(4):
    F.cross_entropy(turned(x.to(torch.cfloat)).abs(), y).backward()
    turning.step()
print(pickle.loads(pickle.dumps(torch.load)) is torch.load, torch.rand(1).item())
turned = {k: torch.view_as_real(v.detach()) for k, v in turned.state_dict().items()}
torch.save({"model": model.state_dict(), "turned": turned}, os.environ["WEIGHTS"])
