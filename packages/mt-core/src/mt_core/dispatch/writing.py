"""Writing a result into a tensor that is there already: what it must be like, and its new shape."""

from __future__ import annotations

import warnings
from typing import Any

from ..block import give_shape
from ..dtypes import can_cast, cpp_type_name, dtype, scalar_type_name
from ..layout import output_strides
from ..meta_array import contiguous_strides
from ..spec import Spec
from ..tensor import Tensor
from .memory import check_no_internal_overlap, is_dense

__all__ = [
    "check_castable", "check_count", "check_exact", "check_inplace_result", "check_out", "check_shape", "fit_out",
    "layout_of", "out_elsewhere", "resize_out", "take_shape", "write_result",
]  # fmt: skip


def check_inplace_result(self: Tensor, shape: Any, d: dtype, exact: bool = False) -> None:
    """Refuse a result that does not fit the tensor it is to be written to; `exact`: of an operator exact about out.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    check_castable(d, self._dtype)
    if exact and tuple(shape) != tuple(self._array.shape):
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(self.shape)} and output tensor size {list(shape)} should match"
        )
    check_shape(self, shape)


def check_shape(written: Tensor, shape: Any) -> None:
    """Refuse to write a result of another shape to a tensor that is read as well: it cannot be resized.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if tuple(shape) != tuple(written._array.shape):
        raise RuntimeError(f"output with shape {list(written.shape)} doesn't match the broadcast shape {list(shape)}")


def check_castable(result: dtype, target: dtype) -> None:
    """Raise PyTorch's RuntimeError unless a result of one dtype may be written to a tensor of the other."""
    if result is not target and not can_cast(result, target):
        raise RuntimeError(
            f"result type {scalar_type_name(result)} can't be cast to the desired output type "
            f"{scalar_type_name(target)}"
        )


def check_exact(out: Tensor, result: dtype, message: str, also: frozenset[dtype], name: str) -> None:
    """Refuse an ``out`` of another dtype or with shared elements where the operator does (`Declaration.exact_out`)."""
    if out._dtype is not result and out._dtype not in also:
        raise RuntimeError(
            message.format(
                out=scalar_type_name(out._dtype),
                expected=scalar_type_name(result),
                cpp_out=cpp_type_name(out._dtype),
                cpp_expected=cpp_type_name(result),
                name=name,
            )
        )
    check_no_internal_overlap(out)


def check_out(out: Tensor, result: Tensor) -> None:
    """Refuse, before anything is written, an ``out`` of a dtype or device that cannot take the result."""
    check_castable(result._dtype, out._dtype)
    if out.device != result.device:
        raise out_elsewhere(out, result)


def check_count(name: str, outs: Any, results: Any) -> None:
    """Refuse a list of outputs that is not as long as there are results of the overload ``name``."""
    if len(outs) != len(results):
        raise RuntimeError(
            f"{name.replace('.', '_')} expected an out= argument of size {len(results)}, got size {len(outs)}"
        )


def out_elsewhere(out: Tensor, other: Tensor) -> RuntimeError:
    """The error for an ``out`` on another device than the rest of the call."""
    return RuntimeError(f"Expected out tensor to have device {other.device}, but got {out.device} instead")


def fit_out(out: Tensor, spec: Spec) -> None:
    """Make ``out`` ready for a kernel that writes into it: its dtype is checked, and it gets the result's shape."""
    check_castable(spec.dtype, out._dtype)
    resize_out(out, spec.shape)


def write_result(out: Tensor, result: Tensor, laid_out_alike: bool = False) -> Tensor:
    """Give ``out`` the result's shape (with PyTorch's warning where it was not empty) and elements.

    Where it gets another shape it is row-major, unless elementwise operators lay it out like their results.
    """
    check_out(out, result)
    resize_out(out, result.shape, layout_of(result) if laid_out_alike else None)
    check_no_internal_overlap(out)
    return out.copy_(result)


def layout_of(result: Tensor) -> tuple[int, ...]:
    """The strides of a copy of the result, which may be a part of something larger."""
    return result.stride() if is_dense(result) else output_strides(result._array.shape, [result.stride()])


def resize_out(out: Tensor, shape: Any, strides: Any = None) -> None:
    """Give ``out`` a shape, with PyTorch's warning where it had elements of another; writing to it counts, not this."""
    if tuple(out._array.shape) == tuple(shape):
        return
    if out.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
            f"match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            stacklevel=3,
        )
    take_shape(out, tuple(shape), strides)


def take_shape(out: Any, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> None:
    """Give ``out`` a shape without a word, as factories do; row-major unless strides say otherwise."""
    if tuple(out._array.shape) != shape:
        give_shape(out, shape, contiguous_strides(shape) if strides is None else strides)
