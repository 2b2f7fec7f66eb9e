"""Random numbers by the native library: PyTorch's streams, in row-major arrays of single precision and a few others.

The rest is NumPy's: what these kernels do not fill they hand on to those of `mt_backend_cpu.kernels.random`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mt_core.dispatch.kernel import Accepts
from mt_core.dtypes import bool as bool_dtype
from mt_core.dtypes import float32, float64, int64
from mt_core.random import Generator, default_generator, sampling
from mt_core.random.engine import MersenneTwister
from mt_core.spec import Spec

from ..kernels import random as on_numpy
from ..registry import kernel
from . import library

Array = np.ndarray

#: From this many elements on, normal numbers are made sixteen at a time.
_SIXTEEN = 16


if library is not None:
    _fill_uniform, _fill_normal, _fill_pairs = library.fill_uniform, library.fill_normal, library.fill_pairs
    _fill_below, _fill_remainders, _permutation = library.fill_below, library.fill_remainders, library.permutation

    def _uniform(out: Array, low: float, high: float, engine: MersenneTwister) -> None:
        if out.size:
            with engine.lock:
                _fill_uniform(engine.drawn_from(), out, low, high)

    def _normal(out: Array, mean: float, std: float, engine: MersenneTwister) -> None:
        if out.size >= _SIXTEEN:
            with engine.lock:
                _fill_normal(engine.drawn_from(), out, mean, std)
        elif out.size:
            with engine.lock:
                kept = engine.next_double_normal
                stream = engine.drawn_from(kept is None or out.size > 1)
                engine.next_double_normal = _fill_pairs(stream, out, mean, std, kept)

    def _remainders(out: Array, low: int, span: int, engine: MersenneTwister) -> None:
        if out.size:
            with engine.lock:
                _fill_remainders(engine.drawn_from(), out, low, span)

    _SINGLE = frozenset((float32,))

    @kernel("uniform_", half="native", accepts=Accepts(dtypes=frozenset((float32, float64)), layout="row_major"))
    def uniform(self: Array, low: float, high: float, generator: Generator | None) -> None:
        """self (*) -> (*), filled."""
        _uniform(self, low, high, on_numpy._engine(generator))

    @kernel("normal_", half="native", accepts=Accepts(dtypes=_SINGLE, layout="row_major"))
    def normal(self: Array, mean: float, std: float, generator: Generator | None) -> None:
        """self (*) -> (*), filled."""
        _normal(self, mean, std, on_numpy._engine(generator))

    @kernel(
        "bernoulli_.float", half="native", accepts=Accepts(dtypes=frozenset((float32, bool_dtype)), layout="row_major")
    )
    def bernoulli(self: Array, p: float, generator: Generator | None) -> None:
        """self (*) -> (*), filled."""
        if self.size:
            engine = on_numpy._engine(generator)
            with engine.lock:
                _fill_below(engine.drawn_from(), self, math.ceil(p * 2.0**53))

    # Factories in one piece

    @kernel("rand", accepts=on_numpy._FACTORY, half="native")
    def rand(size: tuple[int, ...], spec: Spec) -> Array:
        """-> size."""
        if spec.dtype is not float32:
            return on_numpy.rand(size, spec)
        out = np.empty(size, np.float32)
        _uniform(out, 0.0, 1.0, default_generator.engine)
        return out

    @kernel("rand_like", accepts=on_numpy._LIKE, half="native")
    def rand_like(self: Array, spec: Spec) -> Array:
        """self (*) -> (*)."""
        return rand(self.shape, spec)

    @kernel("randn", accepts=on_numpy._FACTORY, half="native")
    def randn(size: tuple[int, ...], spec: Spec) -> Array:
        """-> size."""
        if spec.dtype is not float32:
            return on_numpy.randn(size, spec)
        out = np.empty(size, np.float32)
        _normal(out, 0.0, 1.0, default_generator.engine)
        return out

    @kernel("randn_like", accepts=on_numpy._LIKE, half="native")
    def randn_like(self: Array, spec: Spec) -> Array:
        """self (*) -> (*)."""
        return randn(self.shape, spec)

    @kernel("randint", accepts=on_numpy._FACTORY, half="native")
    def randint(high: int, size: tuple[int, ...], spec: Spec) -> Array:
        """-> size."""
        return randint_low(0, high, size, spec)

    #: A range of at least this many numbers takes words of 64 bits.
    _WIDE_RANGE = 1 << 28

    @kernel("randint.low", accepts=on_numpy._FACTORY, half="native")
    def randint_low(low: int, high: int, size: tuple[int, ...], spec: Spec) -> Array:
        """-> size."""
        if spec.dtype is not int64 or high - low >= _WIDE_RANGE:
            return on_numpy.randint_low(low, high, size, spec)
        out = np.empty(size, np.int64)
        _remainders(out, low, high - low, default_generator.engine)
        return out

    @kernel("randperm")
    def randperm(n: int, spec: Any) -> Array:
        """-> (n,) of int64."""
        return randperm_generator(n, None, spec)

    @kernel("randperm.generator")
    def randperm_generator(n: int, generator: Generator | None, spec: Any) -> Array:
        """-> (n,) of int64."""
        engine = on_numpy._engine(generator)
        if not 1 < n < sampling.LARGE_PERMUTATION:
            return sampling.permutation(n, engine)
        with engine.lock:
            return _permutation(engine.drawn_from(), n)
