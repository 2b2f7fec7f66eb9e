"""Shape rules of indexing."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dispatch.registry import register_meta as meta
from ..layout import broadcast_shapes
from ..spec import Spec

Ints = tuple[int, ...]


def _mask_shapes(self: Any, indices: list[Any]) -> list[Ints | None]:
    """Shape of each index once masks have become one index per masked dimension.

    Raises
    ------
    IndexError
        When a mask does not fit, or there are too many indices.
    """
    shapes: list[Ints | None] = []
    shape = self._array.shape
    for position, index in enumerate(indices):
        if index is None:
            shapes.append(None)
        elif index._dtype in (dtypes.bool, dtypes.uint8):
            mask = index._array.shape
            for i, n in enumerate(mask):
                at = len(shapes) + i
                if at >= len(shape) or shape[at] != n:
                    raise IndexError(
                        f"The shape of the mask {list(mask)} at index {i} does not match the shape of the indexed tensor "
                        f"{list(shape)} at index {at}"
                    )
            count = _true_count(index, position)
            shapes.extend([(count,)] * len(mask))
        else:
            shapes.append(index._array.shape)
    if len(shapes) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)} (got {len(shapes)})")
    return shapes


def _true_count(mask: Any, position: int) -> int:
    if mask.is_meta:
        raise NotImplementedError("index with a mask on the meta device: the shape of the result depends on data")
    return int(mask._backend.to_host(mask._array).astype(bool).sum())


def indexed_shape(self: Any, indices: list[Any]) -> Ints:
    """Shape of ``self[indices]``."""
    shapes = _mask_shapes(self, indices)
    shape = self._array.shape
    given = [s for s in shapes if s is not None]
    try:
        common = broadcast_shapes(given) if given else ()
    except RuntimeError:
        listed = ", ".join(str(list(s)) for s in given)
        raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}") from None
    positions = [i for i, s in enumerate(shapes) if s is not None]
    rest = [n for i, n in enumerate(shape) if i >= len(shapes) or shapes[i] is None]
    if not positions:
        return tuple(shape)
    adjacent = positions[-1] - positions[0] + 1 == len(positions)
    lead = positions[0] if adjacent else 0
    return (*rest[:lead], *common, *rest[lead:])


@meta("index.Tensor")
def index(self: Any, indices: list[Any]) -> Spec:
    return Spec(indexed_shape(self, indices), self._dtype)


@meta("index_put_")
def index_put_(self: Any, indices: list[Any], values: Any, accumulate: bool) -> None:
    if values._dtype is not self._dtype:
        name = dtypes.scalar_type_name
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {name(self._dtype)} for the destination and "
            f"{name(values._dtype)} for the source."
        )
    target = indexed_shape(self, indices)
    shape = values._array.shape
    fits = len(shape) <= len(target) and all(n in (1, t) for n, t in zip(reversed(shape), reversed(target), strict=False))
    if not fits:
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing result of shape {list(target)}")
