"""The geometry of windows that slide over dimensions: what shape rules and kernels of pools have in common."""

from __future__ import annotations

__all__ = ["pooled_size", "windows_of"]

Ints = tuple[int, ...]


def pooled_size(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Output size of a sliding window; with `ceil_mode` a last window may reach over the end, but must start inside."""
    span = n + 2 * padding - dilation * (kernel - 1) - 1
    size = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (size - 1) * stride >= n + padding:
        size -= 1
    return size


def windows_of(spatial: int, *values: Ints) -> list[Ints]:
    """Window arguments with one value for each dimension; an absent stride is the kernel size."""
    kernel = tuple(values[0]) * (spatial if len(values[0]) == 1 else 1)
    result = [kernel]
    for position, value in enumerate(values[1:]):
        if not len(value):
            result.append(kernel if position == 0 else (0,) * spatial)
        else:
            result.append(tuple(value) * (spatial if len(value) == 1 else 1))
    return result
