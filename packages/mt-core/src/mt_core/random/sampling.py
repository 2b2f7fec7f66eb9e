"""Samples whose elements depend on one another or need an unknown number of words: permutations, categories, counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..layout import dense_order
from .distributions import fill_exponential
from .engine import MersenneTwister

__all__ = [
    "LARGE_PERMUTATION",
    "binomial",
    "dirichlet",
    "gamma",
    "multinomial_with_replacement",
    "multinomial_without_replacement",
    "permutation",
    "poisson",
]

Array = np.ndarray

#: A permutation of at least this many numbers is shuffled inside out, with 64-bit words.
LARGE_PERMUTATION = (2**32 - 1) // 20

#: Up to this many numbers a loop is quicker than a dozen operations on arrays.
_FEW = 100


def permutation(n: int, engine: MersenneTwister) -> Array:
    """The numbers 0 to n - 1 in random order, int64, shape (n,)."""
    with engine.lock:
        if n <= _FEW:
            return _shuffled_one_by_one(n, engine)
        return _shuffled(n, engine) if n < LARGE_PERMUTATION else _shuffled_inside_out(n, engine)


def _shuffled(n: int, engine: MersenneTwister) -> Array:
    """Fisher and Yates' shuffle from the front: in step i, element i changes places with one at or behind it.

    The steps are not taken one by one. What step i finds at its own place was put there by the last step that aimed at
    it, and is what that step found at its own place, and so on back to a place that no step had aimed at; all these
    chains are followed at once, in doubling strides. What step i then takes from the place it aims at was left there by
    the step before it that aimed there, or is the number that always stood there.
    """
    steps = np.arange(n - 1, dtype=np.int64)
    aims = steps + (engine.words(n - 1) % np.arange(n, 1, -1, dtype=np.uint64)).astype(np.int64)
    found = _ends_of_chains(n, steps, aims)
    by_aim = np.argsort(aims, kind="stable")
    again = np.flatnonzero(aims[by_aim][1:] == aims[by_aim][:-1])
    numbers = np.append(aims, found[-1])
    numbers[by_aim[again + 1]] = found[by_aim[again]]
    return numbers


def _shuffled_one_by_one(n: int, engine: MersenneTwister) -> Array:
    numbers = list(range(n))
    for i, word in enumerate(engine.words(max(n - 1, 0)).tolist()):
        other = i + word % (n - i)
        numbers[i], numbers[other] = numbers[other], numbers[i]
    return np.array(numbers, np.int64)


def _ends_of_chains(n: int, steps: Array, aims: Array) -> Array:
    """What each step (and, last, the end of the shuffle) finds at its own place."""
    found = np.arange(n, dtype=np.int64)
    away = aims != steps
    found[aims[away]] = steps[away]
    further = found[found]
    while not np.array_equal(found, further):
        found, further = further, further[further]
    return found


def _shuffled_inside_out(n: int, engine: MersenneTwister) -> Array:
    """Number i is put at a random place up to i, and what stood there moves to the end."""
    numbers = np.empty(n, np.int64)
    block = 1 << 20
    for start in range(0, n, block):
        ends = np.arange(start, min(start + block, n), dtype=np.uint64)
        places = engine.words64(ends.size) % (ends + np.uint64(1))
        for i, place in enumerate(places.tolist(), start):
            numbers[i] = numbers[place]
            numbers[place] = i
    return numbers


def multinomial_without_replacement(weights: Array, count: int, engine: MersenneTwister) -> Array:
    """`count` different categories for each row of `weights` (rows, categories), int64, shape (rows, count).

    The greatest of weight / exponential number win (the "exponential race"), in that order; among equals the first. The
    exponential numbers are drawn and divided in the dtype and memory order of `weights`.
    """
    races = _empty_like(weights)
    fill_exponential(races, 1.0, engine)
    wide = np.float64 if weights.dtype == np.float64 else np.float32
    scores = (weights.astype(wide) / races.astype(wide)).astype(weights.dtype).astype(wide)
    winners = np.empty((len(scores), count), np.int64)
    winners[...] = scores.argmax(axis=1, keepdims=True) if count == 1 else _greatest(scores, count)
    return winners


def _empty_like(array: Array) -> Array:
    """An array without gaps in an array's order of dimensions; those that repeat elements stand where they are.

    `np.empty_like` takes repeating dimensions for the innermost.
    """
    order = dense_order(array.shape, [tuple(step // array.itemsize for step in array.strides)])
    outer_first = order[::-1]
    made = np.empty([array.shape[dim] for dim in outer_first], array.dtype)
    return made.transpose([outer_first.index(dim) for dim in range(array.ndim)])


def _greatest(scores: Array, count: int) -> Array:
    return np.argsort(-scores, axis=1, kind="stable")[:, :count]


def multinomial_with_replacement(weights: Array, count: int, engine: MersenneTwister) -> Array:
    """`count` categories for each row of `weights` (rows, categories), int64, shape (rows, count).

    A uniform number is looked up in the cumulated weights, summed one by one in float32 (float64 for float64).
    """
    cumulated: Any = np.cumsum(weights, axis=1, dtype=np.float64 if weights.dtype == np.float64 else np.float32)
    cumulated /= cumulated[:, -1:].copy()
    # Rounding must not leave a gap above the last category.
    cumulated[:, -1] = 1
    with engine.lock:
        drawn = engine.uniform_double(weights.shape[0] * count).reshape(-1, count)
    found = np.empty(drawn.shape, np.int64)
    for row, numbers, places in zip(cumulated, drawn, found):
        places[...] = np.searchsorted(row, numbers)
    return found


#: Below every positive number that is drawn: stands for 0 where C would divide by it or take its logarithm.
_SMALLEST = 2.0**-60


def poisson(rates: Array, engine: MersenneTwister) -> Array:
    """Poisson numbers of the given rates, float64, in the shape of `rates` and drawn in its row-major order."""
    return _one_by_one(lambda uniform, rate: _poisson(rate, uniform), engine, rates)


def binomial(counts: Array, probabilities: Array, engine: MersenneTwister) -> Array:
    """Binomial numbers, float64, for arrays of one shape; drawn in row-major order."""
    return _one_by_one(_binomial, engine, counts, probabilities)


def _one_by_one(sample: Callable[..., float], engine: MersenneTwister, *parameters: Array) -> Array:
    shape = parameters[0].shape
    rows = zip(*(p.astype(np.float64).ravel().tolist() for p in parameters))
    with engine.lock, engine.uniform_doubles() as uniform:
        return np.array([sample(uniform, *row) for row in rows], np.float64).reshape(shape)


def _poisson(rate: float, uniform: Iterator[float]) -> float:
    if rate >= 10:
        return _poisson_by_rejection(rate, uniform)
    if rate == 0:
        return 0.0
    limit, product, count = math.exp(-rate), next(uniform), 0
    while product > limit:
        product *= next(uniform)
        count += 1
    return float(count)


def _poisson_by_rejection(rate: float, uniform: Iterator[float]) -> float:
    """W. Hörmann, "The transformed rejection method for generating Poisson random variables" (1993), algorithm PTRS."""
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    squeeze = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = next(uniform) - 0.5, max(next(uniform), _SMALLEST)
        us = max(0.5 - abs(u), _SMALLEST)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= squeeze:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        if math.log(v) + log_inverse_alpha - math.log(a / (us * us) + b) <= k * log_rate - rate - math.lgamma(k + 1):
            return float(k)


def gamma(shapes: Array, engine: MersenneTwister) -> Array:
    """Gamma numbers of rate 1 of the given shape parameters, in their dtype, never 0; drawn in row-major order."""
    with np.errstate(over="ignore", under="ignore"):
        drawn: Array = _gamma(shapes, engine).astype(shapes.dtype)
    return np.fmax(drawn, np.finfo(shapes.dtype).tiny)


def dirichlet(concentrations: Array, engine: MersenneTwister) -> Array:
    """Gamma numbers over their sum along the last dimension, in the dtype of `concentrations`, never 0 nor 1."""
    drawn = np.fmax(_gamma(concentrations.astype(np.float64), engine), np.finfo(np.float64).tiny)
    kind = concentrations.dtype.type
    sums = drawn.sum(axis=-1, keepdims=True) if drawn.ndim else drawn
    with np.errstate(invalid="ignore", under="ignore"):
        shares = (drawn / sums).astype(kind)
    return np.fmin(np.fmax(shares, np.finfo(kind).tiny), np.nextafter(kind(1), kind(0)))


#: A third as PyTorch writes it, in float32.
_THIRD = np.float32(1) / np.float32(3)


def _gamma(shapes: Array, engine: MersenneTwister) -> Array:
    """G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000); float64.

    What is computed of the shape parameter alone is rounded to its dtype.

    Below 1, a number of the shape parameter raised by 1 is scaled down by a power of a uniform number.
    """
    kind = shapes.dtype.type
    with np.errstate(divide="ignore", over="ignore"):
        raised = np.where(shapes < 1, shapes + kind(1), shapes)
        columns = (shapes, kind(1) / shapes, raised - _THIRD.astype(kind))
    rows = zip(*(column.astype(np.float64).ravel().tolist() for column in columns))
    with engine.lock, engine.uniform_doubles() as uniform:
        normal = _Normals(engine, uniform)
        drawn = [_one_gamma(uniform, normal, *row) for row in rows]
        return np.array(drawn, np.float64).reshape(shapes.shape)


def _one_gamma(uniform: Iterator[float], normal: Iterator[float], shape: float, inverse: float, d: float) -> float:
    scale = 1.0
    if shape < 1.0:
        if shape == 0.0:
            return 0.0
        scale = _power(1.0 - next(uniform), inverse)
    # What is no shape parameter ends after one number, with NaN.
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
    while True:
        x = next(normal)
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1.0 - next(uniform)
        xx = x * x
        if u < 1.0 - 0.0331 * xx * xx:
            return scale * d * v
        if math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


class _Normals(Iterator[float]):
    """Standard normal numbers in pairs of two uniform ones; the second half is kept in the engine until it is drawn."""

    def __init__(self, engine: MersenneTwister, uniform: Iterator[float]) -> None:
        self._engine = engine
        self._uniform = uniform

    def __next__(self) -> float:
        kept = self._engine.next_double_normal
        if kept is not None:
            self._engine.next_double_normal = None
            return kept
        angle, radius = 2.0 * math.pi * next(self._uniform), math.sqrt(-2.0 * math.log1p(-next(self._uniform)))
        self._engine.next_double_normal = radius * math.sin(angle)
        return radius * math.cos(angle)


def _binomial(uniform: Iterator[float], count: float, probability: float) -> float:
    if count <= 0 or probability <= 0:
        return 0.0
    if probability >= 1:
        return count
    if probability > 0.5:
        return count - _binomial(uniform, count, 1.0 - probability)
    if probability <= 0.5:
        by = _binomial_by_rejection if count * probability >= 10 else _binomial_by_waiting
        return by(uniform, count, probability)
    return math.nan


def _binomial_by_waiting(uniform: Iterator[float], count: float, probability: float) -> float:
    """Successes counted by the geometric waiting times between them."""
    scale, trials, successes = math.log1p(-probability), 0.0, 0
    while True:
        u = next(uniform)
        trials += math.ceil(math.log(u) / scale) if u else math.inf
        if trials > count:
            return float(successes)
        successes += 1


def _binomial_by_rejection(uniform: Iterator[float], count: float, probability: float) -> float:
    """W. Hörmann, "The generation of binomial random variates" (1993), algorithm BTRS."""
    deviation = math.sqrt(count * probability * (1 - probability))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    c = count * probability + 0.5
    squeeze = 0.92 - 4.2 / b
    odds = probability / (1 - probability)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((count + 1) * probability)
    while True:
        u, v = next(uniform) - 0.5, max(next(uniform), _SMALLEST)
        us = max(0.5 - abs(u), _SMALLEST)
        k = math.floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= squeeze:
            return float(k)
        if k < 0 or k > count:
            continue
        if math.log(v * alpha / (a / (us * us) + b)) <= _binomial_log_ratio(count, k, mode, odds):
            return float(k)


def _binomial_log_ratio(count: float, k: int, mode: int, odds: float) -> float:
    """Logarithm of the probability of k relative to that of the mode."""
    return (
        (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
        + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
        + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
        + _stirling_tail(mode)
        + _stirling_tail(count - mode)
        - _stirling_tail(k)
        - _stirling_tail(count - k)
    )


#: ln(k!) minus Stirling's approximation, for small k.
_STIRLING_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.0207906721037650, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.0092554621827127, 0.0083305634333628,
)  # fmt: skip


def _stirling_tail(k: float) -> float:
    if k <= 9:
        return _STIRLING_TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
