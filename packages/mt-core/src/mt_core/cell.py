"""What a base tensor, its views and its `detach()` share: a version counter, the block of memory, and who they are."""

from __future__ import annotations

from typing import Any
from weakref import ref

__all__ = ["AliasCell", "Cell", "cell_of", "counts_writes", "moved_cell"]

#: The list of views is swept of dead entries when it grows past a limit, and the limit follows what was alive.
_FIRST_SWEEP = 32


class Cell:
    """Made at the first view, detach, in-place operation or storage access of a tensor.

    `members` are weak references to every tensor on this memory: whatever moves the buffer, or gives the base a
    gradient history, must reach them all.
    """

    counter: _Counter

    __slots__ = ("version", "counter", "block", "is_exported", "members", "sweep_at", "__weakref__")

    def __init__(self, tensor: Any) -> None:
        self.version = 0
        self.block: Any = None
        #: Whether something outside of the core had the memory before there was a block.
        self.is_exported = False
        self.members = [ref(tensor)]
        self.sweep_at = _FIRST_SWEEP

    def add(self, tensor: Any) -> None:
        members = self.members
        members.append(ref(tensor))
        if len(members) > self.sweep_at:
            self.sweep()

    def sweep(self) -> None:
        """Forget the members that no longer exist."""
        self.members = alive = [r for r in self.members if r() is not None]
        self.sweep_at = 2 * len(alive) + _FIRST_SWEEP

    def tensors(self) -> list[Any]:
        """The living tensors on this memory."""
        return [t for t in [r() for r in self.members] if t is not None and t._cell is self]


class AliasCell(Cell):
    """The cell of an alias of an inference tensor (``detach()``, ``.data``), which counts writes; its views do not."""

    __slots__ = ()


def counts_writes(tensor: Any) -> bool:
    """Whether an inference tensor has a version, and may be written to outside of inference mode."""
    cell = tensor._cell
    return cell.__class__ is AliasCell and cell.members[0]() is tensor


class _Counter:
    """A version that the cells of several memories share."""

    __slots__ = ("version",)

    def __init__(self, version: int) -> None:
        self.version = version


class _CountedCell(Cell):
    """The cell of a tensor that moved to other memory, or that one of its views or aliases left: both count as one."""

    __slots__ = ()

    @property
    def version(self) -> int:  # type: ignore[override]
        return self.counter.version

    @version.setter
    def version(self, value: int) -> None:
        self.counter.version = value


def cell_of(tensor: Any) -> Cell:
    """The tensor's cell, made if it has none yet."""
    cell = tensor._cell
    if cell is None:
        cell = tensor._cell = Cell(tensor)
    return cell


def moved_cell(tensor: Any) -> Cell:
    """Give a tensor that is about to lie on other memory a cell for it; its version stays one with its views'."""
    left = tensor._cell
    tensor._cell = cell = AliasCell(tensor) if counts_writes(tensor) else Cell(tensor)
    if left is None:
        return cell
    if cell.__class__ is AliasCell or left.__class__ is Cell and not left.tensors():
        cell.version = left.version
        return cell
    counter = left.counter if left.__class__ is _CountedCell else _Counter(left.version)
    for counted in (left, cell):
        counted.__class__ = _CountedCell
        counted.counter = counter
    return cell
