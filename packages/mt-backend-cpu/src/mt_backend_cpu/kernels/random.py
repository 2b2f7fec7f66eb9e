"""Random numbers: arrays filled from PyTorch's streams (`mt_core.random`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mt_core.checks.random import (
    refuse_infinite_rate,
    refuse_negative_rate,
    refuse_no_weights,
    refuse_probability,
    refuse_weight,
    refuse_weight_sum,
    refuse_weights,
)
from mt_core.dispatch.kernel import Accepts
from mt_core.random import Generator, default_generator, generator_for, sampling
from mt_core.random import distributions as streams
from mt_core.random.engine import MersenneTwister
from mt_core.spec import Spec

from ..registry import kernel
from ..special_functions import quantiles

Array = np.ndarray


def _engine(generator: Generator | None) -> MersenneTwister:
    engine: MersenneTwister = (default_generator if generator is None else generator_for(generator, "cpu")).engine
    return engine


def _parts(array: Array) -> Array:
    """The real and imaginary parts of a complex array as a last dimension of size 2, on the same memory."""
    real = np.dtype(np.float16) if array.dtype.names is not None else array.real.dtype
    return array[..., None].view(real)


def _is_complex(array: Array) -> bool:
    return array.dtype.kind == "c" or array.dtype.names is not None


@kernel("uniform_", half="native")
def uniform(self: Array, low: float, high: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    streams.fill_uniform(_parts(self) if _is_complex(self) else self, low, high, _engine(generator))


@kernel("normal_", half="native")
def normal(self: Array, mean: float, std: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    if _is_complex(self):
        streams.fill_normal(_parts(self), mean, std / math.sqrt(2), _engine(generator))
    else:
        streams.fill_normal(self, mean, std, _engine(generator))


@kernel("log_normal_", half="native")
def log_normal(self: Array, mean: float, std: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    streams.fill_log_normal(self, mean, std, _engine(generator))


@kernel("exponential_", half="native")
def exponential(self: Array, rate: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    streams.fill_exponential(self, rate, _engine(generator))


@kernel("cauchy_", half="native")
def cauchy(self: Array, median: float, sigma: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    streams.fill_cauchy(self, median, sigma, _engine(generator))


@kernel("geometric_", half="native")
def geometric(self: Array, p: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    streams.fill_geometric(self, p, _engine(generator))


@kernel("bernoulli_.float", half="native")
def bernoulli(self: Array, p: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    streams.fill_bernoulli(self, p, _engine(generator))


@kernel("bernoulli_.Tensor", half="native")
def bernoulli_tensor(self: Array, p: Array, generator: Generator | None) -> None:
    """self (*), p broadcast to it -> (*), filled."""
    if not ((p >= 0) & (p <= 1)).all():
        refuse_probability()
    streams.fill_bernoulli_from(self, p, _engine(generator))


@kernel("random_", half="native")
def random(self: Array, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    streams.fill_random(self, _engine(generator))


@kernel("random_.to", half="native")
def random_to(self: Array, high: int, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    random_from(self, 0, high, generator)


@kernel("random_.from", half="native")
def random_from(self: Array, low: int, high: int | None, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    if high is None:
        high = streams.random_limit(self.dtype) + 1
    low, high = streams.exact_bounds(low, high, self.dtype)
    streams.fill_random_range(self, low, high - low, _engine(generator))


# Factories in one piece; with a generator, on a device that is named or in another layout they are composites.

_OPTIONS = ("layout", "device", "pin_memory")
_FACTORY = Accepts(defaults=_OPTIONS)
_LIKE = Accepts(layout="row_major", defaults=(*_OPTIONS, "memory_format"))


@kernel("rand", accepts=_FACTORY, half="native")
def rand(size: tuple[int, ...], spec: Spec) -> Array:
    """-> size."""
    out = np.empty(size, spec.dtype.numpy_dtype)
    streams.fill_uniform(_parts(out) if spec.dtype.is_complex else out, 0.0, 1.0, default_generator.engine)
    return out


@kernel("rand_like", accepts=_LIKE, half="native")
def rand_like(self: Array, spec: Spec) -> Array:
    """self (*) -> (*)."""
    return rand(self.shape, spec)


@kernel("randn", accepts=_FACTORY, half="native")
def randn(size: tuple[int, ...], spec: Spec) -> Array:
    """-> size."""
    out = np.empty(size, spec.dtype.numpy_dtype)
    if spec.dtype.is_complex:
        normal(out, 0.0, 1.0, None)
    else:
        streams.fill_normal(out, 0.0, 1.0, default_generator.engine)
    return out


@kernel("randn_like", accepts=_LIKE, half="native")
def randn_like(self: Array, spec: Spec) -> Array:
    """self (*) -> (*)."""
    return randn(self.shape, spec)


@kernel("randint", accepts=_FACTORY, half="native")
def randint(high: int, size: tuple[int, ...], spec: Spec) -> Array:
    """-> size."""
    return randint_low(0, high, size, spec)


@kernel("randint.low", accepts=_FACTORY, half="native")
def randint_low(low: int, high: int, size: tuple[int, ...], spec: Spec) -> Array:
    """-> size."""
    out = np.empty(size, spec.dtype.numpy_dtype)
    random_from(out, low, high, None)
    return out


@kernel("randperm")
def randperm(n: int, spec: Any) -> Array:
    """-> (n,) of int64."""
    return randperm_generator(n, None, spec)


@kernel("randperm.generator")
def randperm_generator(n: int, generator: Generator | None, spec: Any) -> Array:
    """-> (n,) of int64."""
    return sampling.permutation(n, _engine(generator))


@kernel("multinomial", half="native")
def multinomial(self: Array, count: int, replacement: bool, generator: Generator | None) -> Array:
    """self (N, C) or (C,) of weights -> (N, num_samples) or (count,) of int64."""
    engine = _engine(generator)
    weights = np.atleast_2d(self)
    if replacement and count > 1:
        _check_weights_one_by_one(weights)
        drawn = sampling.multinomial_with_replacement(weights, count, engine)
    else:
        _check_weights(weights)
        drawn = sampling.multinomial_without_replacement(weights, count, engine)
    return drawn.reshape(*self.shape[:-1], count)


def _check_weights(weights: Array) -> None:
    """The checks of the draw without replacement: of all weights, then of their sums."""
    if not weights.shape[1]:
        refuse_no_weights()
    wide = weights.astype(np.float64)
    if not (np.isfinite(wide) & (wide >= 0)).all():
        refuse_weights()
    _check_sums(wide)


def _check_weights_one_by_one(weights: Array) -> None:
    """The checks of the draw with replacement: the first weight that is wrong decides about the message."""
    wide = weights.astype(np.float64).ravel()
    wrong = wide[~(np.isfinite(wide) & (wide >= 0))]
    if wrong.size:
        refuse_weight(wrong[0])
    _check_sums(weights.astype(np.float64))


def _check_sums(weights: Array) -> None:
    if not (weights.sum(axis=1) > 0).all():
        refuse_weight_sum()


@kernel("poisson")
def poisson(self: Array, generator: Generator | None) -> Array:
    """self (*) of rates -> (*)."""
    if not (self >= 0).all():
        refuse_negative_rate()
    if np.isinf(self).any():
        refuse_infinite_rate()
    return sampling.poisson(self, _engine(generator))


@kernel("binomial")
def binomial(count: Array, probability: Array, generator: Generator | None) -> Array:
    """count (*), probability (*), broadcast -> the common shape."""
    counts, probabilities = np.broadcast_arrays(count, probability)
    return sampling.binomial(counts, probabilities, _engine(generator))


@kernel("_standard_gamma")
def standard_gamma(self: Array, generator: Generator | None) -> Array:
    """self (*) of shape parameters -> (*)."""
    return sampling.gamma(self, _engine(generator))


@kernel("_sample_dirichlet")
def sample_dirichlet(self: Array, generator: Generator | None) -> Array:
    """self (*, K) of concentrations -> (*, K)."""
    return sampling.dirichlet(self, _engine(generator))


kernel("_standard_gamma_grad")(quantiles.gamma_by_shape)
kernel("_dirichlet_grad")(quantiles.beta_by_alpha)
