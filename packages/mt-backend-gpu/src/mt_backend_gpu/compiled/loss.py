"""nll_loss and cross_entropy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .element_types import c_name
from .faults import LOSS_SITE as SITE
from .machine import Machine, pieces
from .norm import maybe, statistics_dtype
from .rows import block_of

__all__ = ["MEAN", "NONE", "SUM", "cross_entropy", "cross_entropy_backward", "nll_loss", "nll_loss_backward"]

#: PyTorch's numbers of reductions.
NONE, MEAN, SUM = 0, 1, 2


def extent(array: Any) -> tuple[int, int, int]:
    """Samples, classes and elements inside; a single row of classes is one sample."""
    if len(array.shape) == 1:
        return 1, array.shape[0], 1
    return array.shape[0], array.shape[1], int(np.prod(array.shape[2:], dtype=np.int64))


def nll_loss(machine: Machine, array: Any, target: Any, weight: Any, reduction: int, ignored: int) -> tuple[Any, Any]:
    """array: (samples, classes, *) or (classes), row-major; target: without the classes. Loss and sum of weights."""
    samples, classes, inner = extent(array)
    out = machine.empty(target.shape if reduction == NONE else (), array.dtype)
    total = machine.empty((), array.dtype)
    form = f"nll_forward<{c_name(array.dtype)}, {c_name(target.dtype)}, {reduction}>"
    launch = machine.launcher("loss", form, "qqqqPQPPPPP")
    blocks = pieces(samples * inner, 256) if reduction == NONE else 1
    threads = 256 if reduction == NONE else block_of(samples * inner)
    launch(
        blocks,
        1,
        1,
        threads,
        1,
        0,
        samples,
        classes,
        inner,
        ignored,
        machine.faults(),
        SITE,
        machine.address(array),
        machine.address(target),
        maybe(machine, weight),
        machine.address(out),
        machine.address(total),
    )
    return out, total


def nll_loss_backward(
    machine: Machine, grad: Any, array: Any, target: Any, weight: Any, reduction: int, ignored: int, total: Any
) -> Any:
    """The gradient of nll_loss's input, whose shape is `array`'s."""
    samples, classes, inner = extent(array)
    out = machine.empty(array.shape, array.dtype)
    form = f"nll_backward<{c_name(array.dtype)}, {c_name(target.dtype)}, {reduction}>"
    launch = machine.launcher("loss", form, "qqqqPPPPP")
    if out.size:
        launch(
            pieces(out.size, 256),
            1,
            1,
            256,
            1,
            0,
            samples,
            classes,
            inner,
            ignored,
            machine.address(grad),
            machine.address(target),
            maybe(machine, weight),
            machine.address(total),
            machine.address(out),
        )
    return out


def cross_entropy(machine: Machine, array: Any, target: Any, ignored: int, smoothing: float) -> tuple[Any, Any]:
    """array: (rows, classes), row-major and aligned to 16 bytes; target: (rows). Losses and log-sums by row."""
    rows, classes = array.shape
    kept = statistics_dtype(array.dtype)
    losses, log_sums = machine.empty((rows,), kept), machine.empty((rows,), kept)
    form = f"cross_entropy_rows<{c_name(array.dtype)}, {c_name(target.dtype)}>"
    launch = machine.launcher("loss", form, "qqdPQPPPP")
    if rows:
        launch(
            rows,
            1,
            1,
            block_of(classes, 16),
            1,
            0,
            classes,
            ignored,
            smoothing,
            machine.faults(),
            SITE,
            machine.address(array),
            machine.address(target),
            machine.address(losses),
            machine.address(log_sums),
        )
    return losses, log_sums


def cross_entropy_backward(
    machine: Machine, grad: Any, count: Any, array: Any, target: Any, log_sums: Any, ignored: int, smoothing: float
) -> Any:
    """The gradient of `cross_entropy`'s input, where every row's factor is `grad`, divided by `count` if given.

    grad, count: () in the dtype of `log_sums`.
    """
    rows, classes = array.shape
    out = machine.empty(array.shape, array.dtype)
    form = f"cross_entropy_backward<{c_name(array.dtype)}, {c_name(target.dtype)}>"
    launch = machine.launcher("loss", form, "qqqdPPPPPP")
    if out.size:
        launch(
            rows,
            1,
            1,
            block_of(classes, 4),
            1,
            0,
            rows,
            classes,
            ignored,
            smoothing,
            machine.address(grad),
            maybe(machine, count),
            machine.address(array),
            machine.address(target),
            machine.address(log_sums),
            machine.address(out),
        )
    return out
