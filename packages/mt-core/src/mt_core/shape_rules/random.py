"""Shapes of random results, and the checks of their parameters."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection
from typing import Any

from .. import dtypes
from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import dtype, scalar_type_name
from ..layout import broadcast_shapes
from ..number_range import check_number
from ..spec import Spec
from ..tensor import Tensor

#: What the C++ compiler calls the types, which some of PyTorch's messages quote.
_C_TYPES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex32": "c10::complex<c10::Half>", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
_FLOATING = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
_NOT_HALF = (dtypes.float32, dtypes.float64)
_COMPLEX = (dtypes.complex32, dtypes.complex64, dtypes.complex128)
_INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
_UNSIGNED = (dtypes.uint16, dtypes.uint32, dtypes.uint64)


def _require(d: dtype, supported: Collection[dtype], kernel: str) -> None:
    if d not in supported:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(d)}'")


def _require_to_fill(self: Tensor, supported: Collection[dtype], kernel: str) -> None:
    """As `_require`, for what has elements: no kernel is chosen to fill nothing."""
    if self.numel():
        _require(self._dtype, supported, kernel)


# Filling a tensor


@shape_rule("uniform_")
def uniform(self: Tensor, from_: float, to: float, generator: Any) -> None:
    """self (*) -> (*), filled."""
    d = self._dtype.to_real()
    _require(d, _FLOATING, "check_uniform_bounds")
    limits = dtypes.finfo(d)
    for name, value in (("from", from_), ("to", to)):
        if not limits.min <= value <= limits.max:
            raise RuntimeError(f"{name} is out of bounds for {_C_TYPES[d.name]}")
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_:g} > to={to:g}")
    if to - from_ > limits.max:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{scalar_type_name(d)}>::max(), but found to={to:g} and "
            f"from={from_:g} which result in to-from to exceed the limit"
        )


@shape_rule("normal_")
def normal(self: Tensor, mean: float, std: float, generator: Any) -> None:
    """self (*) -> (*), filled."""
    check_std(std)
    _require_to_fill(self, (*_FLOATING, *_COMPLEX), "normal_kernel_cpu")


def check_std(std: float) -> None:
    """Refuse a negative standard deviation.

    Raises
    ------
    RuntimeError
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


@shape_rule("log_normal_")
def log_normal(self: Tensor, mean: float, std: float, generator: Any) -> None:
    """self (*) -> (*), filled."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    _require_to_fill(self, _FLOATING, "log_normal_cpu")


@shape_rule("exponential_")
def exponential(self: Tensor, lambd: float, generator: Any) -> None:
    """self (*) -> (*), filled."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if self.numel():
        _require_continuous(self._dtype, "Exponential", scalar_type_name(self._dtype))
    _require_to_fill(self, _FLOATING, "exponential_cpu")


@shape_rule("cauchy_")
def cauchy(self: Tensor, median: float, sigma: float, generator: Any) -> None:
    """self (*) -> (*), filled."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _require_continuous(self._dtype, "Cauchy", _C_TYPES.get(self._dtype.name, self._dtype.name))
    _require(self._dtype, _FLOATING, "cauchy_cpu")


def _require_continuous(d: dtype, distribution: str, type_name: str) -> None:
    if not d.is_floating_point:
        raise RuntimeError(
            f"{distribution} distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {type_name}"
        )


@shape_rule("geometric_")
def geometric(self: Tensor, p: float, generator: Any) -> None:
    """self (*) -> (*), filled."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    _require_to_fill(self, (*_FLOATING, *_INTEGERS), "geometric_cpu")


