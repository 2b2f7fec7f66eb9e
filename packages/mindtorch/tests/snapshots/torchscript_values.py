"""Arguments and results of archived programs as JSON; `torch` is whichever it is."""

from __future__ import annotations

import math
from typing import Any


def described(torch: Any, value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, torch.Tensor):
        return {
            "tensor": [str(value.dtype)[6:], list(value.shape), described(torch, value.detach().flatten().tolist())]
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"named": [type(value).__name__, list(value._fields), [described(torch, item) for item in value]]}
    if isinstance(value, tuple):
        return {"tuple": [described(torch, item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[described(torch, key), described(torch, item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [described(torch, item) for item in value]
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def restored(torch: Any, value: Any) -> Any:
    """The value of what `described` gave."""
    if isinstance(value, list):
        return [restored(torch, item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind == "tensor":
        dtype, shape, items = held
        return torch.tensor(restored(torch, items), dtype=getattr(torch, dtype)).reshape(shape)
    if kind in ("tuple", "named"):
        return tuple(restored(torch, item) for item in held[-1 if kind == "named" else slice(None)])
    if kind == "dict":
        return {restored(torch, key): restored(torch, item) for key, item in held}
    return {"device": torch.device, "complex": lambda pair: complex(*pair), "float": float}[kind](held)
