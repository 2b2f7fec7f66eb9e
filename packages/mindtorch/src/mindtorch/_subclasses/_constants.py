"""Fake tensors whose one element is known: a real tensor beside them is computed along."""

from __future__ import annotations

from typing import Any
from weakref import ref

from mt_core.block import block_of
from mt_core.symbolic import is_symbolic
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in
from mt_library.tags import Tag

__all__ = ["are_known", "forget", "forget_aliases", "is_small", "remember"]

#: Constants have at most this many elements.
_LIMIT = 1
_KNOWN = "fake tensors"


def is_small(tensor: Any) -> bool:
    """Whether a tensor's elements may be kept: there is at most one, and it is there."""
    count = tensor.numel()
    return not is_symbolic(count) and count <= _LIMIT and tensor.device.type == "cpu"


def are_known(func: Any, fakes: list[Any], place: Any) -> bool:
    """Whether an operator can be computed from the elements that are known: all of them, and no random ones."""
    if any(fake.constant is None for fake in fakes) or place.type != "cpu":
        return False
    if not fakes and not any(argument.type == "Tensor" for argument in func._schema.parsed.arguments):
        return False  # what makes tensors of no others
    return not {Tag.nondeterministic_seeded, Tag.inplace_view} & set(func.tags)


def remember(fake: Any, constant: Tensor) -> None:
    """Note the element of a fake tensor, until its memory is written to."""
    fake.constant = constant
    aliases = block_of(constant).attributes.setdefault(_KNOWN, [])
    aliases[:] = [*(r for r in aliases if r() is not None), ref(fake)]


def forget_aliases(constant: Tensor) -> None:
    """Forget the elements of all fake tensors whose constants are on the memory of this one."""
    for reference in block_of(constant).attributes.pop(_KNOWN, ()):
        fake = reference()
        if fake is not None:
            fake.constant = None


def forget(written: list[Any]) -> None:
    """Forget the elements of fake tensors that were written to, and of those on the same memory."""
    for fake in written:
        if fake.constant is not None:
            forget_aliases(fake.constant)
            fake.constant = None


def tensors_of(values: Any) -> list[Tensor]:
    """The tensors among results."""
    return list(tensors_in(values if isinstance(values, (list, tuple)) else (values,)))
