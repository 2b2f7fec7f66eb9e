"""Softmax and its relatives by the native library."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32
from mt_core.keys import STRIDED

from ..registry import fused, kernel
from . import library
from .view import row_by_row

if library is not None:
    _softmax, _log_softmax = library.softmax, library.log_softmax
    _softmax_backward, _log_softmax_backward = library.softmax_backward, library.log_softmax_backward

    _SINGLE = frozenset((float32,))
    _ROWS = Accepts(dtypes=_SINGLE, layout="row_major")
    #: Gradients are often expanded.
    _GRADS = Accepts(dtypes=_SINGLE, also=lambda grad, output, *rest: not output._keys & STRIDED)
    _WHOLE = Accepts(dtypes=_SINGLE, layout="row_major", defaults=("dtype",))

    @kernel("_softmax", accepts=_ROWS)
    def softmax(self: Any, dim: int, half_to_float: bool) -> Any:
        """self (*) -> (*), normalized along `dim`."""
        return _softmax(self, dim)

    @kernel("_log_softmax", accepts=_ROWS)
    def log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
        """self (*) -> (*), normalized along `dim`."""
        return _log_softmax(self, dim)

    @fused("softmax.int", _WHOLE)
    def softmax_whole(self: Any, dim: int) -> Any:
        """self (*) -> (*), normalized along `dim`."""
        return _softmax(self, dim)

    @fused("log_softmax.int", _WHOLE)
    def log_softmax_whole(self: Any, dim: int) -> Any:
        """self (*) -> (*), normalized along `dim`."""
        return _log_softmax(self, dim)

    @kernel("_softmax_backward_data", accepts=_GRADS)
    def softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
        """grad (*), output (*) -> (*)."""
        return _softmax_backward(row_by_row(grad), output, dim)

    @kernel("_log_softmax_backward_data", accepts=_GRADS)
    def log_softmax_backward(grad: Any, output: Any, dim: int, input_dtype: Any) -> Any:
        """grad (*), output (*) -> (*)."""
        return _log_softmax_backward(row_by_row(grad), output, dim)
