"""Joining and splitting dimensions."""

from typing import Any

from mt_core import Size, Tensor

from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions from `start_dim` to `end_dim` into one."""

    __constants__ = ["start_dim", "end_dim"]
    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several.

    Parameters
    ----------
    dim
        The dimension.
    unflattened_size
        The sizes to split it into, of which one may be -1.
    """

    __constants__ = ["dim", "unflattened_size"]
    dim: int
    unflattened_size: Size | tuple[int, ...]

    def __init__(self, dim: int, unflattened_size: Size | list[int] | tuple[int, ...]) -> None:
        super().__init__()
        self._require_tuple_int(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    @staticmethod
    def _require_tuple_int(input: Any) -> None:
        if not isinstance(input, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(input).__name__}")
        for position, element in enumerate(input):
            if not isinstance(element, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(element).__name__} at pos {position}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
