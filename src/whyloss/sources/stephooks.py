"""Hooks on the steps of all optimizers, which a compiler calls as they are."""

import sys

from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


def untraced(hook):
    """Compiled code that steps an optimizer calls the hook as it is: traced into, it would be cut into dozens of graphs. What compiles is
    loaded only where it is loaded already."""
    compiler = sys.modules.get("torch._dynamo")
    return hook if compiler is None or not hasattr(compiler, "disable") else compiler.disable(hook)


class StepHooks:
    """before: (optimizer, args, kwargs), called before each step; after: the same, after it"""

    def __init__(self, before, after):
        self.hooks, self.handles, self.apart = (before, after), [], False
        self.untrace()

    def untrace(self) -> None:
        """Something was compiled, perhaps: from the first time on the hooks are kept out of it."""
        compiles = "torch._dynamo" in sys.modules
        if self.handles and (self.apart or not compiles):
            return
        self.remove()
        before, after = map(untraced, self.hooks)
        self.apart = compiles
        self.handles = [register_optimizer_step_pre_hook(before), register_optimizer_step_post_hook(after)]

    def remove(self) -> None:
        while self.handles:
            self.handles.pop().remove()
