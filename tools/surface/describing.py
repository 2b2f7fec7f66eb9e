"""What a call gave, as JSON that two libraries can be compared by."""

from __future__ import annotations

import inspect
import math
import re
import types
from typing import Any

__all__ = ["described", "differ"]

#: So many elements of a tensor, so many items of a structure.
SHOWN = 8
#: Relative to the greatest number of a tensor.
TOLERANCE = 1e-4
#: Addresses, paths and versions of the machine.
_OF_THE_MACHINE = re.compile(r"0x[0-9a-f]{4,}|/[\w.-]+/[\w.-]+|\+cpu|mindtorch|<locals>")


def described(torch: types.ModuleType, value: Any, depth: int = 3) -> Any:
    """Plain data that tells a value; what is neither data nor the library's is told by its class."""
    if value is None or isinstance(value, bool | int) and type(value) in (bool, int):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, complex):
        return [_number(value.real), _number(value.imag)]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, torch.Tensor):
        return _tensor(torch, value, depth)
    if isinstance(value, torch.dtype | torch.device | torch.layout | torch.memory_format):
        return str(value)
    if isinstance(value, torch.nn.Module) and depth:
        parts = [described(torch, part, 0) for part in list(value.state_dict().values())[:3]]
        return {"class": type(value).__name__, "says": _text(repr(value)), "holds": parts}
    if isinstance(value, dict) and depth:
        return {
            "dict": [[_text(str(key)), described(torch, part, depth - 1)] for key, part in list(value.items())[:SHOWN]]
        }
    if isinstance(value, list | tuple | torch.Size) and depth:
        parts = [described(torch, part, depth - 1) for part in list(value)[:SHOWN]]
        return {type(value).__name__: parts, "length": len(value)}
    if inspect.isclass(value):
        return {"a class": value.__name__}
    return {"class": type(value).__name__}


def _text(text: str) -> str | dict[str, str]:
    return {"class": "str"} if _OF_THE_MACHINE.search(text) else text[:400]


def _number(value: float) -> Any:
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def _tensor(torch: types.ModuleType, value: Any, depth: int) -> Any:
    facts: dict[str, Any] = {"dtype": str(value.dtype)[6:], "class": type(value).__name__}
    if value.layout is not torch.strided:
        facts["layout"] = str(value.layout)[6:]
    if getattr(value, "is_nested", False):
        return {**facts, "parts": [described(torch, part, 0) for part in value.unbind()]}
    facts["size"] = list(value.shape)
    if value.requires_grad:
        facts["grad"] = type(value.grad_fn).__name__ if value.grad_fn is not None else True
    if value.device.type != "cpu":
        return {**facts, "device": str(value.device)}
    with torch.no_grad():
        plain = value.detach()
        if value.layout is not torch.strided:
            plain = plain.to_dense()
        if plain.is_quantized:
            plain = plain.dequantize()
        if plain.is_complex():
            plain = torch.view_as_real(plain.resolve_conj())
        flat = plain.reshape(-1).to(torch.float64)
        count = len(flat)
        chosen = [flat[place].item() for place in range(0, count, max(1, -(-count // SHOWN)))]
        facts["at"] = [_number(number) for number in chosen]
        if count > SHOWN:
            facts["sum"] = _number(flat.sum().item())
    return facts


def differ(found: Any, stored: Any) -> bool:
    """Whether two descriptions tell different values."""
    if isinstance(stored, dict) and isinstance(found, dict):
        if stored.keys() != found.keys():
            return True
        scale = _scale(stored.get("at", ()))
        return any(
            _far(found[key], stored[key], scale) if key in ("at", "sum") else differ(found[key], stored[key])
            for key in stored
        )
    if isinstance(stored, list) and isinstance(found, list):
        return len(stored) != len(found) or any(differ(a, b) for a, b in zip(found, stored, strict=True))
    if isinstance(stored, float) and isinstance(found, float | int):
        return _far(found, stored, abs(stored))
    return type(found) is not type(stored) or found != stored


def _scale(numbers: Any) -> float:
    return max((abs(number) for number in numbers if isinstance(number, float)), default=0.0)


def _far(found: Any, stored: Any, scale: float) -> bool:
    if isinstance(stored, list):
        if not isinstance(found, list) or len(found) != len(stored):
            return True
        return any(_far(a, b, scale) for a, b in zip(found, stored, strict=True))
    if isinstance(stored, str) or isinstance(found, str):
        return bool(found != stored)
    return bool(abs(found - stored) > TOLERANCE * max(scale, 1e-2))
