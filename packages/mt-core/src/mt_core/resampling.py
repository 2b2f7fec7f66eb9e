"""Which input elements make an output element when a line is resized, and how much each of them counts.

Every resizing is one such map for each dimension. Positions are calculated as PyTorch does, in float32, or in float64
for float64 elements, because the last bit of a position decides between two neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = [
    "LineMap", "averaging_map", "bordered_map", "has_plain_scales", "nearest_map", "plain_scales", "rounded_weights",
    "smooth_map", "smoothing_map", "smoothing_scales",
]  # fmt: skip


#: How many maps of each kind are kept: programs resize to few sizes, over and over.
MAPS = 256


class LineMap:
    """Output element j is the sum over k of ``weights[k, j] * input[places[k, j]]``. Nobody writes to it: it is kept.

    Attributes
    ----------
    places : numpy.ndarray
        (taps, size), int64.
    weights : numpy.ndarray or None
        (taps, size), float64; None where there is a single tap that counts whole.
    uneven : bool
        Some output elements have fewer taps than others: a weight of zero stands for no tap at all, whatever the
        element at its place.
    """

    __slots__ = ("places", "uneven", "weights")

    def __init__(self, places: np.ndarray, weights: np.ndarray | None, uneven: bool = False) -> None:
        self.places = places
        self.weights = weights
        self.uneven = uneven


def _ratio(n: int, size: int, align_corners: bool, scale: float | None, real: Any) -> Any:
    """Input steps per output step."""
    if align_corners:
        return real(n - 1) / real(size - 1) if size > 1 else real(0)
    return real(1 / scale) if scale is not None and scale > 0 else real(n) / real(size)


@lru_cache(MAPS)
def nearest_map(n: int, size: int, scale: float | None, exact: bool) -> LineMap | None:
    """The nearest element, by its left edge or, `exact`, by its centre; None where nothing changes."""
    ratio = _ratio(n, size, False, scale, np.float32)
    places = np.floor((np.arange(size, dtype=np.float32) + np.float32(0.5 * exact)) * ratio).astype(np.int64)
    places = np.minimum(places, n - 1)
    return None if size == n and (places == np.arange(n)).all() else LineMap(places[None], None)


def plain_scales(sizes: Sequence[int], output_size: Sequence[int], scales: Sequence[Any]) -> tuple[Any, ...]:
    """The scales of nearest neighbours by their left edge, forgotten where a size stays as it is or doubles.

    PyTorch does so in the derivative, and in images where `has_plain_scales`: the derivative of other scales close to
    1 and 2 is therefore not the adjoint.
    """
    return tuple(None if m in (n, 2 * n) else s for n, m, s in zip(sizes, output_size, scales, strict=True))


def smoothing_scales(sizes: Sequence[int], output_size: Sequence[int], scales: Sequence[Any]) -> tuple[Any, ...]:
    """The scales of `smoothing_map`, forgotten where a size stays as it is: PyTorch leaves that dimension alone.

    Its derivative does not.
    """
    return tuple(None if n == m else s for n, m, s in zip(sizes, output_size, scales, strict=True))


def has_plain_scales(output_size: Sequence[int], channels: int, channels_last: bool) -> bool:
    """Whether PyTorch takes images to an output of these sizes by the loop that has `plain_scales`."""
    return sum(output_size) <= 128 or (channels_last and channels > 3)


@lru_cache(MAPS)
def smooth_map(cubic: bool, n: int, size: int, align_corners: bool, scale: float | None, real: Any) -> LineMap | None:
    """Two neighbours or, `cubic`, four; None where nothing changes."""
    if n == size and not cubic:
        return None
    ratio, steps = _ratio(n, size, align_corners, scale, real), np.arange(size, dtype=real)
    positions = steps * ratio if align_corners else ratio * (steps + real(0.5)) - real(0.5)
    if not cubic:
        positions = np.maximum(positions, real(0))
    low = np.minimum(np.floor(positions).astype(np.int64), n - 1)
    share = np.clip(positions - low, real(0), real(1))
    if not cubic:
        return LineMap(np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - share, share]))
    places = np.stack([np.clip(low + tap, 0, n - 1) for tap in range(-1, 3)])
    return LineMap(places, np.stack([_cubic(share - tap, -0.75) for tap in range(-1, 3)]))


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    """The cubic convolution kernel (Keys 1981) with its coefficient."""
    t = np.abs(distance)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    return np.where(t <= 1, near, np.where(t < 2, (((t - 5) * t + 8) * t - 4) * a, 0))


def _triangle(distance: np.ndarray) -> np.ndarray:
    return np.maximum(1 - np.abs(distance), 0)


def _lanczos(distance: np.ndarray) -> np.ndarray:
    """sinc(t) sinc(t / 3) within three steps."""
    return np.where(np.abs(distance) < 3, np.sinc(distance) * np.sinc(distance / 3), 0)


#: Name of a smoothing kernel -> (the kernel, how many input elements it spans where nothing shrinks).
_KERNELS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "bilinear": (_triangle, 2),
    "bicubic": (lambda distance: _cubic(distance, -0.5), 4),
    "lanczos": (_lanczos, 6),
}


@lru_cache(MAPS)
def smoothing_map(kind: str, n: int, size: int, align_corners: bool, scale: float | None, real: Any) -> LineMap | None:
    """A kernel as wide as an output step where that is longer than an input step; None where nothing changes."""
    if n == size and (scale is None or scale == 1):
        return None
    kernel, span = _KERNELS[kind]
    ratio = _ratio(n, size, align_corners, scale, real)
    stretch = max(ratio, real(1))
    support = real(span * 0.5) * stretch
    centres = ratio * (np.arange(size, dtype=real) + real(0.5))
    first = np.maximum(np.trunc(centres - support + real(0.5)).astype(np.int64), 0)
    last = np.minimum(np.trunc(centres + support + real(0.5)).astype(np.int64), n)
    counts = np.clip(last - first, 0, int(np.ceil(support)) * 2 + 1)
    taps = np.arange(max(int(counts.max()), 1))[:, None]
    weights = kernel((taps + first - centres + real(0.5)) / stretch) * (taps < counts)
    total = weights.sum(0)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total != 0)
    return LineMap(np.minimum(first + taps, n - 1), weights, bool((counts < len(taps)).any()))


@lru_cache(MAPS)
def averaging_map(n: int, size: int) -> LineMap | None:
    """The means of `size` windows that cover n elements, as adaptive pooling takes them; None where nothing changes."""
    if n == size:
        return None
    steps = np.arange(size)
    first, last = steps * n // size, -(-(steps + 1) * n // size)
    taps = np.arange(int((last - first).max(initial=1)))[:, None]
    inside = taps < last - first
    return LineMap(np.minimum(first + taps, n - 1), inside / (last - first), not inside.all())


@lru_cache(MAPS)
def bordered_map(n: int, before: int, after: int, reflected: bool) -> LineMap | None:
    """Borders that mirror the line or, else, repeat its ends; negative ones cut off; None where nothing changes."""
    if not before and not after:
        return None
    places = np.arange(-before, n + after)
    if reflected:
        places = np.abs(places)
        places = np.where(places >= n, 2 * (n - 1) - places, places)
    return LineMap(np.clip(places, 0, n - 1)[None], None)


def rounded_weights(given: LineMap) -> tuple[LineMap, int]:
    """A map with integer weights below 2**15, and how many binary digits of them are fractions.

    PyTorch resizes uint8 images so. Taps that fall on one element at the border count as one before they are rounded.
    """
    assert given.weights is not None, "nearest neighbours have no weights"
    weights = np.array(given.weights, np.float64)
    for tap in range(1, len(weights)):
        for other in range(tap):
            same = given.places[tap] == given.places[other]
            weights[other] += np.where(same, weights[tap], 0)
            weights[tap] = np.where(same, 0, weights[tap])
    largest, digits = float(weights.max(initial=0)), 0
    while digits < 22 and int(0.5 + largest * (1 << (digits + 1))) < 1 << 15:
        digits += 1
    rounded = np.trunc(weights * (1 << digits) + np.where(weights < 0, -0.5, 0.5))
    return LineMap(given.places, rounded, given.uneven), digits
