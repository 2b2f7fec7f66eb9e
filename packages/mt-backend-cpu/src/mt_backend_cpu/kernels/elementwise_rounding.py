"""Rounding and the parts of floating-point numbers over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel, kernels


def whole(function: Any) -> Any:
    """A rounding function that copies what is whole already."""

    def rounded(self: Any) -> Any:
        return function(self) if self.dtype.kind == "f" else self.copy()

    return rounded


for _name, _function in (("ceil", np.ceil), ("floor", np.floor), ("trunc", np.trunc), ("round", np.rint)):
    kernel(_name)(whole(_function))


@kernel("round.decimals")
def round_decimals(self: Any, decimals: int) -> Any:
    """self (*) -> (*)."""
    if decimals == 0:
        return np.rint(self)
    scale = self.dtype.type(10.0 ** abs(decimals))
    return np.rint(self * scale) / scale if decimals > 0 else np.rint(self / scale) * scale


@kernel("frac")
def frac(self: Any) -> Any:
    """self (*) -> (*)."""
    return self - np.trunc(self)


@kernel("frexp.Tensor")
def frexp(self: Any) -> Any:
    """self (*) -> mantissa (*), exponent (*) of int32."""
    mantissa, exponent = np.frexp(self)
    return mantissa, np.where(np.isfinite(self), exponent, 0)


kernels({"copysign.Tensor": np.copysign, "copysign.Scalar": np.copysign})
# The neighbour in the storage type is wanted, not the neighbour in float32.
kernels({"nextafter": np.nextafter}, half="native")
