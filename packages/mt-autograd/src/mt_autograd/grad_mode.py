"""``torch.autograd.grad_mode``: the switches of recording, which are the core's, of engine threads and of views."""

import threading

from mt_core.autograd_state import enable_grad, inference_mode, no_grad, set_grad_enabled
from mt_core.thread_state import carried_over

from .view_tracking import _force_original_view_tracking, is_view_replay_enabled

__all__ = [
    "_force_original_view_tracking",
    "enable_grad",
    "inference_mode",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class _Permission(threading.local):
    """Whether this thread's backward may use threads of its own."""

    granted = True


_permission = carried_over(_Permission())


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last given in this thread; True before."""
    return _permission.granted


class set_multithreading_enabled:
    """Whether backward may use threads of its own, from now on or in a context.

    It never does: it runs in the thread that calls it. What asks for the order of nodes ahead of time wants it off.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.prev = _permission.granted
        _permission.granted = mode

    def __enter__(self) -> None:
        _permission.granted = self.mode

    def __exit__(self, *exc_info: object) -> None:
        _permission.granted = self.prev
