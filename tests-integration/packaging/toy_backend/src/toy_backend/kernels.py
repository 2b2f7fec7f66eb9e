"""The kernels of the device: four, each counted when it runs."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from mt_core.devices import backend_key
from mt_core.dispatch.registry import register_kernel
from toy_backend.plugin import ToyArray, block_of

__all__ = ["calls", "register"]

#: Operator name -> how often its kernel ran.
calls: Counter[str] = Counter()


def add(self: Any, other: Any, alpha: float) -> ToyArray:
    addend = block_of(other)
    return ToyArray(np.asarray(block_of(self) + np.asarray(alpha).astype(addend.dtype) * addend))


def mul(self: Any, other: Any) -> ToyArray:
    return ToyArray(np.asarray(block_of(self) * block_of(other)))


def neg(self: Any) -> ToyArray:
    return ToyArray(np.asarray(-block_of(self)))


def matmul(self: Any, other: Any) -> ToyArray:
    return ToyArray(block_of(self) @ block_of(other))


_KERNELS = {"add.Tensor": add, "mul.Tensor": mul, "neg": neg, "mm": matmul}


def _counted(name: str, function: Callable[..., ToyArray]) -> Callable[..., ToyArray]:
    @functools.wraps(function)
    def kernel(*arguments: Any) -> ToyArray:
        calls[name] += 1
        return function(*arguments)

    return kernel


@functools.cache
def register() -> None:
    """Enter all kernels, once."""
    for name, function in _KERNELS.items():
        register_kernel(backend_key("toy"), (name,), _counted(name, function))
