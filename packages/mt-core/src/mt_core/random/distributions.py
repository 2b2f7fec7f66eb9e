"""PyTorch's CPU streams: each function fills an array from an engine, bit for bit as PyTorch fills a tensor.

Arrays are NumPy arrays of the tensor's storage dtype, in any layout without overlap. Numbers are drawn in the order
in which the elements lie in memory, so that a transposed array is filled like the array it is a view of. Parameters
are not checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..layout import dense_order
from .arithmetic import fma_double, from_c_library, log_single, sincos_single, single
from .engine import MersenneTwister

__all__ = [
    "exact_bounds",
    "fill_bernoulli",
    "fill_bernoulli_from",
    "fill_cauchy",
    "fill_exponential",
    "fill_geometric",
    "fill_log_normal",
    "fill_normal",
    "fill_random",
    "fill_random_range",
    "fill_uniform",
    "random_limit",
]

#: Elements computed at a time: temporaries stay in the processor's cache.
_BLOCK = 1 << 13

#: From this many elements on, contiguous arrays get normal numbers sixteen at a time.
_SIXTEEN = 16

Array = np.ndarray


# Order of elements, and conversion


def in_memory_order(array: Array, *others: Array) -> tuple[Array, ...]:
    """Views with the dimensions ordered from outermost to innermost in memory (of the first array that tells)."""
    if array.flags.c_contiguous and not others:
        return (array,)
    order = dense_order(array.shape, [a.strides for a in (array, *others)])
    return tuple(a.transpose(order[::-1]) for a in (array, *others))


def _store(out: Array, values: Array) -> None:
    """Write values drawn one after the other; half types are reached through float32, as PyTorch converts."""
    (target,) = in_memory_order(out)
    if out.dtype.itemsize == 2 and values.dtype == np.float64:
        values = values.astype(np.float32)
    target[...] = values.reshape(target.shape)


def _fill_blockwise(out: Array, draw: Callable[[int], Array]) -> None:
    """Fill with ``draw(count)``, block by block where the elements lie in one row."""
    if out.size <= _BLOCK or not out.flags.c_contiguous:
        _store(out, draw(out.size))
        return
    flat = out.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        part = flat[start : start + _BLOCK]
        _store(part, draw(part.size))


def _is_double(out: Array) -> bool:
    return out.dtype.char == "d"


# Uniform


def fill_uniform(out: Array, low: float, high: float, engine: MersenneTwister) -> None:
    """Numbers in [low, high); those that round to `high` become `low`. `out` has a floating dtype."""
    if low == 0.0 and high == 1.0 and out.dtype.char == "f" and out.flags.c_contiguous and out.size <= _BLOCK:
        with engine.lock:
            engine.fill_uniform_float(out)
        return
    draw = _uniform_double if _is_double(out) else _uniform_float

    def drawn(count: int) -> Array:
        values = draw(engine, count, low, high)
        if low == 0.0 and high == 1.0 and out.dtype.itemsize >= 4:
            return values
        rounded = values.astype(out.dtype)
        rounded[rounded == _rounded(high, out)] = _rounded(low, out)
        return rounded

    with engine.lock:
        _fill_blockwise(out, drawn)


def _rounded(value: float, out: Array) -> Any:
    """`value` in the dtype of `out`."""
    return np.asarray(value, np.float64 if _is_double(out) else np.float32).astype(out.dtype)[()]


def _uniform_float(engine: MersenneTwister, count: int, low: float, high: float) -> Array:
    values = engine.uniform_float(count)
    if low == 0.0 and high == 1.0:
        return values
    lowest, width = np.float32(low), np.float32(high) - np.float32(low)
    return _multiplied_and_added(values.astype(np.float64), width, lowest)


def _multiplied_and_added(singles: Array, factor: np.float32, summand: np.float32) -> Array:
    """``singles * factor + summand``, rounded once to float32; `singles` are float32 numbers as float64."""
    return (singles * float(factor) + float(summand)).astype(np.float32)


def _uniform_double(engine: MersenneTwister, count: int, low: float, high: float) -> Array:
    return fma_double(engine.uniform_double(count), high - low, low)


# Normal


def fill_normal(out: Array, mean: float, std: float, engine: MersenneTwister) -> None:
    """Normal numbers in floating dtypes: sixteen at a time in contiguous arrays of that size or more, else in pairs."""
    with engine.lock:
        if out.size < _SIXTEEN and std == 1.0 and out.dtype.itemsize >= 4 and out.flags.c_contiguous:
            normals = np.array(_few_normals(engine, out.size), out.dtype if mean == 0.0 else np.float64)
            out[...] = (normals if mean == 0.0 else normals + mean).reshape(out.shape)
        elif out.size >= _SIXTEEN and out.flags.c_contiguous:
            _fill_by_sixteens(out.reshape(-1), mean, std, engine)
        else:
            _store(out, _serial_normals(engine, out.size, mean, std, _is_double(out)))


def _fill_by_sixteens(flat: Array, mean: float, std: float, engine: MersenneTwister) -> None:
    """Box-Muller on blocks of 16 uniform numbers; a remainder is made good by drawing the last 16 elements anew.

    Uniform numbers are drawn for the elements of the remainder too, and dropped, except where the dtype is a half type.
    """
    double = _is_double(flat)
    draw = engine.uniform_double if double else engine.uniform_float
    transform = _box_muller_double if double else _box_muller_single
    whole = flat.size - flat.size % _SIXTEEN
    for start in range(0, whole, _BLOCK):
        stop = min(start + _BLOCK, whole)
        flat[start:stop] = transform(draw(stop - start), mean, std)
    if whole < flat.size:
        draw(flat.size - whole if flat.dtype.itemsize > 2 else 0)
        flat[-_SIXTEEN:] = transform(draw(_SIXTEEN), mean, std)


_TWO_PI = 2.0 * math.pi
_TWO_PI_SINGLE = float(np.float32(2 * math.pi))


def _box_muller_single(uniform: Array, mean: float, std: float) -> Array:
    radii, angles = uniform.astype(np.float64).reshape(-1, 2, 8).swapaxes(0, 1)
    radius = single(np.sqrt(single(-2 * log_single(1 - radii))))
    sin, cos = sincos_single(single(_TWO_PI_SINGLE * angles))
    normals = single(np.stack([radius * cos, radius * sin], axis=1).reshape(-1))
    return _multiplied_and_added(normals, np.float32(std), np.float32(mean))


def _box_muller_double(uniform: Array, mean: float, std: float) -> Array:
    radii, angles = uniform.reshape(-1, 2, 8).swapaxes(0, 1)
    radius = np.sqrt(-2.0 * from_c_library(math.log, 1.0 - radii))
    angles = 2.0 * math.pi * angles
    normals = [radius * from_c_library(f, angles) for f in (math.cos, math.sin)]
    return fma_double(np.stack(normals, axis=1).reshape(-1), std, mean)


def _serial_normals(engine: MersenneTwister, count: int, mean: float, std: float, exact: bool) -> Array:
    """`count` float64 normal numbers in pairs; the odd one out is kept in the engine for the next call.

    Only with `exact` is every bit that of the C library; rounded to float32 the results are the same. The number that
    is kept is always exact.
    """
    if count <= _SIXTEEN:
        return fma_double(np.array(_few_normals(engine, count)), std, mean)
    kept = engine.next_double_normal
    start = 1 if kept is not None and count else 0
    pairs = (count - start + 1) // 2
    normals = np.empty(start + 2 * pairs)
    if start:
        normals[0] = kept
        engine.next_double_normal = None
    uniform = engine.uniform_double(2 * pairs)
    normals[start:] = _normal_pairs(uniform, exact)
    if normals.size > count:
        engine.next_double_normal = float(_normal_pairs(uniform[-2:], exact=True)[1])
    return fma_double(normals[:count], std, mean)


def _few_normals(engine: MersenneTwister, count: int) -> list[float]:
    """What `_serial_normals` draws, number by number: for a few that is quicker."""
    normals: list[float] = []
    if count and engine.next_double_normal is not None:
        normals.append(engine.next_double_normal)
        engine.next_double_normal = None
    uniform = iter(engine.uniform_double(count - len(normals) + (count - len(normals)) % 2).tolist())
    sqrt, log1p, cos, sin, add = math.sqrt, math.log1p, math.cos, math.sin, normals.append
    for angle, radius in zip(uniform, uniform, strict=True):
        radius = sqrt(-2.0 * log1p(-radius))
        angle *= _TWO_PI
        add(radius * cos(angle))
        add(radius * sin(angle))
    if len(normals) > count:
        engine.next_double_normal = normals.pop()
    return normals


def _normal_pairs(uniform: Array, exact: bool) -> Array:
    angles, radii = uniform.reshape(-1, 2).T
    radius = np.sqrt(-2.0 * _double(math.log1p, np.log1p, exact)(-radii))
    angles = 2.0 * math.pi * angles
    cos, sin = _double(math.cos, np.cos, exact)(angles), _double(math.sin, np.sin, exact)(angles)
    return np.stack([radius * cos, radius * sin], axis=1).reshape(-1)


def _double(scalar: Callable[[float], float], vectorized: np.ufunc, exact: bool) -> Callable[[Array], Array]:
    """A function of float64 arrays: the C library's where every bit counts, else NumPy's."""
    return (lambda x: from_c_library(scalar, x)) if exact else vectorized


def fill_log_normal(out: Array, mean: float, std: float, engine: MersenneTwister) -> None:
    """Exponentials of normal numbers. Floating dtypes."""
    exact = _is_double(out)
    with engine.lock:
        normals = _serial_normals(engine, out.size, mean, std, exact)
    _store(out, _double(_exp, np.exp, exact)(normals))


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


# Other continuous distributions, each by inversion of one float64 uniform number


def fill_exponential(out: Array, rate: float, engine: MersenneTwister) -> None:
    """Exponential numbers of the given rate. Floating dtypes."""
    log1p = _double(math.log1p, np.log1p, _is_double(out))
    with engine.lock:
        _fill_blockwise(out, lambda count: (-1.0 / rate) * log1p(-engine.uniform_double(count)))


def fill_cauchy(out: Array, median: float, sigma: float, engine: MersenneTwister) -> None:
    """Cauchy numbers. Floating dtypes."""
    tan = _double(math.tan, np.tan, _is_double(out))

    def drawn(count: int) -> Array:
        return fma_double(tan(math.pi * (engine.uniform_double(count) - 0.5)), sigma, median)

    with engine.lock:
        _fill_blockwise(out, drawn)


# Discrete distributions


def fill_geometric(out: Array, p: float, engine: MersenneTwister) -> None:
    """Numbers of trials up to the first success. Floating and integer dtypes."""
    scale = math.log1p(-p)
    with engine.lock:
        _fill_blockwise(out, lambda count: np.ceil(np.log(engine.uniform_double(count)) / scale))


def fill_bernoulli(out: Array, p: float, engine: MersenneTwister) -> None:
    """1 with probability `p`, else 0. Any dtype; every element takes two words whatever the dtype."""
    # A uniform number is an integer over 2**53: the integers are compared, exactly.
    limit = np.uint64(math.ceil(p * 2.0**53))
    with engine.lock:
        _fill_blockwise(out, lambda count: engine.mantissas(count) < limit)


def fill_bernoulli_from(out: Array, p: Array, engine: MersenneTwister) -> None:
    """1 with a probability of its own for every element, else 0.

    Float64 probabilities (`p`, broadcastable to `out`) take two words for an element, others one.
    """
    target, p = in_memory_order(out, np.broadcast_to(p, out.shape))
    with engine.lock:
        drawn = engine.uniform_double(out.size) if p.dtype == np.float64 else engine.uniform_float(out.size)
    target[...] = drawn.reshape(p.shape) < p.astype(drawn.dtype)


#: A range of at least this many numbers takes 64-bit words.
_WIDE_RANGE = 1 << 28

#: ``random_()`` without bounds: the integers that a floating dtype of so many mantissa bits can all represent.
_MANTISSA_BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


def random_limit(dtype: np.dtype) -> int:
    """The greatest number that ``random_()`` draws for a dtype."""
    if dtype == np.bool_:
        return 1
    bits = _MANTISSA_BITS.get(dtype.name)
    return 1 << bits if bits is not None else int(np.iinfo(dtype).max)


def fill_random(out: Array, engine: MersenneTwister) -> None:
    """Integers from 0 to `random_limit`, both included."""
    if not out.size:  # of a dtype that may have no limit
        return
    wide = out.dtype.itemsize == 8
    _fill_remainders(out, 0, random_limit(out.dtype) + 1, engine, wide)


def fill_random_range(out: Array, low: int, span: int, engine: MersenneTwister) -> None:
    """Integers from `low` to ``low + span - 1``; `span` is at most 2**64."""
    _fill_remainders(out, low, span, engine, span >= _WIDE_RANGE)


def _fill_remainders(out: Array, low: int, span: int, engine: MersenneTwister, wide: bool) -> None:
    words = engine.words64 if wide else engine.words
    if out.dtype.char == "l" and out.size <= _BLOCK and span < _WIDE_RANGE and out.flags.c_contiguous:
        # The remainder of a word of 32 bits fits int64, and so does its sum with a bound of int64.
        with engine.lock:
            np.add(np.remainder(words(out.size), span).view(np.int64).reshape(out.shape), low, out)
        return
    base = np.uint64(0 if span == 2**64 else low % 2**64)

    def drawn(count: int) -> Array:
        drawn = words(count) if span == 2**64 else words(count) % np.uint64(span)
        integers = (drawn + base if base else drawn).view(np.int64)
        return integers.astype(np.float32) if out.dtype.itemsize == 2 and out.dtype.kind not in "iub" else integers

    with engine.lock:
        _fill_blockwise(out, drawn)


def exact_bounds(low: int, high: int, dtype: np.dtype) -> tuple[int, int]:
    """Bounds of ``random_(low, high)`` moved inwards to numbers that a floating dtype represents exactly."""
    bits = None if dtype.kind in "iub" else _MANTISSA_BITS.get(dtype.name)
    if bits is None:
        return low, high

    def rounded(value: int) -> int:
        return int(np.float32(value).astype(dtype) if dtype.itemsize == 2 else dtype.type(value))

    def step(value: int) -> int:
        return 1 << max(abs(value).bit_length() - bits, 0)

    if rounded(low + 1) < low:
        low = rounded(low + 1) + step(low + 1)
    if rounded(high - 1) >= high:
        high = rounded(high - 1) - step(high - 1)
    return low, high
