"""What explicit composites share: operators written in ``add mul div exp sum amax rsqrt where mm erf``.

A backend that has these ten, and the contract's copies, conversions and views, carries out what is written in them.
Each composite calls the operator that says what it means (`ops.sub`, `ops.mean`), so that a backend's own kernel for it
is used; none calls an operator that, written out, comes back to itself.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dtypes import dtype, scalar_type_name

__all__ = ["beside", "flipped", "not_for", "truth"]


def not_for(name: str, d: dtype, unsuitable: bool) -> None:
    """Refuse a dtype for which an operator has a kernel only where a backend brings one.

    Raises
    ------
    NotImplementedError
        Naming operator and dtype.
    """
    if unsuitable:
        raise NotImplementedError(
            f"{name} for {scalar_type_name(d)} is not written in other operators: the device's backend must give a "
            "kernel"
        )


def beside(operand: Any, tensor: Any) -> Any:
    """An operand as a tensor of the other's dtype: a number as one without dimensions, wrapped around if need be."""
    if hasattr(operand, "_array"):
        return operand
    return ops.mul(tensor.new_ones(()), operand)


def truth(tensor: Any) -> Any:
    """Where elements are not zero, NaN included: the contract's conversion to bool."""
    return tensor.to(dtypes.bool)


def flipped(tensor: Any) -> Any:
    """Elements in the opposite order, (*) -> (*): negative floats, inverted integers; done twice, it is undone."""
    if tensor.dtype.is_floating_point:
        return ops.neg(tensor)
    return ops.logical_not(tensor) if tensor.dtype is dtypes.bool else ops.bitwise_not(tensor)
