"""Random numbers that a program draws itself, by Philox: others than those of eager execution.

For each draw the program is given a key, which is drawn from the generator of the CPU: so `torch.manual_seed` tells
what comes, and no two runs draw the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import mt_core as mt
from mindtorch.fx.node import Node
from mt_core import Tensor
from mt_core.api import _functions as ops

from .calls import NotLowered, Value, convert, jax_dtype, opmath

__all__ = ["PhiloxDraw"]

#: How many digits a number of a dtype has, so that none is rounded up to one.
_DIGITS = {mt.float16: 11, mt.bfloat16: 8, mt.float32: 24, mt.float64: 53}


class PhiloxDraw:
    """A node of random numbers, drawn by the program.

    Attributes
    ----------
    node
        The node.
    likes
        What jax is told of its key.

    Raises
    ------
    NotLowered
        For an operator, a dtype or a generator that it does not draw by.
    """

    def __init__(self, node: Node, name: str, arguments: Mapping[str, Any]) -> None:
        self.node = node
        self._made = _DRAWN.get(name.partition(".")[0])
        self._arguments = arguments
        self._like = node.meta["val"]
        if self._made is None or arguments.get("generator") is not None:
            raise NotLowered(f"aten::{name} is not drawn by Philox")
        if self._like.is_complex():
            raise NotLowered(f"aten::{name} of complex numbers is not drawn by Philox")
        self.likes = [jax.ShapeDtypeStruct((4,), jnp.uint32)]

    def arrays(self) -> list[np.ndarray]:
        """A key that is drawn now."""
        return [ops.randint(0, 1 << 32, (4,), dtype=mt.int64)._array.astype(np.uint32)]

    def values(self, given: list[Value]) -> list[Value]:
        """The numbers, of the key."""
        found = self._made(given[0], self._like, self._arguments)  # type: ignore[misc]
        return [convert(found, jax_dtype(self._like.dtype))]


def _bits(key: Value, shape: tuple[int, ...], dtype: Any) -> Value:
    return lax.rng_bit_generator(key, shape, dtype=dtype, algorithm=lax.RandomAlgorithm.RNG_PHILOX)[1]


def _units(key: Value, shape: tuple[int, ...], dtype: Any, is_inside: bool = False) -> Value:
    """Numbers from 0 to 1, which is left out, and 0 as well with `is_inside`, as they are computed with."""
    digits = _DIGITS.get(dtype, 24)
    wide = jnp.float64 if dtype is mt.float64 else jnp.float32
    size, kind = (64, jnp.uint64) if dtype is mt.float64 else (32, jnp.uint32)
    if is_inside:  # halfway between numbers of one digit less
        digits = (53 if dtype is mt.float64 else 24) - 1
    number = (_bits(key, shape, kind) >> (size - digits)).astype(wide)
    return (number + 0.5 if is_inside else number) * 2.0**-digits


def _inside(key: Value, like: Tensor) -> Value:
    return _units(key, tuple(like.shape), like.dtype, is_inside=True)


def _normals(key: Value, like: Tensor, mean: float = 0.0, std: float = 1.0) -> Value:
    pair = _units(key, (2, *like.shape), opmath(like.dtype), is_inside=True)
    return jnp.sqrt(-2 * jnp.log(pair[0])) * jnp.cos(2 * math.pi * pair[1]) * std + mean


def _uniform(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    low, high = arguments.get("from", 0.0), arguments.get("to", 1.0)
    found = convert(_units(key, tuple(like.shape), like.dtype) * (high - low) + low, jax_dtype(like.dtype))
    return jnp.where(found >= high, jnp.asarray(low, found.dtype), found)  # where it was rounded up


def _normal(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    mean, std = arguments.get("mean", 0.0), arguments.get("std", 1.0)
    if isinstance(mean, (Node, Tensor)) or isinstance(std, (Node, Tensor)):
        raise NotLowered("aten::normal of tensors is not drawn by Philox")
    return _normals(key, like, mean, std)


def _integers(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    low, high = arguments.get("low", 0), arguments["high"]
    return _below(key, like, high - low) + low


def _below(key: Value, like: Tensor, count: int) -> Value:
    return (_bits(key, tuple(like.shape), jnp.uint64) % jnp.uint64(count)).astype(jnp.int64)


def _random(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    low, high = arguments.get("from", 0), arguments.get("to")
    if high is None:
        if like.dtype.is_floating_point:
            high = 2 ** _DIGITS[like.dtype] + 1
        else:
            high = 2 if like.dtype is mt.bool else mt.iinfo(like.dtype).max + 1
    return _below(key, like, high - low) + low


def _permutation(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    return jnp.argsort(_bits(key, tuple(like.shape), jnp.uint64))


def _bernoulli(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    return _units(key, tuple(like.shape), mt.float32) < arguments["p"]


def _exponential(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    return -jnp.log(_inside(key, like)) / arguments["lambd"]


def _geometric(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    return jnp.ceil(jnp.log(_inside(key, like)) / math.log1p(-arguments["p"]))


def _cauchy(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    return jnp.tan(math.pi * (_inside(key, like) - 0.5)) * arguments["sigma"] + arguments["median"]


def _log_normal(key: Value, like: Tensor, arguments: Mapping[str, Any]) -> Value:
    return jnp.exp(_normals(key, like, arguments["mean"], arguments["std"]))


_DRAWN: dict[str, Callable[[Value, Tensor, Mapping[str, Any]], Value]] = {
    "rand": _uniform, "rand_like": _uniform, "uniform": _uniform, "randn": _normal, "randn_like": _normal,
    "normal": _normal, "normal_functional": _normal, "randint": _integers, "randint_like": _integers,
    "random": _random, "randperm": _permutation, "bernoulli": _bernoulli, "exponential": _exponential,
    "geometric": _geometric, "cauchy": _cauchy, "log_normal": _log_normal,
}  # fmt: skip
