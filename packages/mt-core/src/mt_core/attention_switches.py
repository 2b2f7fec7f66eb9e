"""Which implementations of ``scaled_dot_product_attention`` a program allows: one switch for the process.

``torch.backends.cuda.enable_*_sdp`` and ``torch.nn.attention.sdpa_kernel`` both throw it, and attention asks it.
"""

from __future__ import annotations

from typing import Any

from .state import settle

__all__ = ["IMPLEMENTATIONS", "allowed", "check_allowed", "enable", "is_enabled", "order", "set_order"]

#: Implementation -> PyTorch's number of it (`torch.nn.attention.SDPBackend`).
IMPLEMENTATIONS = {"math": 0, "flash": 1, "mem_efficient": 2, "cudnn": 3, "overrideable": 4}

_enabled = dict.fromkeys(IMPLEMENTATIONS, True)
_order = [1, 2, 0, 3, 4]


def is_enabled(name: str) -> bool:
    """Whether an implementation is allowed."""
    return _enabled[name]


def enable(name: str, enabled: bool) -> None:
    """Allow an implementation, or forbid it.

    Raises
    ------
    RuntimeError
        For anything but a bool.
    """
    if not isinstance(enabled, bool):
        # PyTorch's words, which name this one whichever is set.
        raise RuntimeError(f"set_sdp_use_math expects a bool, but got {type(enabled).__name__}")
    settle()
    _enabled[name] = enabled


def allowed() -> list[int]:
    """Numbers of the implementations that are allowed."""
    return [number for name, number in IMPLEMENTATIONS.items() if _enabled[name]]


def order() -> list[int]:
    """Numbers of the implementations, the preferred one first."""
    return list(_order)


def set_order(numbers: list[int]) -> None:
    """Prefer implementations in the given order, those left out last."""
    settle()
    _order[:] = [*numbers, *(number for number in _order if number not in numbers)]


def check_allowed(query: Any, dropout_p: float) -> None:
    """Refuse attention where nothing that could compute it is allowed.

    There is one implementation here, by the formula. It stands for PyTorch's ``math`` and, in the cases that its flash
    kernel serves on the CPU, for ``flash``. The meta device computes nothing and asks nothing.

    Raises
    ------
    RuntimeError
        As PyTorch's.
    """
    if _enabled["math"] or query.device.type == "meta":
        return
    if not _enabled["flash"]:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the "
            "math kernel and the fused kernels."
        )
    if dropout_p > 0 or query.dim() != 4:
        raise RuntimeError("No available kernel.  Aborting execution.")
