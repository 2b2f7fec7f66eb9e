"""``torch.jit.fork`` and ``wait``: called from Python, PyTorch runs the function at once, and so it is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.futures import Future

from ._script import warn_deprecated

__all__ = ["fork", "wait"]

_INSTEAD = "Please use `torch.compile` instead."


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Run a function now, in this thread, and hand over its result as a future.

    Raises what the function raises.
    """
    warn_deprecated("fork", _INSTEAD)
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """The result of a future, as soon as it is there.

    Raises
    ------
    TypeError
        For what is no future.
    """
    warn_deprecated("wait", _INSTEAD)
    if not isinstance(future, Future):
        raise TypeError(
            "wait(): incompatible function arguments. The following argument types are supported:\n"
            f"    1. (arg0: torch._C.Future) -> object\n\nInvoked with: {future!r}"
        )
    return future.wait()
