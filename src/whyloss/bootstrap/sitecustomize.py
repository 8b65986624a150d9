"""First on the path of a watched command: arms the watch, then hands over to the user's own sitecustomize."""

import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != _here or p == ""]
_ours = sys.modules.pop("sitecustomize", None)
_spec = importlib.util.find_spec("sitecustomize")
if _spec is not None and _spec.origin != os.path.abspath(__file__):
    try:
        import sitecustomize  # noqa: F401  (the user's own)
    except ImportError:
        pass

sys.modules.setdefault("sitecustomize", _ours)
if os.environ.get("WHYLOSS_SESSION"):
    try:
        from whyloss.sources import attach
        attach.arm()
    except Exception as error:  # watching must never keep a script from starting
        print(f"whyloss: not watching: {type(error).__name__}: {error}", file=sys.stderr)
