"""Random numbers written in the operators that fill a tensor, and dropout written in Bernoulli masks.

Factories and their ``out=`` forms come in pairs, with and without a generator. Numbers are drawn in the dtype and
memory order of the result, as PyTorch draws them, so that streams agree.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..dispatch.dispatcher import backend_key_for
from ..dispatch.registry import KernelCache, overload
from ..dispatch.registry import register_composite as composite
from ..dispatch.writing import resize_out, take_shape, write_result
from ..dtypes import scalar_type_name
from ..formats import contiguous_format
from ..hollow import has_elements
from ..keys import CUDA
from ..layout import broadcast_shapes
from ..shape_rules.random import check_std
from ..state import tls

Ints = tuple[int, ...]


# Factories


_EMPTY = overload("empty.memory_format", "creation").cache
_EMPTY_LIKE = overload("empty_like", "creation").cache
_UNIFORM, _NORMAL, _RANDOM = (overload(name, "random").cache for name in ("uniform_", "normal_", "random_.from"))


def _empty(size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    return _EMPTY[backend_key_for(device) | tls.mode](size, dtype, layout, device, pin_memory, None)


def _drawn(fill: KernelCache, tensor: Any, *parameters: Any) -> Any:
    """A tensor that nobody has seen yet, filled with random numbers: its writes are counted from then on."""
    fill[tensor._keys | tls.mode](tensor, *parameters)
    tensor._cell = None
    return tensor


def _resized(out: Any, size: Ints, dtype: Any, device: Any) -> Any:
    """``out``, checked against the options beside it, in the size of the result, which counts as no write."""
    _check_options(out, dtype, device)
    take_shape(out, tuple(size))
    return out


def _resized_as_written(out: Any, size: Ints, dtype: Any, device: Any) -> Any:
    """The same, where the change of size is a write of its own."""
    _check_options(out, dtype, device)
    return out if tuple(out.shape) == tuple(size) else out.resize_(size)


def _check_options(out: Any, dtype: Any, device: Any) -> None:
    if dtype is not None and dtype is not out.dtype:
        given, found = scalar_type_name(dtype), scalar_type_name(out.dtype)
        raise RuntimeError(f"dtype {given} does not match dtype of out parameter ({found})")
    if device is not None and device.type != out.device.type:
        raise RuntimeError(f"device type {device} does not match device type of out parameter ({out.device})")


@composite("rand")
def rand(size: Ints, *options: Any) -> Any:
    return _drawn(_UNIFORM, _empty(size, *options), 0.0, 1.0, None)


@composite("rand.generator")
def rand_generator(size: Ints, generator: Any, *options: Any) -> Any:
    return _drawn(_UNIFORM, _empty(size, *options), 0.0, 1.0, generator)


@composite("rand.out")
def rand_out(size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any) -> Any:
    return _resized(out, size, dtype, device).uniform_()


@composite("rand.generator_out")
def rand_generator_out(
    size: Ints, generator: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:
    return _resized(out, size, dtype, device).uniform_(generator=generator)


@composite("randn")
def randn(size: Ints, *options: Any) -> Any:
    return _drawn(_NORMAL, _empty(size, *options), 0.0, 1.0, None)


@composite("randn.generator")
def randn_generator(size: Ints, generator: Any, *options: Any) -> Any:
    return _drawn(_NORMAL, _empty(size, *options), 0.0, 1.0, generator)


@composite("randn.out")
def randn_out(size: Ints, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any) -> Any:
    return _resized_as_written(out, size, dtype, device).normal_()


@composite("randn.generator_out")
def randn_generator_out(
    size: Ints, generator: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:
    return _resized_as_written(out, size, dtype, device).normal_(generator=generator)


@composite("randint.low_generator")
def randint_low_generator(low: int, high: int, size: Ints, generator: Any, dtype: Any, *options: Any) -> Any:
    return _drawn(_RANDOM, _empty(size, dtype or dtypes.int64, *options), low, high, generator)


@composite("randint.low")
def randint_low(low: int, high: int, size: Ints, *options: Any) -> Any:
    return randint_low_generator(low, high, size, None, *options)


@composite("randint.generator")
def randint_generator(high: int, size: Ints, generator: Any, *options: Any) -> Any:
    return randint_low_generator(0, high, size, generator, *options)


@composite("randint")
def randint(high: int, size: Ints, *options: Any) -> Any:
    return randint_low_generator(0, high, size, None, *options)


@composite("randint.low_generator_out")
def randint_low_generator_out(
    low: int, high: int, size: Ints, generator: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:
    # The default int64 of the factory does not count against `out`.
    dtype = None if dtype is dtypes.int64 else dtype
    return _resized(out, size, dtype, device).random_(low, high, generator=generator)


@composite("randint.low_out")
def randint_low_out(low: int, high: int, size: Ints, *options_and_out: Any) -> Any:
    return randint_low_generator_out(low, high, size, None, *options_and_out)


@composite("randint.generator_out")
def randint_generator_out(high: int, size: Ints, generator: Any, *options_and_out: Any) -> Any:
    return randint_low_generator_out(0, high, size, generator, *options_and_out)


@composite("randint.out")
def randint_out(high: int, size: Ints, *options_and_out: Any) -> Any:
    return randint_low_generator_out(0, high, size, None, *options_and_out)


@composite("randperm.generator_out")
def randperm_generator_out(
    n: int, generator: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got{n}")
    take_shape(out, (n,))
    return write_result(out, ops.randperm(n, generator=generator, dtype=out.dtype, device=out.device))


@composite("randperm.out")
def randperm_out(n: int, *options_and_out: Any) -> Any:
    return randperm_generator_out(n, None, *options_and_out)


# Tensors like another


def _empty_like(self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
    return _EMPTY_LIKE[self._keys | tls.mode](self, dtype, layout, device, pin_memory, memory_format)


@composite("rand_like.generator")
def rand_like_generator(self: Any, generator: Any, *options: Any) -> Any:
    return _drawn(_UNIFORM, _empty_like(self, *options), 0.0, 1.0, generator)


@composite("rand_like")
def rand_like(self: Any, *options: Any) -> Any:
    return _drawn(_UNIFORM, _empty_like(self, *options), 0.0, 1.0, None)


@composite("randn_like.generator")
def randn_like_generator(self: Any, generator: Any, *options: Any) -> Any:
    return _drawn(_NORMAL, _empty_like(self, *options), 0.0, 1.0, generator)


@composite("randn_like")
def randn_like(self: Any, *options: Any) -> Any:
    return _drawn(_NORMAL, _empty_like(self, *options), 0.0, 1.0, None)


@composite("randint_like.low_generator_dtype")
def randint_like_low_generator(self: Any, low: int, high: int, generator: Any, *options: Any) -> Any:
    return _drawn(_RANDOM, _empty_like(self, *options), low, high, generator)


@composite("randint_like.low_dtype")
def randint_like_low(self: Any, low: int, high: int, *options: Any) -> Any:
    return randint_like_low_generator(self, low, high, None, *options)


@composite("randint_like.generator")
def randint_like_generator(self: Any, high: int, generator: Any, *options: Any) -> Any:
    return randint_like_low_generator(self, 0, high, generator, *options)


@composite("randint_like")
def randint_like(self: Any, high: int, *options: Any) -> Any:
    return randint_like_low_generator(self, 0, high, None, *options)


@composite("randint_like.Tensor_generator")
def randint_like_tensor_generator(self: Any, high: Any, generator: Any, *options: Any) -> Any:
    if high.dim() or not (high.is_cpu or high.is_meta):
        raise RuntimeError("high must be a scalar tensor and on CPU")
    limit = int(high.item()) if has_elements(high) else 1
    return randint_like_low_generator(self, 0, limit, generator, *options)


@composite("randint_like.Tensor")
def randint_like_tensor(self: Any, high: Any, *options: Any) -> Any:
    return randint_like_tensor_generator(self, high, None, *options)


# Normal numbers of given means and deviations


def _check_deviations(std: Any) -> None:
    if std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if has_elements(std) and std.numel() and not bool((std >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")


def _normal_tensor_tensor(out: Any, mean: Any, std: Any, generator: Any) -> Any:
    return out.normal_(generator=generator).mul_(std).add_(mean)


def _normal_tensor_float(out: Any, mean: Any, std: float, generator: Any) -> Any:
    return out.normal_(0.0, std, generator=generator).add_(mean)


def _normal_float_tensor(out: Any, mean: float, std: Any, generator: Any) -> Any:
    return out.normal_(generator=generator).mul_(std).add_(mean)


@composite("normal.Tensor_Tensor", explicit=True)
def normal_tensor_tensor(mean: Any, std: Any, generator: Any) -> Any:
    _check_deviations(std)
    shape = broadcast_shapes([tuple(mean.shape), tuple(std.shape)])
    return _normal_tensor_tensor(mean.new_empty(shape), mean, std, generator)


@composite("normal.Tensor_Tensor_out", explicit=True)
def normal_tensor_tensor_out(mean: Any, std: Any, generator: Any, out: Any) -> Any:
    _check_deviations(std)
    shape = broadcast_shapes([tuple(mean.shape), tuple(std.shape)])
    resize_out(out, shape)
    return out.copy_(_normal_tensor_tensor(ops.empty_like(out), mean, std, generator))  # written to once


@composite("normal.Tensor_float", explicit=True)
def normal_tensor_float(mean: Any, std: float, generator: Any) -> Any:
    check_std(std)
    return _normal_tensor_float(mean.new_empty(mean.shape), mean, std, generator)


@composite("normal.Tensor_float_out", explicit=True)
def normal_tensor_float_out(mean: Any, std: float, generator: Any, out: Any) -> Any:
    check_std(std)
    resize_out(out, broadcast_shapes([tuple(mean.shape), tuple(out.shape)]))  # PyTorch makes deviations of this shape
    return out.copy_(_normal_tensor_float(ops.empty_like(out), mean, std, generator))  # written to once


@composite("normal.float_Tensor", explicit=True)
def normal_float_tensor(mean: float, std: Any, generator: Any) -> Any:
    _check_deviations(std)
    return _normal_float_tensor(std.new_empty(std.shape), mean, std, generator)


@composite("normal.float_Tensor_out", explicit=True)
def normal_float_tensor_out(mean: float, std: Any, generator: Any, out: Any) -> Any:
    _check_deviations(std)
    resize_out(out, std.shape)
    return out.copy_(_normal_float_tensor(ops.empty_like(out), mean, std, generator))  # written to once


@composite("normal.float_float", explicit=True)
def normal_float_float(mean: float, std: float, size: Ints, generator: Any, *options: Any) -> Any:
    check_std(std)
    return _empty(size, *options).normal_(mean, std, generator=generator)


@composite("normal.float_float_out", explicit=True)
def normal_float_float_out(
    mean: float, std: float, size: Ints, generator: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, out: Any
) -> Any:
    check_std(std)
    return _resized(out, size, dtype, device).normal_(mean, std, generator=generator)


# Bernoulli numbers


@composite("bernoulli", explicit=True)
def bernoulli(self: Any, generator: Any) -> Any:
    return ops.empty_like(self, memory_format=contiguous_format).bernoulli_(self, generator=generator)


@composite("bernoulli.out", explicit=True)
def bernoulli_out(self: Any, generator: Any, out: Any) -> Any:
    return _resized(out, self.shape, None, None).bernoulli_(self, generator=generator)


@composite("bernoulli.p", explicit=True)
def bernoulli_p(self: Any, p: float, generator: Any) -> Any:
    return ops.empty_like(self, memory_format=contiguous_format).bernoulli_(p, generator=generator)


@composite("multinomial.out", explicit=True)
def multinomial_out(self: Any, num_samples: int, replacement: bool, generator: Any, out: Any) -> Any:
    if out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {scalar_type_name(out.dtype)}")
    return write_result(out, self.multinomial(num_samples, replacement, generator=generator))


# Dropout


def _stays_as_it_is(input: Any, p: float, train: bool) -> bool:
    """Whether dropout leaves the input alone.

    Raises
    ------
    RuntimeError
        When `p` is no probability.
    """
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    return p == 0 or not train or input.numel() == 0


def _feature_noise(input: Any) -> Any:
    """An uninitialized tensor with one element for each channel of each sample."""
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return input.new_empty((*input.shape[:2], *([1] * (input.dim() - 2))))


def _dropout_noise(noise: Any, p: float) -> Any:
    """The factors of dropout: 0, or 1 / (1 - p)."""
    return noise.bernoulli_(1 - p).div_(1 - p)


#: Minus the lower limit of the SELU activation, scale * alpha: what a dropped element is set to before rescaling.
_SELU_LIMIT = 1.7580993408473766


def _alpha_noise(noise: Any, p: float) -> tuple[Any, Any]:
    """Factors and summands of alpha dropout (Klambauer et al., "Self-Normalizing Neural Networks", section 3)."""
    noise = noise.bernoulli_(1 - p)
    scale = 1 / math.sqrt((_SELU_LIMIT * _SELU_LIMIT * p + 1) * (1 - p))
    summands = noise.add(-1).mul_(_SELU_LIMIT * scale).add_(_SELU_LIMIT * scale * p)
    return noise.mul_(scale), summands


def _zero(input: Any) -> Any:
    return input.new_zeros(())


def _dropout(input: Any, noise: Any, p: float) -> Any:
    return input.mul(_zero(input) if p == 1 else _dropout_noise(noise(input), p))


def _dropout_in_place(self: Any, noise: Any, p: float) -> Any:
    return self.mul_(_zero(self) if p == 1 else _dropout_noise(noise(self), p))


def _alpha_dropout(input: Any, noise: Any, p: float) -> Any:
    if p == 1:
        return input.mul(_zero(input))
    factors, summands = _alpha_noise(noise(input), p)
    return input.mul(factors).add_(summands)


def _alpha_dropout_in_place(self: Any, noise: Any, p: float) -> Any:
    if p == 1:
        return self.mul_(_zero(self))
    factors, summands = _alpha_noise(noise(self), p)
    return self.mul_(factors).add_(summands)


@composite("dropout")
def dropout(input: Any, p: float, train: bool) -> Any:
    if _stays_as_it_is(input, p, train):
        return input
    if input._keys & CUDA and p != 1:  # as in PyTorch, which draws other numbers there
        return ops.native_dropout(input, p, True)[0]
    return _dropout(input, ops.empty_like, p)


@composite("dropout_")
def dropout_(self: Any, p: float, train: bool) -> Any:
    return self if _stays_as_it_is(self, p, train) else _dropout_in_place(self, ops.empty_like, p)


@composite("feature_dropout")
def feature_dropout(input: Any, p: float, train: bool) -> Any:
    return input if _stays_as_it_is(input, p, train) else _dropout(input, _feature_noise, p)


@composite("feature_dropout_")
def feature_dropout_(self: Any, p: float, train: bool) -> Any:
    return self if _stays_as_it_is(self, p, train) else _dropout_in_place(self, _feature_noise, p)


@composite("alpha_dropout")
def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    return input if _stays_as_it_is(input, p, train) else _alpha_dropout(input, ops.empty_like, p)


@composite("alpha_dropout_")
def alpha_dropout_(self: Any, p: float, train: bool) -> Any:
    return self if _stays_as_it_is(self, p, train) else _alpha_dropout_in_place(self, ops.empty_like, p)


@composite("feature_alpha_dropout")
def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    return input if _stays_as_it_is(input, p, train) else _alpha_dropout(input, _feature_noise, p)


@composite("feature_alpha_dropout_")
def feature_alpha_dropout_(self: Any, p: float, train: bool) -> Any:
    return self if _stays_as_it_is(self, p, train) else _alpha_dropout_in_place(self, _feature_noise, p)


@composite("native_dropout", explicit=True)
def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    if not input.numel():
        return input, ops.empty_like(input)
    mask = ops.empty_like(input, dtype=dtypes.bool)
    if train is False:
        return input.clone(), mask.fill_(True)
    mask.bernoulli_(1 - p)
    # The scale is rounded to the dtype of the result before anything is multiplied with it.
    factors = mask.to(input.dtype).mul_(native_dropout_scale(p))
    return input.mul(factors), mask


def native_dropout_scale(p: float) -> float:
    """What kept elements are multiplied with."""
    return 0.0 if p == 1 else 1 / (1 - p)


@composite("native_dropout_backward", explicit=True)
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    return grad_output * mask * scale
