"""Products by the native library: of batches; of bfloat16 where the processor multiplies pairs of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bfloat16, float32

from ..registry import kernel
from . import library
from .view import row_by_row

Array = np.ndarray

if library is not None:
    _multiply, _has_products = library.multiply_bfloat16, library.has_bfloat16_products
    _multiply_batches = library.multiply_batches
    library.use_bfloat16(bfloat16.numpy_dtype)

    #: Products of fewer terms are as quick widened.
    _WORTHWHILE = 1 << 15

    def _pays(self: Any, mat2: Any) -> Any:
        a, b = self._array, mat2._array
        return a.ndim == b.ndim == 2 and a.size * b.shape[1] >= _WORTHWHILE and _has_products()

    def _pays_with_bias(bias: Any, input: Any, weight: Any) -> Any:
        return input._array.size * weight._array.shape[0] >= _WORTHWHILE and _has_products()

    _BRAIN = frozenset((bfloat16,))

    @kernel("mm", half="native", accepts=Accepts(dtypes=_BRAIN, also=_pays))
    def mm(self: Array, mat2: Array) -> Array:
        """self (M, K), mat2 (K, N) -> (M, N)."""
        made: Array = _multiply(self, mat2, None)
        return made

    @kernel("_linear_of_rows", half="native", accepts=Accepts(dtypes=_BRAIN, also=_pays_with_bias))
    def linear_of_rows(bias: Array, input: Array, weight: Array) -> Array:
        """bias (N,), input (M, K), weight (N, K) -> (M, N)."""
        made: Array = _multiply(input, weight.T, row_by_row(bias))
        return made

    #: Terms of a product from which BLAS, which divides each product among threads and not the batch, has no advantage.
    _DIVIDED = 1 << 18

    def _are_several(self: Any, mat2: Any) -> bool:
        left, right = self._array.shape, mat2._array.shape
        if len(left) != 3 or len(right) != 3 or left[0] != right[0] or left[2] != right[1]:
            return False  # for the shape rule to refuse
        (n, rows, depth), columns = left, right[2]
        return bool(n > 1 and rows >= 16 and columns >= 16 and rows * depth * columns >= _DIVIDED)

    @kernel("bmm", accepts=Accepts(dtypes=frozenset((float32,)), also=_are_several))
    def bmm(self: Array, mat2: Array) -> Array:
        """self (B, M, K), mat2 (B, K, N) -> (B, M, N)."""
        made: Array = _multiply_batches(self, mat2)
        return made
