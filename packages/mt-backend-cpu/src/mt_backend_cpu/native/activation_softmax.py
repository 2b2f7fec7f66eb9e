"""Softmax and its relatives by the native library, along the last dimension."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import fused, kernel
from . import library

if library is not None:
    _softmax, _log_softmax = library.softmax, library.log_softmax
    _softmax_backward, _log_softmax_backward = library.softmax_backward, library.log_softmax_backward

    def _is_last(self: Any, dim: int) -> bool:
        return dim in (-1, self._array.ndim - 1) or not self._array.ndim

    def _along_last(self: Any, dim: int, *rest: Any) -> bool:
        return _is_last(self, dim)

    def _grad_along_last(grad: Any, output: Any, dim: int, input_dtype: Any) -> bool:
        return _is_last(output, dim)

    _SINGLE = frozenset((float32,))
    _ROWS = Accepts(dtypes=_SINGLE, layout="row_major", also=_along_last)
    _WHOLE = Accepts(dtypes=_SINGLE, layout="row_major", defaults=("dtype",), also=_along_last)
    _GRADS = Accepts(dtypes=_SINGLE, layout="row_major", also=_grad_along_last)

    @kernel("_softmax", accepts=_ROWS)
    def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
        """self (*) -> (*), normalized along the last dimension."""
        return _softmax(self)

    @kernel("_log_softmax", accepts=_ROWS)
    def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
        """self (*) -> (*), normalized along the last dimension."""
        return _log_softmax(self)

    @fused("softmax.int", _WHOLE)
    def softmax_whole(self: Any, dim: int) -> Any:
        """self (*) -> (*), normalized along the last dimension."""
        return _softmax(self)

    @fused("log_softmax.int", _WHOLE)
    def log_softmax_whole(self: Any, dim: int) -> Any:
        """self (*) -> (*), normalized along the last dimension."""
        return _log_softmax(self)

    @kernel("_softmax_backward_data", accepts=_GRADS)
    def softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
        """grad (*), output (*) -> (*)."""
        return _softmax_backward(grad, output)

    @kernel("_log_softmax_backward_data", accepts=_GRADS)
    def log_softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
        """grad (*), output (*) -> (*)."""
        return _log_softmax_backward(grad, output)
