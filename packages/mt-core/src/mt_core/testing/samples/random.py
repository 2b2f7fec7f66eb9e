"""Sample inputs: random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...declarations.random_functional import FILLED
from ...formats import contiguous_format
from ..sample import TensorMaker, call, cases, constants, random_values, same_samples, support

PLACE = (lambda t: call(t(2, 3)), lambda t: call(t(4, 5, dtype=dtypes.float64)))

FILLS = "uniform_ normal_ log_normal_ exponential_ cauchy_ bernoulli_.float random_"
cases(FILLS, *PLACE)
cases("geometric_", lambda t: call(t(2, 3), 0.5), lambda t: call(t.ints(2, 3), 0.25))
cases("bernoulli_.Tensor", lambda t: call(t(2, 3), t(2, 3, low=0, high=1)))
cases("random_.from", lambda t: call(t.ints(2, 3), 2, 9))
cases("random_.to", lambda t: call(t.ints(2, 3), 9))
FACTORIES = "rand randn randint randint.low randperm"
cases("rand randn", lambda t: call([2, 3]), lambda t: call([], dtype=dtypes.float64))
cases("rand.generator randn.generator", lambda t: call([2, 3], generator=t.generator()))
cases("randint", lambda t: call(9, [2, 3]), lambda t: call(9, [2], dtype=dtypes.float32))
cases("randint.generator", lambda t: call(9, [2, 3], generator=t.generator()))
cases("randint.low", lambda t: call(-3, 9, [2, 3]))
cases("randint.low_generator", lambda t: call(-3, 9, [2, 3], generator=t.generator()))
cases("randperm", lambda t: call(5), lambda t: call(0))
cases("randperm.generator", lambda t: call(5, generator=t.generator()))
LIKES = "rand_like randn_like"
cases(LIKES, *PLACE, lambda t: call(t(2, 3), dtype=dtypes.float64, memory_format=contiguous_format))
cases("rand_like.generator randn_like.generator", lambda t: call(t(2, 3), generator=t.generator()))
cases("randint_like", lambda t: call(t(2, 3), 9))
cases("randint_like.generator", lambda t: call(t(2, 3), 9, generator=t.generator()))
HIGH = TensorMaker().of(9, dtypes.int64)  # bounds are read on the CPU
cases("randint_like.Tensor", lambda t: call(t(2, 3), HIGH))
cases("randint_like.Tensor_generator", lambda t: call(t(2, 3), HIGH, generator=t.generator()))
cases("randint_like.low_dtype", lambda t: call(t(2, 3), -3, 9))
cases("randint_like.low_generator_dtype", lambda t: call(t(2, 3), -3, 9, generator=t.generator()))
cases("normal.Tensor_Tensor", lambda t: call(t(2, 3), t(3, low=0.5)))
cases("normal.Tensor_float", lambda t: call(t(2, 3), 0.5))
cases("normal.float_Tensor", lambda t: call(1.0, t(2, 3, low=0.5)))
cases("normal.float_float", lambda t: call(1.0, 0.5, [2, 3]))
cases("bernoulli", lambda t: call(t(2, 3, low=0, high=1)))
cases("bernoulli.p", lambda t: call(t(2, 3), 0.3))
cases("multinomial", lambda t: call(t(2, 4, low=0.5), 3), lambda t: call(t(4, low=0.5), 6, True))
cases("poisson", lambda t: call(t(2, 3, low=0.5)))
cases("binomial", lambda t: call(t.ints(2, 3, dtype=dtypes.float32), t(2, 3, low=0, high=1)))
cases("_standard_gamma", lambda t: call(t(2, 3, low=0.5)), lambda t: call(t(3, low=0.1, high=9)))
cases("_sample_dirichlet", lambda t: call(t(2, 3, low=0.5)), lambda t: call(t(4, low=0.1, high=9)))
cases(
    "_standard_gamma_grad",
    lambda t: call(t(2, 3, low=0.5), t(2, 3, low=0.5)),
    lambda t: call(t(3, low=0.1, high=9), t(2, 1, low=1, high=3)),
)
cases(
    "_dirichlet_grad",
    lambda t: call(t(2, 3, low=0.1, high=0.9), t(2, 3, low=0.5, high=2), t(2, 3, low=3, high=5)),
    lambda t: call(t(3, low=0.1, high=0.9), t(2, 1, low=0.5, high=2), t(3, low=3, high=5)),
)
DROPOUTS = "dropout dropout_ alpha_dropout alpha_dropout_ native_dropout"
FEATURE_DROPOUTS = "feature_dropout feature_dropout_ feature_alpha_dropout feature_alpha_dropout_"
cases(DROPOUTS, lambda t: call(t(2, 3), 0.5, True), lambda t: call(t(2, 3), 0.5, False))
cases(FEATURE_DROPOUTS, lambda t: call(t(2, 3, 4), 0.5, True), lambda t: call(t(2, 3, 4), 0.5, False))
cases("native_dropout_backward", lambda t: call(t(2, 3), t.bools(2, 3), 2.0))

random_values(
    f"{FILLS} {FACTORIES} {LIKES} {DROPOUTS} {FEATURE_DROPOUTS} geometric_ bernoulli_.Tensor random_.from "
    "random_.to randint_like "
    "rand.generator randn.generator randint.generator randint.low_generator randperm.generator rand_like.generator "
    "randn_like.generator randint_like.generator randint_like.Tensor randint_like.Tensor_generator "
    "randint_like.low_dtype "
    "randint_like.low_generator_dtype normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor "
    "normal.float_float bernoulli "
    "bernoulli.p multinomial poisson binomial _standard_gamma _sample_dirichlet"
)


def between(low: float, high: float) -> Callable[[Any], Any]:
    """Numbers from `low` on, below `high`."""
    return lambda x: (x >= low) & (x < high)


UNIFORM = "rand rand.generator rand_like rand_like.generator uniform_"
support(UNIFORM, between(0, 1))
support("randint randint.generator randint_like randint_like.generator randint_like.Tensor", between(0, 9))
support("randint_like.Tensor_generator random_.to", between(0, 9))
support("randint.low randint.low_generator randint_like.low_dtype randint_like.low_generator_dtype", between(-3, 9))
support("random_.from", between(2, 9))
support("randperm randperm.generator", lambda x: np.sort(x) == np.arange(x.size))
support("bernoulli bernoulli.p bernoulli_.Tensor bernoulli_.float", lambda x: (x == 0) | (x == 1))
support("exponential_ log_normal_", lambda x: (x >= 0) & np.isfinite(x))
support("geometric_", lambda x: (x >= 1) & (x == np.trunc(x)))
support("poisson binomial", lambda x: (x >= 0) & (x == np.trunc(x)))
support("_standard_gamma _sample_dirichlet", lambda x: x > 0)
support("multinomial", between(0, 4))
constants("normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor", "mean", "std")

# Arguments away from their defaults.
F64 = dtypes.float64
cases("alpha_dropout alpha_dropout_ dropout dropout_", lambda t: call(t(4, 5), 0.2, True))
cases(
    "feature_dropout feature_dropout_ feature_alpha_dropout feature_alpha_dropout_",
    lambda t: call(t(2, 5, 2), 0.2, True),
)
cases("dropout dropout_ native_dropout", lambda t: call(t(2, 3), 0.0, True), lambda t: call(t(2, 3), 1.0, True))
cases("native_dropout", lambda t: call(t(4, 5), 0.2, True))
cases("native_dropout_backward", lambda t: call(t(2, 3), t.bools(2, 3), 0.75))
cases("bernoulli.p bernoulli_.float", lambda t: call(t(4, 5), 0.8), lambda t: call(t(4, 5), 0.1))
cases("cauchy_ normal_ log_normal_", lambda t: call(t(2, 3), -0.5, 0.25), lambda t: call(t(5, 4), 2.0, 3.0))
cases("exponential_", lambda t: call(t(2, 3), 2.5))
cases("uniform_", lambda t: call(t(2, 3), 0.25, 0.75))
cases("normal.Tensor_float", lambda t: call(t(2, 3), 2.0))
cases("normal.float_Tensor", lambda t: call(-0.5, t(2, 3, low=0.5)))
cases("normal.float_float", lambda t: call(-0.5, 2.0, [4], dtype=F64))
cases("randint", lambda t: call(3, [5]))
cases("randint.generator", lambda t: call(4, [5], generator=t.generator(), dtype=F64))
cases("randint.low", lambda t: call(2, 5, [4], dtype=F64))
cases("randint.low_generator", lambda t: call(2, 5, [4], generator=t.generator(), dtype=dtypes.int32))
cases("rand.generator randn.generator", lambda t: call([5], generator=t.generator(), dtype=F64))
_LIKE = {"dtype": F64, "memory_format": contiguous_format}
cases("rand_like.generator randn_like.generator", lambda t: call(t(2, 3), generator=t.generator(), **_LIKE))
cases("randint_like", lambda t: call(t(2, 3), 4, **_LIKE))
cases("randint_like.generator", lambda t: call(t(2, 3), 4, generator=t.generator(), **_LIKE))
cases("randint_like.Tensor", lambda t: call(t(2, 3), HIGH, **_LIKE))
cases("randint_like.Tensor_generator", lambda t: call(t(2, 3), HIGH, generator=t.generator(), **_LIKE))
cases("randint_like.low_dtype", lambda t: call(t(2, 3), 2, 4, **_LIKE))
cases("randint_like.low_generator_dtype", lambda t: call(t(2, 3), 2, 4, generator=t.generator(), **_LIKE))
cases("randperm", lambda t: call(7, dtype=dtypes.int32))
cases("randperm.generator", lambda t: call(7, generator=t.generator(), dtype=F64))
cases("random_.from", lambda t: call(t(2, 3), 3, 7))
cases("random_.to", lambda t: call(t(2, 3), 4))

for _fills, (_makes, _) in FILLED.items():
    same_samples(_makes, _fills)
    random_values(_makes)