@shape_rule("bernoulli_.float")
def bernoulli(self: Tensor, p: float, generator: Any) -> None:
    """self (*) -> (*), filled."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    _require_to_fill(self, (*_FLOATING, *_INTEGERS, dtypes.bool), "bernoulli_scalar_cpu_")


@shape_rule("bernoulli_.Tensor")
def bernoulli_tensor(self: Tensor, p: Tensor, generator: Any) -> None:
    """self (*), p broadcast to it -> (*), filled."""
    _require_to_fill(self, (*_FLOATING, *_INTEGERS, dtypes.bool), "bernoulli_tensor_cpu_self_")
    p.detach().expand(self._array.shape)
    if self.numel():
        _require(p._dtype, _FLOATING, "bernoulli_tensor_cpu_p_")


# Random integers


@shape_rule("random_")
def random(self: Tensor, generator: Any) -> None:
    """self (*) -> (*), filled."""
    _require_to_fill(self, (*_FLOATING, *_INTEGERS, dtypes.bool), "random_kernel_cpu")


@shape_rule("random_.to", warns=True)
def random_to(self: Tensor, to: int, generator: Any) -> None:
    """self (*) -> (*), filled."""
    random_from(self, 0, to, generator)


@shape_rule("random_.from", warns=True)
def random_from(self: Tensor, from_: int, to: int | None, generator: Any) -> None:
    """self (*) -> (*), filled."""
    d = self._dtype
    if d.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if d.is_floating_point:
        _require(d, _FLOATING, "random_update_from_to")
    if to is not None and from_ >= to:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={from_} >= to={to}")
    _check_bound("from", from_, d)
    if to is not None:
        _check_bound("to - 1", to - 1, d)
    elif d is dtypes.uint64:
        raise RuntimeError(f"to - 1 is out of bounds for {_C_TYPES[d.name]}")


def _check_bound(name: str, value: int, d: dtype) -> None:
    low, high = _limits(d)
    if not low <= value <= high:
        raise RuntimeError(f"{name} is out of bounds for {_C_TYPES[d.name]}")
    digits = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}.get(d.name)
    if digits is not None and abs(value) > 1 << digits:
        warnings.warn(
            f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {_C_TYPES[d.name]} can "
            "support discrete uniform distribution only within this range. This warning will become an error in "
            "version 1.7 release, please fix the code in advance",
            UserWarning,
            stacklevel=2,
        )


def _limits(d: dtype) -> tuple[float, float]:
    if d is dtypes.bool:
        return 0, 1
    info = dtypes.finfo(d) if d.is_floating_point else dtypes.iinfo(d)
    return info.min, info.max


#: The greatest permutation whose numbers the type can tell apart, and how PyTorch writes it.
_LARGEST_PERMUTATION = {
    "float16": (2**11 + 1, "2049"), "float32": (2**24 + 1, "2^24+1"), "float64": (2**53 + 1, "2^53+1"),
}  # fmt: skip


@shape_rule("randperm")
def randperm(n: int, dtype: Any, *options: Any) -> Spec:
    """-> (n,) of int64."""
    d = dtype or dtypes.int64
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    _require(d, (*_FLOATING, *_INTEGERS), "randperm")
    if d.is_integral:
        check_number(n - 1, d)
    most, written = _LARGEST_PERMUTATION.get(d.name, (math.inf, ""))
    if n > most:
        raise RuntimeError(f"n cannot be greater than {written} for {scalar_type_name(d)} type.")
    return Spec((n,), d)


@shape_rule("randperm.generator")
def randperm_generator(n: int, generator: Any, *options: Any) -> Spec:
    """-> (n,) of int64."""
    return randperm(n, *options)


# Drawing from distributions


@shape_rule("multinomial")
def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Any) -> Spec:
    """self (N, C) or (C,) of weights -> (N, num_samples) or (num_samples,) of int64."""
    shape, d = self._array.shape, self._dtype
    if not 0 < len(shape) <= 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if not d.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {scalar_type_name(d)}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    categories = shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if categories > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    _require(d, _FLOATING, "aminmax_cpu")
    return Spec((*shape[:-1], num_samples), dtypes.int64)


@shape_rule("poisson")
def poisson(self: Tensor, generator: Any) -> Spec:
    """self (*) of rates -> (*)."""
    _require(self._dtype, _FLOATING, "poisson_cpu")
    return Spec(self._array.shape, self._dtype)


@shape_rule("_standard_gamma")
def _standard_gamma(self: Tensor, generator: Any) -> Spec:
    """self (*) of shape parameters -> (*)."""
    _require(self._dtype, _NOT_HALF, "gamma_cpu")
    return Spec(self._array.shape, self._dtype)


@shape_rule("_sample_dirichlet")
def _sample_dirichlet(self: Tensor, generator: Any) -> Spec:
    """self (*, K) of concentrations -> (*, K)."""
    _require(self._dtype, _NOT_HALF, "dirichlet")
    return Spec(self._array.shape, self._dtype)


@shape_rule("_standard_gamma_grad")
def _standard_gamma_grad(self: Tensor, output: Tensor) -> Spec:
    """self (*), output (*), broadcast -> the common shape."""
    return _of_one_dtype("_standard_gamma_grad_cpu", self, output)


@shape_rule("_dirichlet_grad")
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Spec:
    """x (*), alpha (*), total (*), broadcast -> the common shape."""
    return _of_one_dtype("_dirichlet_grad_cpu", x, alpha, total)


def _of_one_dtype(kernel: str, *tensors: Tensor) -> Spec:
    """What a kernel makes of tensors that broadcast and may not differ in dtype."""
    expected = tensors[0]._dtype
    for tensor in tensors:
        if tensor._dtype is not expected:
            found = scalar_type_name(tensor._dtype)
            raise RuntimeError(f"Found dtype {found} but expected {scalar_type_name(expected)}")
    _require(expected, _NOT_HALF, kernel)
    return Spec(broadcast_shapes([tuple(t._array.shape) for t in tensors]), expected)


@shape_rule("binomial")
def binomial(count: Tensor, prob: Tensor, generator: Any) -> Spec:
    """count (*), prob (*), broadcast -> the common shape."""
    for name, tensor in (("count", count), ("prob", prob)):
        if not tensor._dtype.is_floating_point:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {scalar_type_name(tensor._dtype)}"
            )
    if count._dtype is not prob._dtype:
        found, expected = scalar_type_name(prob._dtype), scalar_type_name(count._dtype)
        raise RuntimeError(f"Found dtype {found} but expected {expected}")
    _require(count._dtype, _NOT_HALF, "binomial_cpu")
    return Spec(broadcast_shapes([tuple(count._array.shape), tuple(prob._array.shape)]), count._dtype)
