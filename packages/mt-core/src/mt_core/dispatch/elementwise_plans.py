"""Elementwise calls of tensors of any layout, planned once per description (`call_plans`).

What the general path finds out (`mt_core.dispatch.elementwise`) depends on shapes, strides, dtypes and parameters
alone: the kernel, the dtype, the shape and strides of the result. It is kept for calls in which nothing is converted;
calls of numbers in the place of tensors, and all that convert, are the general path's each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import dtype
from ..keys import STRIDED
from ..meta_array import contiguous_strides
from ..spec import is_contiguous
from ..state import tls
from ..tensor import Tensor, new_tensor
from .call_plans import Call, arranged, kinds_of, planned_by_backend
from .elementwise import Elementwise
from .kernel import Kernel, runner_for
from .registry import WARNS
from .repeated_writes import visits

__all__ = ["before_general", "before_general_inplace"]

Callee = Callable[..., Any]


def before_general(operator: Elementwise) -> Callee:
    """The general path of an operator, with plans where the backend's own executors make them."""
    overload, general = operator.overload, operator.general
    if not operator.kernels or operator.fills_by_copying or _warns(operator):
        return general
    return planned_by_backend(overload, _Preparation(operator), general, strided=True)


def before_general_inplace(operator: Elementwise) -> Callee:
    """The same of the in-place form; what is read lies on other memory than what is written."""
    overload, general = operator.overload, operator.general_inplace
    if not operator.kernels or operator.fills_by_copying or _warns(operator):
        return general
    return planned_by_backend(overload, _InplacePreparation(operator), general, strided=True, writes=True)


def _warns(operator: Elementwise) -> bool:
    """Whether a call may be warned of: a plan asks what the call then asks again, or asks nothing at all."""
    return operator.overload.name in WARNS or getattr(operator.check, "warns", False)


class _Preparation:
    """Makes the `Call` of an operator that makes a new tensor."""

    def __init__(self, operator: Elementwise) -> None:
        self.operator, self.backend, self.keys = operator, operator.backend, operator.keys
        self.kinds = kinds_of(operator.overload, True)
        self.general = operator.general

    def plan(self, args: tuple[Any, ...]) -> Call:
        """How a call with these arguments is carried out."""
        operator = self.operator
        common = operator.common_dtype(args)
        shape, strides = operator.layout(args)
        if operator.require is not None:
            operator.require(args, common)
        compute, result = operator.dtypes(args, common)
        kernel = operator.chosen(args, compute)
        if kernel is None or not self._takes_as_they_are(kernel, args, compute, result):
            return Call(None, None, None, self.general)
        empty = self._maker_of(shape, result, strides)
        function = kernel.function

        def run(*given: Any) -> Any:
            out = empty()
            function(*given, out=out)
            return out

        strided = strides is not None and not is_contiguous(shape, strides)
        keys = self.keys | STRIDED if strided else self.keys

        def finish(array: Any) -> Tensor:
            return new_tensor(array, result, keys)

        chosen, between, rest = arranged(operator.overload, self.kinds, kernel.accepts.defaults, run, args)
        call = Call(chosen, runner_for(kernel, self.backend), finish, None, between, rest)
        if strides is None:
            call.stored, call.dtype = result.numpy_dtype, result
        return call

    def _takes_as_they_are(self, kernel: Kernel, args: tuple[Any, ...], compute: dtype, result: dtype) -> bool:
        """Whether a kernel fills memory of the result's dtype, from the arguments without conversion."""
        operator = self.operator
        if kernel.out != "fills" or runner_for(kernel, self.backend) is not tls:
            return False
        if operator.compute_dtype(kernel, compute) is not compute:
            return False
        if result is not compute and operator.promotion.fixed_result is not result:
            return False
        for i in operator.operands_at:
            value = args[i]
            if not isinstance(value, Tensor) or not isinstance(value._array, self.backend.array_type):
                return False
            if i in operator.promoting and value._dtype is not compute:
                return False
        return True

    def _maker_of(self, shape: tuple[int, ...], d: dtype, strides: tuple[int, ...] | None) -> Callable[[], Any]:
        """What makes memory for the result: anew for each call."""
        empty = self.backend.empty
        if strides is not None and contiguous_strides(shape) == strides:
            strides = None
        return lambda: empty(shape, d, strides, None)


class _InplacePreparation(_Preparation):
    """Makes the `Call` of an in-place form."""

    def __init__(self, operator: Elementwise) -> None:
        super().__init__(operator)
        self.general = operator.general_inplace

    def plan(self, args: tuple[Any, ...]) -> Call:
        operator, target = self.operator, args[0]
        # What is written to twice is refused, or written in turn, before anything else is asked.
        if target._keys & STRIDED and target._array.size and visits(target._array.shape, target.stride()) is not None:
            return Call(None, None, None, self.general)
        common = operator.common_dtype(args)
        shape, _ = operator.layout(args)
        compute, result = operator.dtypes(args, common)
        if shape != target._array.shape or result is not target._dtype:
            return Call(None, None, None, self.general)
        if operator.require is not None:
            operator.require(args, common)
        kernel = operator.chosen(args, compute)
        if kernel is None or not self._takes_as_they_are(kernel, args, compute, result):
            return Call(None, None, None, self.general)
        function = kernel.function

        def run(*given: Any) -> None:
            function(*given, out=given[0])

        chosen, between, rest = arranged(operator.overload, self.kinds, kernel.accepts.defaults, run, args)
        return Call(chosen, runner_for(kernel, self.backend), None, None, between, rest)
