"""Errors about dtypes, in the words of PyTorch's kernels for the CPU."""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype, scalar_type_name

__all__ = ["require_number", "require_same_dtype"]


def require_same_dtype(tensor: Any, *others: Any) -> None:
    """Refuse tensors of another dtype than the first; None stands for a tensor that was not given."""
    for other in others:
        if other is not None and other._dtype is not tensor._dtype:
            raise RuntimeError(
                f"expected scalar type {scalar_type_name(tensor._dtype)} but found {scalar_type_name(other._dtype)}"
            )


def require_number(d: dtype, *numbers: Any) -> None:
    """Refuse complex numbers where elements are real."""
    if not d.is_complex and any(isinstance(number, complex) and number.imag for number in numbers):
        name = "double" if d.itemsize == 8 else "float"
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
