"""Elementwise arithmetic over NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import kernel, kernels


@kernel("add.Tensor", fast=np.add)
def add(self: Any, other: Any, alpha: Any) -> Any:
    if self.dtype == np.bool_:
        return self | (other & np.bool_(alpha))
    return self + other * self.dtype.type(alpha)


@kernel("sub.Tensor", fast=np.subtract)
def sub(self: Any, other: Any, alpha: Any) -> Any:
    return self - other * self.dtype.type(alpha)


kernels({"mul.Tensor": np.multiply, "div.Tensor": np.true_divide, "exp": np.exp, "neg": np.negative})
