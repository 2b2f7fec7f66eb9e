"""Steps of optimizers and foreach operators: one launch for up to 40 tensors."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from .element_types import c_name
from .machine import Machine
from .norm import maybe

__all__ = ["CHUNK", "MAX_TENSORS", "adam", "for_each", "sgd"]

#: As in ``cuda/optimizers.cu``.
MAX_TENSORS, CHUNK = 40, 4096
THREADS = 512


def tables(machine: Machine, lists: Sequence[Sequence[Any] | None]) -> Iterator[tuple[bytes, int]]:
    """The struct ``Tensors`` for each launch and its blocks; tensors without elements are left out."""
    whole = [at for at, one in enumerate(lists[0] or ()) if one.size]
    for begin in range(0, len(whole), MAX_TENSORS):
        chosen = whole[begin : begin + MAX_TENSORS]
        rest = [0] * (MAX_TENSORS - len(chosen))
        first, sizes, words = [0], [], []
        for at in chosen:
            sizes.append(lists[0][at].size)  # type: ignore[index]  # `chosen` is empty where there is no list
            first.append(first[-1] - (-sizes[-1] // CHUNK))
        for own in lists:
            words += [0] * MAX_TENSORS if own is None else [*(machine.address(own[at]) for at in chosen), *rest]
        words += [*sizes, *rest, *first, *[first[-1]] * len(rest)]
        yield struct.pack(f"q{len(words)}q", len(chosen), *words), first[-1]


def sgd(
    machine: Machine, parameters: Sequence[Any], gradients: Sequence[Any], buffers: Sequence[Any] | None, *,
    rate: float, momentum: float, dampening: float, decay: float, nesterov: bool, maximize: bool, first: bool,
    rate_array: Any = None, grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    """One step, in place, of row-major tensors of one dtype.

    `rate_array`, `grad_scale`, `found_inf`: float32 of one element, read by the device; or None.
    """
    numbers = (rate, momentum, dampening, decay, int(nesterov), int(maximize), int(first))
    form = f"sgd<{c_name(parameters[0].dtype)}, {str(buffers is not None).lower()}>"
    extras = [maybe(machine, one) for one in (rate_array, grad_scale, found_inf)]
    for table, blocks in tables(machine, (parameters, gradients, buffers)):
        launch = machine.launcher("optimizers", form, f"{len(table)}s4d3qPPP")
        launch(blocks, 1, 1, THREADS, 1, 0, table, *numbers, *extras)


def adam(
    machine: Machine, parameters: Sequence[Any], gradients: Sequence[Any], firsts: Sequence[Any],
    seconds: Sequence[Any], largest: Sequence[Any] | None, steps: Sequence[Any], *, rate: float, beta1: float,
    beta2: float, decay: float, eps: float, decoupled: bool, maximize: bool, rate_array: Any = None,
    grad_scale: Any = None, found_inf: Any = None,
) -> None:  # fmt: skip
    """One step of Adam, or of AdamW where `decoupled`, in place; `steps` are float32 and already counted up."""
    form = f"adam<{c_name(parameters[0].dtype)}, {str(decoupled).lower()}, {str(largest is not None).lower()}>"
    extras = [maybe(machine, one) for one in (rate_array, grad_scale, found_inf)]
    numbers = (rate, beta1, beta2, decay, eps, int(maximize))
    for table, blocks in tables(machine, (parameters, gradients, firsts, seconds, largest, steps)):
        launch = machine.launcher("optimizers", form, f"{len(table)}s5dqPPP")
        launch(blocks, 1, 1, THREADS, 1, 0, table, *numbers, *extras)


def for_each(
    machine: Machine, name: str, outs: Sequence[Any], lefts: Sequence[Any], rights: Sequence[Any] | None = None,
    number: float = 1.0,
) -> None:  # fmt: skip
    """outs[t] = f(lefts[t], rights[t], number); all of one dtype, row-major; outs may be lefts."""
    form = f"for_each<{name}, {c_name(outs[0].dtype)}, {str(rights is not None).lower()}>"
    for table, blocks in tables(machine, (outs, lefts, rights)):
        launch = machine.launcher("optimizers", form, f"{len(table)}sd")
        launch(blocks, 1, 1, THREADS, 1, 0, table, number)
