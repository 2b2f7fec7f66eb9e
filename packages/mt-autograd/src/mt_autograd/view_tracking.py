"""``torch.autograd._force_original_view_tracking``: views whose history is made anew as the views that they were."""

from __future__ import annotations

from mt_core.dispatch.view_steps import tracking
from mt_core.keys import ADINPLACE_OR_VIEW
from mt_core.state import tls

from .mutation import is_active, register

__all__ = ["_force_original_view_tracking", "is_view_replay_enabled", "set_view_replay_enabled"]


def is_view_replay_enabled() -> bool:
    """Whether this thread keeps by which calls views are made; see `_force_original_view_tracking`."""
    return tracking.is_on


def set_view_replay_enabled(mode: bool) -> None:
    """Have this thread keep by which calls views are made, or not."""
    register()
    tracking.is_on = mode
    tls.include = tls.include | ADINPLACE_OR_VIEW if mode or is_active() else tls.include & ~ADINPLACE_OR_VIEW
    tls.refresh()


class _force_original_view_tracking:
    """Whether views are made again as they were made, from now on or in a context.

    The history of a view of what was written to since is a strided window of its base by default; with `mode`, that of
    a view that was made inside of it has the operators that made it (``ViewBackward0`` for ``AsStridedBackward0``).
    Values do not differ.
    """

    def __init__(self, mode: bool) -> None:
        self.prev = is_view_replay_enabled()
        self.mode = mode
        set_view_replay_enabled(mode)

    def __enter__(self) -> None:
        """Nothing: it counts since it was made."""

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        set_view_replay_enabled(self.prev)

    def clone(self) -> _force_original_view_tracking:
        """Another one with the same mode."""
        return self.__class__(self.mode)
