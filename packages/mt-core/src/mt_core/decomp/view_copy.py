"""Views that copy, in terms of the views."""

from __future__ import annotations

from typing import Any

from ..declarations.view_copy import COPIES, copy_name
from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..formats import contiguous_format
from ..tensor import wrap_dim

#: What is copied where the view itself needs memory of another layout.
_INSTEAD = {"view": "reshape"}


def _declare(view: str, several: bool) -> None:
    read = _INSTEAD.get(view, view)

    def copied(*args: Any) -> Any:
        result = find_overload(read).call(*args)
        if several:
            return tuple(part.clone(memory_format=contiguous_format) for part in result)
        return result.clone(memory_format=contiguous_format)

    composite(copy_name(view), explicit=True)(copied)


for _view, (_, _returns) in COPIES.items():
    _declare(_view, _returns == "Tensor[]")


@composite("_reshape_alias_copy", explicit=True)
def reshape_alias_copy(self: Any, size: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    """self (any shape) -> (*size)."""
    return self.as_strided(size, stride, self.storage_offset()).clone(memory_format=contiguous_format)


@composite("narrow_copy", explicit=True)
def narrow_copy(self: Any, dim: int, start: int, length: int) -> Any:
    """self (*L, N, *R) -> (*L, length, *R)."""
    if self.dim() and dim >= self.dim():
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if self.dim() and length < 0:
        size = self.shape[wrap_dim(dim, self.dim())]
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return self.narrow(dim, start, length).clone(memory_format=contiguous_format)
