"""``scan``: a function of what was carried and of each slice, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from mt_library.higher_order import HigherOrderOperator

from ._leaves import check_alike, check_scanned, scanned_dim

__all__ = ["ScanOp", "scan", "scan_op"]


class ScanOp(HigherOrderOperator):
    """``scan(combine_fn, init, xs, additional_inputs)``, on flat lists and along the first dimension."""

    def __init__(self) -> None:
        super().__init__("scan")

    def __call__(self, combine_fn: Any, init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
        return super().__call__(combine_fn, init, xs, additional_inputs)


scan_op = ScanOp()


@scan_op.py_impl("CompositeImplicitAutograd")
def _run(combine_fn: Callable[..., Any], init: Any, xs: Any, additional_inputs: Any) -> list[Any]:
    carried, rows = list(init), []
    for i in range(xs[0].shape[0]):
        found = combine_fn(*carried, *(x.select(0, i) for x in xs), *additional_inputs)
        carry = found[: len(carried)]
        check_alike(carry, carried, "next_carry", "init")
        carried = list(carry)
        rows.append(found[len(carried) :])
    return [*carried, *(_stacked(column) for column in zip(*rows, strict=True))]


def _stacked(column: Any) -> Any:
    return None if column[0] is None else ops.stack(list(column))


def scan(
    combine_fn: Callable[[Any, Any], Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """``carry, y = combine_fn(carry, x)`` for each slice of `xs` along a dimension.

    Parameters
    ----------
    combine_fn
        Gives what is carried on, of the structure, shapes and dtypes of `init`, and a container of tensors.
    init, xs
        Containers of tensors.
    dim, reverse
        The dimension of `xs` that is gone through, and whether from its end.

    Returns
    -------
    tuple
        What was carried at last, and what `combine_fn` gave for all slices, stacked along `dim`.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    init_leaves, init_structure = tree_flatten(init)
    leaves, structure = tree_flatten(xs)
    if not leaves:
        return init, []
    dim = _checked(combine_fn, init_leaves, leaves, dim, reverse)
    rows = [leaf.movedim(dim, 0) for leaf in leaves]
    rows = [row.flip([0]) for row in rows] if reverse else rows
    structures: list[Any] = []

    def combine(*flat: Any) -> list[Any]:
        carried = tree_unflatten(list(flat[: len(init_leaves)]), init_structure)
        result = combine_fn(carried, tree_unflatten(list(flat[len(init_leaves) :]), structure))
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(f"combine_fn must return a pair of the next carry and an output, but got {result}")
        carry = tree_leaves(result[0])
        out, of_out = tree_flatten(result[1])
        structures.append(of_out)
        return [*carry, *out]

    flat = scan_op(combine, init_leaves, rows, ())
    carry = tree_unflatten(flat[: len(init_leaves)], init_structure)
    out = tree_unflatten(flat[len(init_leaves) :], structures[-1])
    return carry, tree_map(lambda leaf: _laid_out(leaf, dim, reverse), out)


def _laid_out(leaf: Any, dim: int, reverse: bool) -> Any:
    if not isinstance(leaf, Tensor):
        return leaf
    leaf = leaf.flip([0]) if reverse else leaf
    return leaf.movedim(0, dim) if 0 < dim < leaf.ndim else leaf


def _checked(combine_fn: Any, init: list[Any], leaves: list[Any], dim: Any, reverse: Any) -> int:
    dim = scanned_dim(leaves, dim)
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if not init:
        raise RuntimeError("scan() operator requires init leaves.")
    for what, values in (("init", init), ("xs", leaves)):
        for value in values:
            if not isinstance(value, Tensor):
                raise RuntimeError(f"All {what} leaves must be a Tensor but got {value}")
    check_scanned(leaves, dim, RuntimeError)
    return dim
