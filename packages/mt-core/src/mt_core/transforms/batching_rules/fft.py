"""Batching rules: Fourier transforms of real and complex tensors; the others are made of them."""

from __future__ import annotations

from ._rules import over_dims

over_dims("_fft_c2c", "_fft_c2r", "_fft_r2c")
