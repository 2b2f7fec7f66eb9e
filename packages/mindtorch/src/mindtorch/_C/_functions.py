"""``torch._C._functions``: classes of nodes, and what puts nodes of its own into a graph."""

from __future__ import annotations

import importlib
from typing import Any

#: Where each is; imported when it is first asked for, as programs that only compute need no autograd.
_HOMES = {
    "AccumulateGrad": "mt_autograd.node",
    "DelayedError": "mt_autograd.function",
    "UndefinedGrad": "mt_autograd.gradcheck",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'torch._C._functions' has no attribute '{name}'")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
