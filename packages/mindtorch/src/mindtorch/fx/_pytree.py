"""``torch.fx._pytree``: what generated code calls to take nested inputs apart."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

from mt_core.pytree import TreeSpec, tree_flatten

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

#: Class -> how its parts are taken, given the description of a value of it.
SUPPORTED_NODES: dict[type, Callable[[Any, TreeSpec], list[Any]]] = {}


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: Callable[[Any, TreeSpec], list[Any]], flatten_fn_exact_match_spec: Any = None
) -> None:
    """Say how values of a class are taken apart, given a description."""
    if flatten_fn_exact_match_spec is not None:
        raise NotImplementedError(
            "torch.fx._pytree.register_pytree_flatten_spec(flatten_fn_exact_match_spec) is not supported by mindtorch."
        )
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a value where a description has leaves: dicts by the keys it names, sequences by their length.

    Raises
    ------
    RuntimeError
        For a class of which it is not known how.
    """
    if spec.is_leaf():
        return [pytree]
    parts = _parts(pytree, spec)
    return [
        leaf for part, child in zip(parts, spec.children(), strict=False) for leaf in tree_flatten_spec(part, child)
    ]


def _parts(value: Any, spec: TreeSpec) -> list[Any]:
    kind: Any = spec.type
    if kind in SUPPORTED_NODES:
        return SUPPORTED_NODES[kind](value, spec)
    # By what the description says it is: the value may be a proxy, when generated code is traced again.
    if kind in (dict, OrderedDict):
        return [value[key] for key in spec.context]
    if kind in (list, namedtuple) or isinstance(kind, type) and issubclass(kind, tuple):
        return [value[i] for i in range(spec.num_children)]
    parts, _ = _taken_apart(value)
    return parts


def _taken_apart(value: Any) -> tuple[list[Any], TreeSpec]:
    leaves, spec = tree_flatten(value, is_leaf=lambda part: part is not value)
    if len(leaves) == 1 and leaves[0] is value:
        raise RuntimeError(
            f"{type(value)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any "
            "custom pytrees have been registered before loading it."
        )
    return leaves, spec
