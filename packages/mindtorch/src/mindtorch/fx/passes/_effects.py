"""What the steps of a graph do besides computing a value from their arguments."""

from __future__ import annotations

from typing import Any

import mindtorch as torch

from ..node import Node
from ..operator_schemas import packet_of

__all__ = ["changes_arguments", "draws_random_numbers", "is_random"]

#: Functions and methods that draw random numbers and are no operators.
_RANDOM = frozenset(
    """alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout fractional_max_pool2d
    fractional_max_pool3d gumbel_softmax multi_head_attention_forward normal pca_lowrank rand rand_like randint
    randint_like randn randn_like randperm rrelu scaled_dot_product_attention svd_lowrank""".split()
)
_NOT_IN_PLACE = frozenset(("and_", "or_", "not_", "is_"))
#: Functions of `operator` that begin as its in-place ones do.
_PLAIN_I = frozenset("indexOf inv invert is_ is_not itemgetter".split())


def changes_arguments(node: Node) -> bool:
    """Whether a call writes to one of its arguments."""
    schema = getattr(node.target, "_schema", None)
    if schema is not None:
        return bool(schema.is_mutable)
    name = _name(node)
    if getattr(node.target, "__module__", "") == "_operator" and name[0] == "i" and name not in _PLAIN_I:
        return True
    return "out" in node.kwargs or name.endswith("_") and not name.endswith("__") and name not in _NOT_IN_PLACE


def draws_random_numbers(node: Node) -> bool:
    """Whether a call of a function or method gives something else each time."""
    return is_random(node.target)


def is_random(target: Any) -> bool:
    """Whether a function, or the method of a name, gives something else each time."""
    if _name_of(target) in _RANDOM:
        return True
    packet: Any = packet_of(target) if callable(target) else getattr(torch.ops.aten, str(target), None)
    names = packet.overloads() if hasattr(packet, "overloads") else ()
    return any(torch.Tag.nondeterministic_seeded in getattr(packet, name).tags for name in names)


def _name(node: Node) -> str:
    return _name_of(node.target)


def _name_of(target: Any) -> str:
    return target if isinstance(target, str) else str(getattr(target, "__name__", "?")).partition(".")[0]
