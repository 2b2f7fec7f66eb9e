"""Norms by the native library."""

from __future__ import annotations

from typing import Any

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import float32

from ..registry import kernel
from . import library

if library is not None:
    _norm = library.norm

    def _is_whole(self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> bool:
        """Whether it is the Euclidean length of all elements."""
        return ord == 2 and (dim is None or dim == ()) and not keepdim

    @kernel(
        "linalg_vector_norm",
        accepts=Accepts(dtypes=frozenset((float32,)), layout="row_major", defaults=("dtype",), also=_is_whole),
    )
    def vector_norm(self: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
        """self (*) -> ()."""
        return _norm(self)
