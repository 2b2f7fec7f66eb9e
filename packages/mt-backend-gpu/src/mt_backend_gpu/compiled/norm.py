"""layer_norm, rms_norm, group_norm and batch_norm, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from .element_types import c_name, compute_name
from .machine import Machine, pieces
from .rows import block_of, rows_of

__all__ = [
    "batch_norm", "batch_norm_backward", "group_norm", "group_norm_backward", "layer_norm", "layer_norm_backward",
    "statistics_dtype",
]  # fmt: skip

THREADS = 256
#: The most threads of a block that keeps two arrays in registers.
BACKWARD_THREADS = 512


def statistics_dtype(dtype: Any) -> Any:
    """What statistics are kept in: float32 for halves."""
    return np.dtype(dtype if dtype.name in ("float32", "float64") else "float32")


def maybe(machine: Machine, array: Any) -> int:
    """An array's address; 0 for None."""
    return 0 if array is None else machine.address(array)


def row_norm(
    machine: Machine, array: Any, columns: int, weight: Any, bias: Any, eps: float, groups: tuple[int, int, int] | None,
    rms: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Rows of `columns` elements, normalized: result, mean (None for RMS) and scale by row."""
    rows, stats = array.size // columns if columns else 0, statistics_dtype(array.dtype)
    out = machine.empty(array.shape, array.dtype)
    mean = None if rms else machine.empty((rows,), stats)
    scale = machine.empty((rows,), stats)
    if not rows:
        return out, mean, scale
    kind = c_name(array.dtype)
    own = kind if weight is None and bias is None else c_name((bias if weight is None else weight).dtype)
    addresses = [machine.address(array), maybe(machine, weight), maybe(machine, bias), machine.address(out)]
    itemsize = max(array.dtype.itemsize, 8 if own == "double" else 4 if own == "float" else 2)
    together = addresses[0] | addresses[1] | addresses[2] | addresses[3]
    length, count, threads, per_block = rows_of(columns, itemsize, together)
    if not count:
        length, threads = 1, block_of(columns)
    flags = f"{str(rms).lower()}, {str(groups is not None).lower()}"
    launch = machine.launcher("norm", f"norm_rows<{kind}, {own}, {flags}, {length}, {count}>", "qqdqqqPPPPPP")
    launch(
        -(-rows // per_block),
        1,
        1,
        threads,
        per_block,
        0,
        rows,
        columns,
        eps,
        *(groups or (1, 1, 1)),
        *addresses,
        maybe(machine, mean),
        machine.address(scale),
    )
    return out, mean, scale


def layer_norm(
    machine: Machine, array: Any, columns: int, weight: Any, bias: Any, eps: float, *, rms: bool = False
) -> tuple[Any, Any, Any]:
    """array: row-major, normalized by its last `columns` elements; weight, bias: row-major or None."""
    return row_norm(machine, array, columns, weight, bias, eps, None, rms)


def row_backward(
    machine: Machine, grad: Any, array: Any, columns: int, mean: Any, scale: Any, weight: Any,
    groups: tuple[int, int, int] | None, rms: bool,
) -> Any:  # fmt: skip
    """The gradient of what `row_norm` took."""
    out, kind = machine.empty(array.shape, array.dtype), c_name(array.dtype)
    own = kind if weight is None else c_name(weight.dtype)
    rows = array.size // columns if columns else 0
    given = [machine.address(grad), machine.address(array), maybe(machine, mean), machine.address(scale)]
    given += [maybe(machine, weight), machine.address(out)]
    if not rows:
        return out
    flag, together = str(rms).lower(), given[0] | given[1] | given[5]
    length, count, threads, per_block = rows_of(columns, array.dtype.itemsize, together, BACKWARD_THREADS)
    if groups is None and count:
        launch = machine.launcher("norm", f"norm_backward_packs<{kind}, {own}, {flag}, {length}, {count}>", "qqPPPPPP")
        launch(-(-rows // per_block), 1, 1, threads, per_block, 0, rows, columns, *given)
        return out
    form = f"norm_backward_rows<{kind}, {own}, {flag}, {str(groups is not None).lower()}>"
    launch = machine.launcher("norm", form, "qqqqPPPPPP")
    launch(rows, 1, 1, block_of(columns), 1, 0, columns, *(groups or (1, 1, 1)), *given)
    return out


def layer_norm_backward(
    machine: Machine, grad: Any, array: Any, columns: int, mean: Any, scale: Any, weight: Any, bias: Any,
    wanted: tuple[bool, bool, bool], *, rms: bool = False, shape: tuple[int, ...] | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Gradients of input, weight and bias, each None where it is not wanted; the last two of `shape`, or (columns)."""
    inputs = row_backward(machine, grad, array, columns, mean, scale, weight, None, rms) if wanted[0] else None
    dtype = next((one.dtype for one in (weight, bias) if one is not None), array.dtype)
    made = (columns,) if shape is None else shape
    new_weight, new_bias = (machine.empty(made, dtype) if want else None for want in wanted[1:])
    if new_weight is None and new_bias is None:
        return inputs, None, None
    rows, kind = array.size // columns, c_name(array.dtype)
    own = c_name(dtype)
    given = [machine.address(grad), machine.address(array), maybe(machine, mean), machine.address(scale)]
    length = 4
    while length > 1 and (columns % length or (given[0] | given[1]) % (length * array.dtype.itemsize)):
        length //= 2
    blocks = pieces(columns, 32 * length)
    parts = max(1, min(rows // 32, machine.processors * 8 // blocks, 512))
    partial = machine.empty((2, parts, columns), statistics_dtype(array.dtype)) if parts > 1 else None
    results = maybe(machine, new_weight), maybe(machine, new_bias)
    launch = machine.launcher(
        "norm", f"norm_backward_weight<{kind}, {own}, {str(rms).lower()}, {length}>", "qqqPPPPPPP"
    )
    launch(blocks, parts, 1, 32, 8, 0, rows, columns, parts, *given, *results, maybe(machine, partial))
    if partial is not None:
        launch = machine.launcher("norm", f"norm_join_weight<{compute_name(kind)}, {own}>", "qqPPP")
        launch(pieces(columns, THREADS), 1, 1, THREADS, 1, 0, columns, parts, machine.address(partial), *results)
    return inputs, new_weight, new_bias


def group_norm(machine: Machine, array: Any, groups: int, weight: Any, bias: Any, eps: float) -> tuple[Any, Any, Any]:
    """array: (samples, channels, *), row-major. Result, mean and scale by sample and group."""
    channels, inner = array.shape[1], int(np.prod(array.shape[2:], dtype=np.int64))
    per_group = channels // groups
    return row_norm(machine, array, per_group * inner, weight, bias, eps, (groups, per_group, max(inner, 1)))


def group_norm_backward(
    machine: Machine, grad: Any, array: Any, groups: int, mean: Any, scale: Any, weight: Any,
    wanted: tuple[bool, bool, bool],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Gradients of input, weight and bias; the last two have the dtype of the weight, or of the array."""
    samples, channels, inner = array.shape[0], array.shape[1], int(np.prod(array.shape[2:], dtype=np.int64))
    columns, layout = channels // groups * inner, (groups, channels // groups, max(inner, 1))
    inputs = row_backward(machine, grad, array, columns, mean, scale, weight, layout, False) if wanted[0] else None
    dtype = array.dtype if weight is None else weight.dtype
    made = [machine.empty((channels,), dtype) if want else None for want in wanted[1:]]
    if any(one is not None for one in made):
        form = f"group_backward_weight<{c_name(array.dtype)}, {c_name(dtype)}>"
        launch = machine.launcher("norm", form, "qqqqPPPPPP")
        given = [machine.address(x) for x in (grad, array, mean, scale)]
        launch(
            channels, 1, 1, THREADS, 1, 0, samples, channels, inner, groups, *given, *(maybe(machine, x) for x in made)
        )
    return inputs, made[0], made[1]


def channels_of(array: Any) -> tuple[int, int, int]:
    """Samples, channels and elements inside a channel."""
    return array.shape[0], array.shape[1], int(np.prod(array.shape[2:], dtype=np.int64))


def batch_norm(
    machine: Machine, array: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float, *, variance: Any = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """array: (samples, channels, *), row-major. Result, mean and scale by channel (empty in evaluation).

    `variance`, (channels) in the statistics' dtype, is filled in training with what was divided by the count.
    Running averages have the weight's dtype, or the array's statistics' where there is none; training updates them.
    """
    samples, channels, inner = channels_of(array)
    kind, stats, out = c_name(array.dtype), statistics_dtype(array.dtype), machine.empty(array.shape, array.dtype)
    some = weight if weight is not None else running_mean
    own = c_name(some.dtype if some is not None else stats)
    head = f"{kind}, {own}"
    if training:
        mean, scale = machine.empty((channels,), stats), machine.empty((channels,), stats)
        launch = machine.launcher("norm", f"channel_statistics<{head}>", "qqqddPPPPPP")
        launch(
            channels,
            1,
            1,
            512,
            1,
            0,
            samples,
            channels,
            inner,
            eps,
            momentum,
            machine.address(array),
            machine.address(mean),
            machine.address(scale),
            maybe(machine, running_mean),
            maybe(machine, running_var),
            maybe(machine, variance),
        )
        used = mean, scale, c_name(stats)
    else:
        mean, scale = machine.empty((0,), stats), machine.empty((0,), stats)
        used = running_mean, running_var, c_name(running_mean.dtype)
    if array.size:
        form = f"channel_affine<{head}, {used[2]}, {str(not training).lower()}>"
        launch = machine.launcher("norm", form, "qqqdPPPPPP")
        given = [maybe(machine, x) for x in (array, used[0], used[1], weight, bias, out)]
        launch(pieces(array.size, THREADS), 1, 1, THREADS, 1, 0, array.size, channels, inner, eps, *given)
    return out, mean, scale


def batch_norm_backward(
    machine: Machine, grad: Any, array: Any, weight: Any, mean: Any, scale: Any, training: bool, eps: float,
    wanted: tuple[bool, bool, bool],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Gradients of input, weight and bias. In evaluation `mean` and `scale` are the running mean and variance."""
    samples, channels, inner = channels_of(array)
    kind, stats = c_name(array.dtype), statistics_dtype(array.dtype)
    own = c_name(weight.dtype if weight is not None else stats)
    types = f"{kind}, {own}, {c_name(mean.dtype)}, {str(not training).lower()}"
    sums = machine.empty((2, channels), stats)
    dtype = stats if weight is None else weight.dtype
    made = [machine.empty((channels,), dtype) if want else None for want in wanted[1:]]
    given = [machine.address(x) for x in (grad, array, mean, scale)]
    launch = machine.launcher("norm", f"channel_backward_sums<{types}>", "qqqdPPPPPPP")
    launch(
        channels,
        1,
        1,
        512,
        1,
        0,
        samples,
        channels,
        inner,
        eps,
        *given,
        machine.address(sums),
        *(maybe(machine, x) for x in made),
    )
    if not wanted[0]:
        return None, made[0], made[1]
    out = machine.empty(array.shape, array.dtype)
    if array.size:
        launch = machine.launcher("norm", f"channel_backward_input<{types}>", "qqqqdPPPPPPP")
        launch(
            pieces(array.size, THREADS),
            1,
            1,
            THREADS,
            1,
            0,
            array.size,
            channels,
            inner,
            samples * inner,
            eps,
            *given,
            maybe(machine, weight),
            machine.address(sums),
            machine.address(out),
        )
    return out, made[0], made[1]
