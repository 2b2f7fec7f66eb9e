"""``associative_scan``: running results of an associative function, by halves (Blelloch 1990)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from mt_core.transforms.vmapping import vmap
from mt_library.higher_order import HigherOrderOperator

from ._leaves import check_scanned, scanned_dim

__all__ = ["AssociativeScanOp", "associative_scan", "associative_scan_op"]


class AssociativeScanOp(HigherOrderOperator):
    """``associative_scan(combine_fn, xs, additional_inputs)``, on flat lists and along the first dimension.

    `combine_fn` takes many pairs at once, and gives a flat list.
    """

    def __init__(self) -> None:
        super().__init__("associative_scan")

    def __call__(self, combine_fn: Any, xs: Any, additional_inputs: Any = ()) -> Any:
        return super().__call__(combine_fn, xs, additional_inputs)


associative_scan_op = AssociativeScanOp()

Combine = Callable[..., list[Any]]


@associative_scan_op.py_impl("CompositeImplicitAutograd")
def _run(combine_fn: Combine, xs: Any, additional_inputs: Any) -> list[Any]:
    """Pairs are combined, their running results found, and what lies between is combined once more."""
    size = xs[0].shape[0]
    if size < 2:
        return list(xs)
    pairs = combine_fn(*(x[0:-1:2] for x in xs), *(x[1::2] for x in xs), *additional_inputs)
    odd = _run(combine_fn, pairs, additional_inputs)
    if size == 2:
        return [ops.cat([x[:1], last]) for x, last in zip(xs, odd, strict=True)]
    before = [x[:-1] for x in odd] if size % 2 == 0 else odd
    even = combine_fn(*before, *(x[2::2] for x in xs), *additional_inputs)
    even = [ops.cat([x[:1], rest]) for x, rest in zip(xs, even, strict=True)]
    return [_alternating(a, b) for a, b in zip(even, odd, strict=True)]


def _alternating(first: Any, second: Any) -> Any:
    """first[0], second[0], first[1], ...; the first may have one more."""
    count = second.shape[0]
    joined = ops.stack([first[:count], second], 1).flatten(0, 1)
    return joined if first.shape[0] == count else ops.cat([joined, first[count:]])


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """``x[0]``, ``f(x[0], x[1])``, ``f(f(x[0], x[1]), x[2])`` and so on, along a dimension.

    Parameters
    ----------
    combine_fn
        Associative; takes two slices, in containers as `xs`, and gives one.
    dim, reverse
        The dimension that is gone through, and whether from its end.
    combine_mode
        ``"generic"``; ``"pointwise"`` is for functions without reductions on accelerators.

    Raises
    ------
    ValueError, RuntimeError, IndexError
        In PyTorch's words.
    """
    leaves, structure = tree_flatten(xs)
    dim = _checked(combine_fn, leaves, scanned_dim(leaves, dim), reverse, combine_mode)
    rows = [leaf.movedim(dim, 0) for leaf in leaves]
    rows = [row.flip([0]) for row in rows] if reverse else rows
    of_many = vmap(combine_fn)

    def combine(*flat: Any) -> list[Any]:
        first = tree_unflatten(list(flat[: len(leaves)]), structure)
        return tree_leaves(of_many(first, tree_unflatten(list(flat[len(leaves) :]), structure)))

    found = tree_unflatten(associative_scan_op(combine, rows, ()), structure)
    return tree_map(lambda leaf: (leaf.flip([0]) if reverse else leaf).movedim(0, dim), found)


def _checked(combine_fn: Any, leaves: list[Any], dim: int, reverse: Any, mode: Any) -> int:
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"Reverse must be a bool, but got {type(reverse)}")
    if mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {mode}")
    if mode == "pointwise" and any(leaf.device.type not in ("cuda", "xpu") for leaf in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    if any(not isinstance(leaf, Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    check_scanned(leaves, dim, ValueError)
    return dim
