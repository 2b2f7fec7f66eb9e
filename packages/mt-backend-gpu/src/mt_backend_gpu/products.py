"""Products of floating types by cuBLAS; those of half types are added up in float32 and rounded once.

CuPy has no batched product of bfloat16, none that adds to an array, and copies operands that do not lie row by row.
`cublasGemmStridedBatchedEx` counts columns first: what it takes for the transposes of row-major matrices are these
matrices, and C' = B' A' is C = A B.
"""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy

__all__ = ["product"]

#: CUDA's numbers of element types (``cudaDataType``) and cuBLAS's of what is computed in and how.
_TYPES = {"float16": 2, "bfloat16": 14, "float32": 0, "float64": 1}
_COMPUTE_32F, _COMPUTE_64F, _DEFAULT, _AS_IT_IS, _TRANSPOSED = 68, 70, -1, 0, 1


def product(a: Any, b: Any, beta: float = 0.0, alpha: float = 1.0, onto: Any = None) -> Any:
    """beta * onto + alpha * a @ b: a (*, M, K), b (*, K, N) of one type and batch, onto broadcast -> (*, M, N)."""
    batch, (m, k), n = a.shape[:-2], a.shape[-2:], b.shape[-1]
    out = cupy.empty((*batch, m, n), a.dtype)
    if beta:
        out[...] = onto
    if not out.size:
        return out
    if not k:
        return _scaled(out, beta)
    count = math.prod(batch)
    (of_a, step_a, lead_a, next_a), (of_b, step_b, lead_b, next_b) = _laid_out(a), _laid_out(b)
    double = a.dtype.name == "float64"
    numbers = numpy.array([alpha, beta], numpy.float64 if double else numpy.float32)
    kind = _TYPES[a.dtype.name]
    from cupy_backends.cuda.libs import cublas  # lazy: it loads the library, which few tests have

    cublas.gemmStridedBatchedEx(
        cupy.cuda.get_cublas_handle(), step_b, step_a, n, m, k, numbers.ctypes.data, of_b.data.ptr, kind, lead_b,
        next_b, of_a.data.ptr, kind, lead_a, next_a, numbers.ctypes.data + numbers.itemsize, out.data.ptr, kind, n,
        m * n, count, _COMPUTE_64F if double else _COMPUTE_32F, _DEFAULT,
    )  # fmt: skip
    return out


def _scaled(out: Any, beta: float) -> Any:
    """What is left of a sum without products."""
    wide = numpy.dtype(numpy.float64 if out.dtype.name == "float64" else numpy.float32)
    out[...] = (out.astype(wide) * wide.type(beta)).astype(out.dtype) if beta else 0
    return out


def _laid_out(matrices: Any) -> tuple[Any, int, int, int]:
    """(matrices (*, R, C) as cuBLAS can read them, whether transposed, elements from row to row, and to the next)."""
    size = matrices.itemsize
    batch = _step_of_batch(matrices)
    rows, columns = matrices.shape[-2:]
    down, along = (s // size for s in matrices.strides[-2:])
    if batch is not None:
        if (along == 1 or columns == 1) and (down >= columns or rows == 1):
            return matrices, _AS_IT_IS, max(down if rows > 1 else columns, columns, 1), batch
        if (down == 1 or rows == 1) and (along >= rows or columns == 1):
            return matrices, _TRANSPOSED, max(along if columns > 1 else rows, rows, 1), batch
    return _laid_out(cupy.ascontiguousarray(matrices))


def _step_of_batch(matrices: Any) -> int | None:
    """Elements from one matrix to the next, counted through all batch dimensions; None where that is no one number."""
    step = None
    for n, stride in zip(reversed(matrices.shape[:-2]), reversed(matrices.strides[:-2]), strict=True):
        if n == 1:
            continue
        if step is None:
            step, reach = stride, stride * n
        elif stride != reach:
            return None
        else:
            reach = stride * n
    return 0 if step is None else step // matrices.itemsize
