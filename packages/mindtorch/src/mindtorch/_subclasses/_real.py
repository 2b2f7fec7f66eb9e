"""Real tensors that fake ones carry along: operators are carried out on them besides."""

from __future__ import annotations

from typing import Any

from mt_core import Tensor, pytree
from mt_core.autograd_state import no_grad
from mt_core.block import block_of
from mt_core.keys import PYTHON
from mt_core.python_dispatch import without_modes
from mt_core.state import excluding
from mt_core.symbolic import SYMBOLIC

from ._fake import OUTDATED, FakeTensor

__all__ = ["attach", "computed"]


class _Unknown(Exception):
    """Of a tensor among the arguments the elements are not known, or of a symbol the value."""


def computed(func: Any, args: Any, kwargs: Any, written: list[FakeTensor]) -> Any:
    """What an operator gives for the real tensors; None where not all of them are known.

    What it would have written to is not known any more then.
    """
    try:
        real_args, real_kwargs = pytree.tree_map(_real, (args, kwargs))
    except _Unknown:
        for fake in written:
            if fake.real_tensor is not None:
                block_of(fake.real_tensor).attributes[OUTDATED] = True
        return None
    with without_modes(), excluding(PYTHON), no_grad():
        return func(*real_args, **real_kwargs)


def _real(value: Any) -> Any:
    if isinstance(value, FakeTensor):
        if value.real_tensor is None:
            raise _Unknown
        return value.real_tensor
    if isinstance(value, SYMBOLIC):
        if value.node.hint is None:
            raise _Unknown
        return value.node.hint
    return value


def attach(result: Any, real: Any) -> None:
    """Give fake results the real ones, or none."""
    fakes = pytree.tree_leaves(result)
    for fake, made in zip(fakes, [None] * len(fakes) if real is None else pytree.tree_leaves(real), strict=True):
        if isinstance(fake, FakeTensor):
            fake.real_tensor = made if isinstance(made, Tensor) else None
