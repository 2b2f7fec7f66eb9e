"""Shadows: tensors of the meta device to which the same is done as to those whose calls wait.

A call is described by being carried out on the shadows of its tensors, with recording: so the layout, dtype and version
of its results, whether they require grad, what is a view of what, and every refusal are what they will be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd_state import AutogradState
from ..block import Block
from ..cell import Cell
from ..keys import AUTOGRAD, BACKEND_MASK, CONJUGATE, FLAGS, META, NEGATIVE, OTHER_INDEX, PIPELINE, PRIVATE_TYPES
from ..meta_array import MetaArray
from ..meta_backend import backend as meta
from ..tensor import new_tensor

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["FIT", "Shadows", "is_fit"]

#: What a tensor may have to be known by its shadow.
FIT = FLAGS & ~OTHER_INDEX | BACKEND_MASK & ~META | AUTOGRAD | CONJUGATE | NEGATIVE | PIPELINE | PRIVATE_TYPES


def is_fit(tensor: Any) -> bool:
    """Whether a shadow can stand for a tensor: a plain one with memory, on the first device of its type."""
    return not tensor._keys & ~FIT


class Shadows:
    """Makes the shadows of tensors that are there, which share what those share."""

    def __init__(self) -> None:
        self._cells: dict[int, tuple[Cell, Cell]] = {}
        self._blocks: dict[int, tuple[Block, Block]] = {}

    def forget(self) -> None:
        """Let go of everything; the next shadows are strangers to those before."""
        self._cells.clear()
        self._blocks.clear()

    def of(self, tensor: Any, base: Tensor | None) -> Any:
        """The shadow of a tensor, whose base has the shadow `base`."""
        size = tensor._dtype.itemsize
        cell = tensor._cell
        block = None if cell is None else cell.block
        offset = tensor.storage_offset() * size
        owned = None if block is None else block.nbytes
        if owned is None and base is not None:
            owned = base._array.nbytes_owned
        strides = tuple([step * size for step in tensor.stride()])
        array = MetaArray(tuple(tensor._array.shape), tensor._dtype.numpy_dtype, strides, offset, owned)
        shadow = new_tensor(array, tensor._dtype, tensor._keys & ~(BACKEND_MASK | PIPELINE) | META)
        shadow._base = base
        if cell is not None:
            self._share(shadow, cell)
        if tensor._autograd is not None:
            shadow._autograd = _state_like(tensor)
        return shadow

    def _share(self, shadow: Any, cell: Cell) -> None:
        known = self._cells.get(id(cell))
        if known is None:
            known = self._cells[id(cell)] = cell, Cell(shadow)
            known[1].version = cell.version
            if cell.block is not None:
                self._block_of(cell.block).enter(known[1])
        else:
            known[1].add(shadow)
        shadow._cell = known[1]

    def _block_of(self, block: Block) -> Block:
        known = self._blocks.get(id(block))
        if known is None:
            flat = MetaArray((block.nbytes,), np.dtype(np.uint8))
            known = self._blocks[id(block)] = block, Block(flat, meta, META)
        return known[1]


def _state_like(tensor: Any) -> AutogradState:
    """The autograd slots of a shadow: where the tensor stands in the graph, and nothing that a graph would change."""
    state = tensor._autograd
    like = AutogradState()
    like.requires_grad, like.creation, like.attr_version = state.requires_grad, state.creation, state.attr_version
    like.grad_fn, like.output_nr = state.grad_fn, state.output_nr
    return like
