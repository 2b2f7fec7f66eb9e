"""``torch.autograd.forward_ad``: derivatives along a direction, computed together with the values.

One level may be open at a time (`mt_autograd.tangents` nests them).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mt_core.autograd_state import _GradSwitch
from mt_core.keys import FORWARD_GRAD
from mt_core.state import tls
from mt_core.tensor import Tensor
from mt_core.transforms.batched import hidden_from

from . import tangents

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

#: The level that is open, as PyTorch counts: 0, or -1 for none.
_current_level = -1
#: Its number among all levels.
_number = -1


def enter_dual_level() -> int:
    """Begin a level of forward mode; its number.

    Raises
    ------
    RuntimeError
        Inside another.
    """
    global _current_level, _number
    if _current_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _number = tangents.enter_level()
    _current_level = 0
    return _current_level


def exit_dual_level(*, level: int | None = None) -> None:
    """End a level of forward mode: all tangents are gone.

    Raises
    ------
    RuntimeError
        For a level that is not the last one that was begun.
    """
    global _current_level, _number
    level = _current_level if level is None else level
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    tangents.exit_level(_number)
    _current_level = _number = -1


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of a tensor that has a tangent, of the same shape.

    Raises
    ------
    RuntimeError
        Outside of a level; for tensors of different shapes, one that has a tangent, and those that differ between the
        lanes of a ``vmap``, where ``torch.func.jvp`` is the way.
    ValueError
        For numbers that are neither real nor complex.
    """
    level = _current_level if level is None else level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for role, given in (("primal", tensor), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {role} to be floating point or complex, but got: {given.dtype}")
    if hidden_from(tensor) or hidden_from(tangent):
        raise RuntimeError(
            "Batching rule not implemented for aten::_make_dual; the fallback path doesn't work on out= or view ops."
        )
    return tangents.make_dual(tensor, tangent, _number)


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent or None."""

    primal: Any
    tangent: Any


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """A view of a tensor without its tangent, and the tangent, None where it has none.

    Outside of a level it is the tensor itself.

    Raises
    ------
    TypeError
        For anything but a tensor.
    """
    level = _current_level if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    primal, tangent = tangents.unpack(tensor, _number)
    is_seen = _is_fwd_grad_enabled() and not tls.inference
    return UnpackedDualTensor(primal, tangent if is_seen else None)


class dual_level:
    """Context manager: a level of forward mode; ``as`` its number."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc_info: object) -> None:
        exit_dual_level()


class _set_fwd_grad_enabled(_GradSwitch):
    """Switch tangents on or off, at once; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _is_fwd_grad_enabled()
        _switch(mode)

    def __enter__(self) -> None:
        _switch(self.mode)

    def __exit__(self, *exc_info: object) -> None:
        _switch(self.prev)

    def clone(self) -> _set_fwd_grad_enabled:
        return self.__class__(self.mode)


def _is_fwd_grad_enabled() -> bool:
    """Whether tangents are computed in this thread."""
    return not tls.exclude & FORWARD_GRAD


def _switch(enabled: bool) -> None:
    tls.exclude = tls.exclude & ~FORWARD_GRAD if enabled else tls.exclude | FORWARD_GRAD
    tls.refresh()
