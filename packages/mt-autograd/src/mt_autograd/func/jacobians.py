"""Jacobians and Hessians: a pull-back or a push-forward, mapped over the rows of the identity."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.dispatch.registry import find_overload
from mt_core.keys import TORCH_FUNCTION
from mt_core.pytree import TreeSpec, tree_flatten, tree_unflatten
from mt_core.state import excluding
from mt_core.tensor import Tensor
from mt_core.transforms.vmapping import vmap

from .gradients import ArgNums, vjp_by

__all__ = ["identity_blocks", "jacrev", "split_blocks"]


def jacrev(
    func: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that computes the Jacobian of `func`, row by row, by reverse mode.

    Parameters
    ----------
    func
        Returns tensors or containers of them; with `has_aux`, a pair of that and anything else.
    argnums
        By which positional argument, or by which of them, to differentiate.
    chunk_size
        How many rows are computed at once, at most; None for all. Rows one by one are computed without ``vmap``.

    Returns
    -------
    callable
        Gives, for each tensor of the output in its place, the blocks by the arguments in theirs, each of shape
        ``output.shape + argument.shape``; with `has_aux`, a pair of that and the second part.

    Raises
    ------
    ValueError
        For a `chunk_size` that is not positive.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        output, pull_back, *aux = vjp_by(func, args, argnums, has_aux)
        leaves, structure = tree_flatten(output)
        rows = [leaf.numel() for leaf in leaves]

        def pull_back_flat(cotangents: list[Tensor]) -> Any:
            return pull_back(tree_unflatten(cotangents, structure))

        identity = identity_blocks(leaves)
        if chunk_size == 1:
            found = _row_by_row(pull_back_flat, identity)
        else:
            found = vmap(pull_back_flat, chunk_size=chunk_size)(identity)
        blocks, by = tree_flatten(found)
        jacobian = _by_output(blocks, by, [tuple(leaf.shape) for leaf in leaves], rows, structure)
        return (jacobian, aux[0]) if has_aux else jacobian

    return wrapper


def _row_by_row(pull_back: Callable[[list[Tensor]], Any], identity: Sequence[Tensor]) -> Any:
    """What the pull-back gives for each row of the identity, stacked."""
    structure, rows = None, []
    for cotangents in zip(*(block.unbind(0) for block in identity), strict=True):
        found, structure = tree_flatten(pull_back(list(cotangents)))
        rows.append(found)
    if structure is None:  # no element, no row: vmap knows the shapes all the same
        return vmap(pull_back)(list(identity))
    stack = find_overload("stack")
    with excluding(TORCH_FUNCTION):
        return tree_unflatten([stack.call(list(column), 0) for column in zip(*rows, strict=True)], structure)


def identity_blocks(leaves: Sequence[Tensor]) -> list[Tensor]:
    """The identity over the elements of all tensors together, cut into a block for each.

    Returns
    -------
    list of Tensor
        Of shape ``(elements of all, *tensor.shape)``, in the tensor's dtype, on its device.
    """
    counts = [leaf.numel() for leaf in leaves]
    total, start, blocks = sum(counts), 0, []
    with excluding(TORCH_FUNCTION):
        for leaf, count in zip(leaves, counts, strict=True):
            block = find_overload("new_zeros").call(leaf, (total, count), None, None, None, None)
            block.diagonal(-start).fill_(1)
            blocks.append(block.view((total, *leaf.shape)))
            start += count
    return blocks


def split_blocks(joined: Tensor, counts: Sequence[int]) -> list[Tensor]:
    """A tensor whose first dimension counts the elements of several, cut at their borders."""
    return list(joined.split(list(counts), 0))


def _by_output(
    blocks: Sequence[Tensor], by: TreeSpec, shapes: Sequence[tuple[int, ...]], rows: Sequence[int], structure: TreeSpec
) -> Any:
    """Blocks by argument, each with the rows of all outputs, as blocks by output and argument."""
    columns = [split_blocks(block, rows) for block in blocks]
    of_outputs = []
    for number, shape in enumerate(shapes):
        parts = [column[number] for column in columns]
        of_outputs.append(tree_unflatten([part.view((*shape, *part.shape[1:])) for part in parts], by))
    return tree_unflatten(of_outputs, structure)
