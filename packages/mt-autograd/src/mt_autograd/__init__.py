"""Reverse-mode differentiation for mindtorch; as a namespace, ``torch.autograd``."""

from __future__ import annotations

import importlib
import sys
from typing import Any

# Not by need: importing the module of that name later would put it in the function's place.
from .gradcheck import gradcheck, gradgradcheck

__all__ = [
    "Function",
    "NestedIOFunction",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]

#: Module -> the public names it defines; a module is imported when one of its names is first asked for.
_HOMES = {
    ".anomaly_mode": ("detect_anomaly", "set_detect_anomaly"),
    ".api": ("backward", "grad"),
    ".function": ("Function", "NestedIOFunction"),
    ".grad_mode": (
        "_force_original_view_tracking",
        "enable_grad",
        "inference_mode",
        "is_multithreading_enabled",
        "is_view_replay_enabled",
        "no_grad",
        "set_grad_enabled",
        "set_multithreading_enabled",
    ),
    ".saved": ("SavedTensor",),
    ".variable": ("Variable",),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}
#: Parts of ``torch.autograd`` that another distribution holds.
_ELSEWHERE = {"profiler": "mindtorch.profiler.autograd_profiler", "profiler_util": "mindtorch.profiler.profiler_util"}
#: Functions of theirs that are names of ``torch.autograd``, too.
_FROM_ELSEWHERE = ("_profiler_enabled", "kineto_available")
_SUBMODULES = ("anomaly_mode", "forward_ad", "function", "functional", "grad_mode", "graph", "variable")


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(_MODULE_OF[name], __name__), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f".{name}", __name__)
    elif name in _FROM_ELSEWHERE and "mindtorch" in sys.modules:
        value = getattr(importlib.import_module(_ELSEWHERE["profiler"]), name)
    elif name in _ELSEWHERE and "mindtorch" in sys.modules:
        value = importlib.import_module(_ELSEWHERE[name])  # upward: a profiler watches all packages
    else:
        raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
