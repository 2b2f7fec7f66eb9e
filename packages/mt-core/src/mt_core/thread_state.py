"""Going on in another thread: what a thread has switched on goes along, while the thread itself waits.

A stack of calls has an end, which is another thread's as well: what nests without a limit goes on there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

from .layers.autocast import settings
from .overriding import off
from .state import tls

__all__ = ["carried_over", "in_another_thread"]

Result = TypeVar("Result")
Local = TypeVar("Local", bound=threading.local)

#: What goes along, and which of its attributes are the thread's own.
_CARRIED: list[tuple[threading.local, frozenset[str]]] = []


def carried_over(state: Local, *own: str) -> Local:
    """Have the attributes of a thread's state go along, but for its `own`; returns the state."""
    _CARRIED.append((state, frozenset(own)))
    return state


carried_over(tls, "run_kernel")
carried_over(settings)
carried_over(off)


def in_another_thread(function: Callable[[], Result]) -> Result:
    """What a function returns that is called in a new thread, with this thread's state; what it raises is raised here.

    Lists and dicts of the state are the same objects there; attributes that are set anew stay there.
    """
    taken = [
        (state, {name: value for name, value in vars(state).items() if name not in own}) for state, own in _CARRIED
    ]
    context, outcome = copy_context(), _Outcome()

    def run() -> None:
        try:
            for state, attributes in taken:
                vars(state).update(attributes)
            outcome.value = context.run(function)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            outcome.error = error

    thread = threading.Thread(target=run, name="mindtorch-nested", daemon=True)
    thread.start()
    thread.join()
    if outcome.error is not None:
        try:
            raise outcome.error
        finally:
            del outcome.error  # it holds this frame
    return outcome.value  # type: ignore[no-any-return]


class _Outcome:
    value: Any = None
    error: BaseException | None = None
