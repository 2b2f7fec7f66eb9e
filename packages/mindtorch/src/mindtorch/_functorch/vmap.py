"""``vmap`` that tells where its results have the mapped dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.transforms.vmapping import restore_vmap as restore_vmap
from mt_core.transforms.vmapping import vmap as _vmap

__all__ = ["in_dims_t", "out_dims_t", "restore_vmap", "vmap_impl"]

in_dims_t = int | tuple[Any, ...]
out_dims_t = int | tuple[int, ...]


def vmap_impl(
    func: Callable[..., Any], in_dims: Any, out_dims: Any, randomness: str, chunk_size: int | None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """``vmap(func, ...)(*args, **kwargs)``."""
    return _vmap(func, in_dims, out_dims, randomness, chunk_size=chunk_size)(*args, **kwargs)
