"""Conversion between element types, as PyTorch converts where MindSpore does otherwise."""

from __future__ import annotations

from typing import Any

import numpy

from .dtypes import DtypeMap

__all__ = ["Converter"]


class Converter:
    """Converts tensors of one device target."""

    def __init__(self, mindspore: Any, dtypes: DtypeMap) -> None:
        self._cast = mindspore.ops.auto_generate.cast_op
        self._mint = mindspore.mint
        self._wide, self._single = mindspore.int64, mindspore.float32
        self._dtypes = dtypes

    def convert(self, tensor: Any, source: numpy.dtype, target: numpy.dtype) -> Any:
        """A tensor of another dtype.

        Of complex numbers the real part; floating point goes to small integers by way of int64; true is what is not
        zero.
        """
        theirs = self._dtypes.to_mindspore(target)
        if not tensor.size:  # which MindSpore takes for an error where the source is complex
            return self._mint.empty(tuple(tensor.shape), dtype=theirs)
        if target.kind == "b":
            return self._nonzero(tensor, source)
        if source.kind == "c" and target.kind != "c":
            tensor = self._mint.real(tensor)
            if tensor.dtype == theirs:
                return tensor
        # int32 is converted to at once: what does not fit is its least number.
        if target.kind in "iu" and target.itemsize < 8 and target.char != "i" and source.kind in "fVc":
            tensor = self._cast(tensor, self._wide)
        return self._cast(tensor, theirs)

    def _nonzero(self, tensor: Any, source: numpy.dtype) -> Any:
        mint = self._mint
        if source.kind == "c":
            return mint.logical_or(mint.ne(mint.real(tensor), 0), mint.ne(mint.imag(tensor), 0))
        if source.kind == "V":  # of which there is no comparison
            tensor = self._cast(tensor, self._single)
        return mint.ne(tensor, 0)
