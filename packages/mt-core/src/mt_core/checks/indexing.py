"""What indexing refuses."""

from __future__ import annotations

from typing import NoReturn

__all__ = [
    "refuse_classes", "refuse_copied", "refuse_flat", "refuse_index", "refuse_looked_up", "refuse_picked",
    "refuse_selected", "refuse_selected_of_none", "refuse_short_source",
]  # fmt: skip


def refuse_looked_up(index: int, place: int, size: int) -> NoReturn:
    """``x[:, index]``: the first outside of -size .. size - 1, in the tensor at a place among the tensors alone."""
    if size == 0:
        raise IndexError("index is out of bounds for dimension with size 0")
    raise IndexError(f"index {index} is out of bounds for dimension {place} with size {size}")


def refuse_index(index: int, dim: int, size: int) -> NoReturn:
    """`index_fill`: the first index outside of -size .. size - 1."""
    raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def refuse_picked(index: int, dim: int, size: int) -> NoReturn:
    """Elements picked or written along a dimension (`gather`, `scatter`): the first index outside of 0 .. size - 1."""
    raise RuntimeError(f"index {index} is out of bounds for dimension {dim} with size {size}")


def refuse_selected() -> NoReturn:
    """Whole slices (`index_select`, `embedding`, `index_add` of one dimension): an index outside of the dimension."""
    raise IndexError("index out of range in self")


def refuse_selected_of_none(index: int, size: int) -> NoReturn:
    """`index_select` from a tensor without elements, or along dimension 1: an index outside of the dimension."""
    if not size:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    raise RuntimeError(f"INDICES element is out of DATA bounds, id={index} axis_dim={size}")


def refuse_copied(index: int, dim: int, size: int) -> NoReturn:
    """`index_copy`: the first index outside of 0 .. size - 1."""
    raise IndexError(f"index_copy_(): index {index} is out of bounds for dimension {dim} with size {size}")


def refuse_flat(index: int, count: int) -> NoReturn:
    """Elements by their place in the flattened tensor (`take`, `put`): the first outside of -count .. count - 1."""
    raise IndexError(f"out of range: tried to access index {index} on a tensor of {count} elements.")


def refuse_short_source() -> NoReturn:
    """`masked_scatter`: fewer elements than the mask asks for."""
    raise RuntimeError("Number of elements of source < number of ones in mask")


def refuse_classes(label: int) -> NoReturn:
    """Losses of classes: the first label that is none."""
    raise IndexError(f"Target {label} is out of bounds.")


def class_count(least: int, greatest: int, num_classes: int) -> int:
    """How many classes `one_hot` tells apart, given the least and the greatest that occur; -1: as many as needed.

    Raises
    ------
    RuntimeError
        When a class is none of them.
    """
    if least < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        return greatest + 1
    if num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    if greatest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return num_classes
