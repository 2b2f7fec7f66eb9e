"""By which views a tensor was made of its base, for those of whom it is kept.

The gradient of a view that was written to goes through the same window of its base, which its strides tell
(`mt_autograd.views`). Where strides tell nothing, because a handler of ``__torch_dispatch__`` has the memory, or where
a thread asks for it (``torch.autograd._force_original_view_tracking``), the views are made again one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import ref

from ..tensor import Tensor
from ..thread_state import carried_over
from .registry import Overload

__all__ = ["ViewSteps", "note", "noting", "steps_of", "tracking"]


class _Tracking(threading.local):
    """Whether this thread keeps the steps of every view."""

    is_on = False


tracking = carried_over(_Tracking())

Layout = tuple[tuple[int, ...], tuple[int, ...], int]


def _layout(tensor: Tensor) -> Layout:
    return tuple(tensor._array.shape), tensor.stride(), tensor.storage_offset()


class ViewSteps:
    """The views that lead from a base to one of its views, and how both lay when they were made.

    Attributes
    ----------
    shape, dtype
        Of the view.
    """

    __slots__ = ("_base", "_calls", "_view", "dtype", "shape")

    def __init__(self, calls: tuple[tuple[Overload, tuple[Any, ...]], ...], view: Tensor, base: Tensor) -> None:
        self._calls = calls
        self._view, self._base = _layout(view), _layout(base)
        self.shape, self.dtype = self._view[0], view._dtype

    def followed_by(self, call: tuple[Overload, tuple[Any, ...]], view: Tensor, base: Tensor) -> ViewSteps:
        """The steps to a view of the view."""
        return ViewSteps((*self._calls, call), view, base)

    def hold_for(self, view: Tensor, base: Tensor) -> bool:
        """Whether neither tensor was laid out otherwise since."""
        return _layout(view) == self._view and _layout(base) == self._base

    def replay(self, base: Tensor) -> Tensor:
        """The same views of another tensor with the base's layout."""
        for overload, args in self._calls:
            base = overload.call(base, *args)
        return base


#: The id of a view -> a reference that removes the entry when the view is gone, and its steps.
_kept: dict[int, tuple[Any, ViewSteps]] = {}


def steps_of(view: Tensor) -> ViewSteps | None:
    """The steps to a view from its base; None where they were not kept or hold no more."""
    entry = _kept.get(id(view))
    if entry is None or view._base is None or not entry[1].hold_for(view, view._base):
        return None
    return entry[1]


def note(view: Tensor, source: Tensor, overload: Overload, args: tuple[Any, ...]) -> None:
    """Keep that a view was made by a call on `source`, with `args` beside it.

    A view of a view whose own steps are not known has none that lead from the base.
    """
    base, call = view._base, (overload, args)
    if base is None:
        return
    if source is base:
        steps = ViewSteps((call,), view, base)
    else:
        before = steps_of(source)
        if before is None:
            return
        steps = before.followed_by(call, view, base)
    key = id(view)
    _kept[key] = ref(view, lambda _: _kept.pop(key, None)), steps


def noting(overload: Overload, handled: Callable[..., Any]) -> Callable[..., Any] | None:
    """What carries an operator out and keeps the step, where the thread asks for it; None of what makes no one view."""
    returns = overload.schema.returns
    if overload.schema.is_mutable or len(returns) != 1 or returns[0].is_list or returns[0].alias is None:
        return None

    def run(source: Any, *args: Any) -> Any:
        made = handled(source, *args)
        if tracking.is_on:
            note(made, source, overload, args)
        return made

    return run
