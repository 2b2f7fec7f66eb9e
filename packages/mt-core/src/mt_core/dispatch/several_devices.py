"""Calls whose tensors are on more than one device: 0-dim CPU tensors follow the others, anything else is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..keys import BACKEND_MASK, CPU, KEY_MASK
from ..tensor import Tensor, new_tensor
from .elementwise import check_same_device, different_devices
from .registry import Overload

__all__ = ["has_several_devices", "on_one_device"]


def has_several_devices(coded: int) -> bool:
    """Whether the tensors behind a coded key set are on more than one device type."""
    backends = coded & KEY_MASK & BACKEND_MASK
    return backends & (backends - 1) != 0


def on_one_device(overload: Overload, key: int, backend: Any, handled: Callable[..., Any]) -> Callable[..., Any]:
    """What a backend does with an operator, behind a look at the devices: its kernel sees arrays of its own only.

    Tensors given as ``out=`` are left to what writes them, which refuses another device in its own words.
    """
    arguments = overload.schema.arguments
    written = [i for i, a in enumerate(arguments) if a.writes and not a.kwarg_only]
    outputs = [i for i, a in enumerate(arguments) if a.writes and a.kwarg_only]
    singles = [i for i in overload.tensor_positions if i not in outputs]
    lists = [i for i in overload.list_positions if i not in outputs]

    def bring(value: Any) -> Any:
        if not isinstance(value, Tensor) or value._keys & key:
            return value
        return new_tensor(backend.from_host(value._array, value._dtype, None), value._dtype, value._keys & ~CPU | key)

    def run(*args: Any) -> Any:
        tensors = [args[i] for i in singles] + [t for i in lists for t in args[i] or ()]
        check_same_device([t for t in tensors if isinstance(t, Tensor)])
        for i in written:
            if not args[i]._keys & key:
                raise different_devices(args[i], next(t for t in tensors if isinstance(t, Tensor) and t._keys & key))
        brought = list(args)
        for i in singles:
            brought[i] = bring(args[i])
        for i in lists:
            brought[i] = args[i] and [bring(t) for t in args[i]]
        return handled(*brought)

    return run
