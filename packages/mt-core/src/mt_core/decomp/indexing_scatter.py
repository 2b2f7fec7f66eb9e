"""Writing where indices say, for backends that have kernels for ``where`` and ``add``, and copy slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import _functions as ops
from ..dispatch.registry import register_composite as composite
from ..host import host_array
from .indexing_rows import refuse_beyond, rows_within


def _meant(index: Any, size: int, device: Any) -> Any:
    """index (*I) -> (*I, size): which of the places 0 .. size - 1 each names."""
    return ops.eq(index.unsqueeze(-1), ops.arange(size, device=device))


def _scattered(self: Any, dim: int, index: Any, source: Any, change: Callable[[Any, Any, Any], Any]) -> Any:
    """self (*S), index (*I), source (*at least I): a copy of self, changed where `index` says.

    `change` makes new elements (*I without `dim`, K) of the old ones, of a slice of the source, (*I without `dim`, 1),
    and of where its elements go. Slices come one after the other: of two that go to one place, the last counts.
    """
    if not index._array.size:
        return self
    flat = not self._array.ndim
    target, where = (t.reshape(1) if not t._array.ndim else t for t in (self, index))
    dim %= target._array.ndim
    size = target._array.shape[dim]
    refuse_beyond(host_array(where), dim, size)
    result = target.clone()
    window = result
    for d, n in enumerate(where._array.shape):
        window = window if d == dim else window.narrow(d, 0, n)
        if source is not None:
            source = (source.reshape(1) if not source._array.ndim else source).narrow(d, 0, n)
    window = window.movedim(dim, -1)
    for place in range(where._array.shape[dim]):
        given = None if source is None else source.select(dim, place).unsqueeze(-1)
        window.copy_(change(window, given, _meant(where.select(dim, place), size, self.device)))
    return result.reshape(()) if flat else result


@composite("scatter.src", explicit=True)
def scatter(self: Any, dim: int, index: Any, src: Any) -> Any:
    """self (*S), index (*I), src (*at least I) -> (*S)."""
    return _scattered(self, dim, index, src, lambda old, new, meant: ops.where(meant, new, old))


@composite("scatter.value", explicit=True)
def scatter_value(self: Any, dim: int, index: Any, value: Any) -> Any:
    """self (*S), index (*I) -> (*S)."""
    number = self.new_full((), value)
    return _scattered(self, dim, index, None, lambda old, new, meant: ops.where(meant, number, old))


@composite("scatter_add", explicit=True)
def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    """self (*S), index (*I), src (*at least I) -> (*S)."""
    return _scattered(self, dim, index, src, lambda old, new, meant: ops.where(meant, ops.add(old, new), old))


@composite("index_add", explicit=True)
def index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    """self (*L, N, *R), index (K,), source (*L, K, *R) -> (*L, N, *R)."""
    flat = not self._array.ndim
    result, source = (t.reshape(1) if not t._array.ndim else t for t in (self.clone(), source))
    for place, row in enumerate(rows_within(index, result._array.shape[dim])):
        one = result.select(dim, row)
        one.copy_(ops.add(one, source.select(dim, place), alpha=alpha))
    return result.reshape(()) if flat else result
