"""``map``: a function of each slice along the first dimension, and the results stacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.pytree import tree_flatten, tree_unflatten
from mt_library.higher_order import HigherOrderOperator

__all__ = ["MapImpl", "map", "map_impl"]


class MapImpl(HigherOrderOperator):
    """``map_impl(f, xs, pos_args)``, on flat lists; `f` gives a flat list."""

    def __init__(self) -> None:
        super().__init__("map_impl")

    def __call__(self, f: Any, xs: Any, pos_args: Any = ()) -> Any:
        return super().__call__(f, xs, pos_args)


map_impl = MapImpl()


@map_impl.py_impl("CompositeImplicitAutograd")
def _run(f: Callable[..., Any], xs: Any, pos_args: Any) -> list[Any]:
    rows = [f(*(x.select(0, i) for x in xs), *pos_args) for i in range(xs[0].shape[0])]
    return [None if column[0] is None else ops.stack(list(column)) for column in zip(*rows, strict=True)]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for each slice `x` of `xs` along the first dimension, stacked along a new first one.

    Parameters
    ----------
    f
        Gives containers of tensors, of one structure.
    xs
        Containers of tensors of one size along the first dimension.

    Raises
    ------
    RuntimeError, IndexError
        In PyTorch's words.
    """
    leaves, structure = tree_flatten(xs)
    others, of_others = tree_flatten(args)
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    shapes = [leaf.shape for leaf in leaves]
    size = shapes[0][0]
    if size == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(shape[0] != size for shape in shapes):
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}.")
    structures: list[Any] = []

    def flat_f(*flat: Any) -> list[Any]:
        x = tree_unflatten(list(flat[: len(leaves)]), structure)
        found, of_found = tree_flatten(f(x, *tree_unflatten(list(flat[len(leaves) :]), of_others)))
        structures.append(of_found)
        return found

    return tree_unflatten(map_impl(flat_f, leaves, others), structures[-1])
