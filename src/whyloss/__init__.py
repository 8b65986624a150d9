"""whyloss: why does this PyTorch training not learn? One confirmed cause, its place, the numbers, the remedy."""

__version__ = "0.1.0"

_LAZY = {
    "diagnose": "whyloss.cli.api", "can_overfit": "whyloss.cli.api", "check_start": "whyloss.cli.api",
    "lr_sweep": "whyloss.cli.api", "health": "whyloss.cli.api", "read": "whyloss.cli.reading",
    "Monitor": "whyloss.sources.monitor", "StopTraining": "whyloss.alerts",
    "load_ipython_extension": "whyloss.cli.notebook", "unload_ipython_extension": "whyloss.cli.notebook",
}

__all__ = ["__version__", *_LAZY]


def __getattr__(name: str):
    if name in _LAZY:
        import importlib
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'whyloss' has no attribute {name!r}")
