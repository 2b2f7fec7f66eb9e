"""What a shape rule says about a result: `Spec` for fresh tensors, `View` for views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .meta_array import contiguous_strides
from .symbolic import at_least_one

if TYPE_CHECKING:
    from .dtypes import dtype

__all__ = ["AS_MADE", "Spec", "View", "is_contiguous"]

#: The strides of a result that is laid out as its kernel leaves it.
AS_MADE: tuple[int, ...] = (-1,)


class Spec:
    """What a rule says of a tensor that an operator will make.

    Attributes
    ----------
    shape, dtype
        Of the result.
    strides
        In elements; None: contiguous; `AS_MADE`: what the kernel gives.
    arguments
        Argument name -> what the kernel gets in its place: dimensions counted from the front, a single number made a
        pair. Of several results, those of the first count.
    device
        Of a factory, the device that the call asks for, or None.
    """

    __slots__ = ("shape", "dtype", "strides", "device", "arguments")

    def __init__(
        self, shape: Any, dtype: dtype, strides: tuple[int, ...] | None = None, device: Any = None,
        arguments: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.shape: tuple[int, ...] = tuple(shape)
        self.dtype = dtype
        self.strides = strides
        self.device = device
        self.arguments = arguments

    def stride(self) -> tuple[int, ...]:
        """Strides in elements, whether given or implied."""
        return contiguous_strides(self.shape) if self.strides is None else self.strides

    def dim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    def __repr__(self) -> str:
        return f"Spec({self.shape}, {self.dtype}, strides={self.strides})"


class View:
    """Geometry of a view in the elements of its base's storage.

    Attributes
    ----------
    shape, strides, offset
        In elements of the view.
    dtype
        Only where the view reinterprets elements.
    toggled
        Keys in which the view differs from what it is a view of (`mt_core.keys.CONJUGATE`, ``NEGATIVE``): it has that
        one's geometry then, and reads the same elements otherwise.
    own
        Whether it counts as a tensor of its own on the same memory: without a base, and writing to it is not recorded.
    """

    __slots__ = ("shape", "strides", "offset", "dtype", "toggled", "own")

    def __init__(
        self, shape: Any, strides: Any, offset: int, dtype: dtype | None = None, toggled: int = 0, own: bool = False
    ) -> None:
        self.shape: tuple[int, ...] = tuple(shape)
        self.strides: tuple[int, ...] = tuple(strides)
        self.offset = offset
        self.own = own
        self.dtype = dtype
        self.toggled = toggled


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides (elements) lay `shape` out row-major; dimensions of size 1 may have any stride."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        # Of symbolic sizes, what follows from their expressions is asked first: it needs no guard.
        if stride != step and size != 1:
            return 0 in shape
        step *= size if size.__class__ is int else at_least_one(size)
    return True
