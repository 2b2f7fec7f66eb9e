"""Derivatives of Fourier transforms: the adjoint of a transform is the opposite one, with the same scale."""

from __future__ import annotations

from typing import Any

from mt_core.api import _functions as ops
from mt_core.dispatch.registry import find_overload

from ..rules import derivative, forward_rule
from ._parts import counted


def _c2c(grad: Any, dim: Any, normalization: int, forward: bool) -> Any:
    return find_overload("_fft_c2c").call(grad, dim, normalization, not forward)


derivative("_fft_c2c", self=_c2c)


def _r2c(grad: Any, self_spec: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    if not onesided:
        return find_overload("_fft_c2c").call(grad, dim, normalization, False).real
    # The missing half of the spectrum had no influence of its own: it is filled with zeros.
    last = dim[-1]
    missing = self_spec.shape[last] - grad.shape[last]
    if missing:
        pad = [0] * (2 * (grad.dim() - last))
        pad[-1] = missing
        grad = ops.constant_pad_nd(grad, pad, 0)
    return find_overload("_fft_c2c").call(grad, dim, normalization, False).real


derivative("_fft_r2c", self=_r2c)


def _c2r(grad: Any, dim: Any, normalization: int, last_dim_size: int) -> Any:
    spectrum = find_overload("_fft_r2c").call(grad, dim, normalization, True)
    # Every inner frequency stands for its mirror image too.
    last = dim[-1]
    doubled = spectrum.shape[last] - 1 - (last_dim_size % 2 == 0)
    if doubled > 0:
        size = spectrum.shape[last]
        weight = ops.ones((size,), dtype=grad.dtype, device=grad.device)
        weight.narrow(0, 1, last_dim_size - size).fill_(2)
        spectrum = spectrum * weight.reshape([-1 if i == last else 1 for i in range(spectrum.dim())])
        return counted(spectrum, 1)
    return spectrum


derivative("_fft_c2r", self=_c2r)

forward_rule("linear", "_fft_c2c", "_fft_c2r", "_fft_r2c")
