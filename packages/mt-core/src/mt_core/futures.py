"""``torch.futures``: results that come later, and what is to be done when they are there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from mt_core.devices import device

__all__ = ["Future", "collect_all", "wait_all"]

_DONE = "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that one thread sets and others wait for.

    Parameters
    ----------
    devices
        Accelerators whose streams would have to be waited for. There is none here that a result could be pending on.

    Raises
    ------
    ValueError
        For devices that are no accelerators, which PyTorch refuses, too.
    """

    def __init__(self, *, devices: list[int | str | device] | None = None) -> None:
        if devices:
            raise ValueError(f"a Future of devices is not supported by mindtorch: give no devices instead of {devices}")
        self._changed = threading.Condition()
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Whether it has a result or an exception."""
        return self._done

    def wait(self) -> T:
        """The result, as soon as it is there; an exception that was set instead is raised."""
        with self._changed:
            self._changed.wait_for(self.done)
        return self._outcome()

    def value(self) -> T:
        """The result of a future that is done, or its exception raised.

        Raises
        ------
        RuntimeError
            Before it is done.
        """
        if not self._done:
            raise RuntimeError("the Future has no value yet: call wait(), or value() once it is done")
        return self._outcome()

    def _outcome(self) -> T:
        if self._error is not None:
            raise self._error
        return cast(T, self._result)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """The future of ``callback(self)``, which is called when this one is done; at once if it is already.

        What the callback raises is the cause of the RuntimeError of the future that is returned.
        """
        following: Future[S] = Future()

        def call() -> None:
            try:
                result = callback(self)
            except Exception as error:  # noqa: BLE001 - foreign code, whose error is handed on
                said = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                failure = RuntimeError(said)
                failure.__cause__ = error
                following._settle(None, failure)
            else:
                following._settle(result, None)

        self._when_done(call)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` when this future is done; at once if it is already.

        What it raises is reported to ``threading.excepthook``: nobody waits for the callback.
        """
        self.then(_reporting(callback))

    def set_result(self, result: T) -> None:
        """Set the result, wake those who wait, and call the callbacks in the order in which they were added.

        Raises
        ------
        RuntimeError
            If it is done already.
        """
        self._settle(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an exception in the place of a result.

        Raises
        ------
        AssertionError
            Of what is no exception.
        RuntimeError
            If it is done already.
        """
        assert isinstance(result, Exception), f"{result} is of type {type(result)}, not an Exception."
        self._settle(None, result)

    def _settle(self, result: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(_DONE)
            self._result, self._error, self._done = result, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for call in callbacks:
            call()

    def _when_done(self, call: Callable[[], None]) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(call)
                return
        call()


def _reporting(callback: Callable[[Any], None]) -> Callable[[Any], None]:
    def call(future: Any) -> None:
        try:
            callback(future)
        except Exception as error:  # noqa: BLE001 - foreign code; there is nobody to raise it to
            kind, trace = type(error), error.__traceback__
            threading.excepthook(threading.ExceptHookArgs((kind, error, trace, threading.current_thread())))

    return call


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """The future of the list of futures itself, done when all of them are: also those that ended in an exception."""
    together: Future[list[Future[Any]]] = Future()
    given = list(futures)
    if not given:
        together.set_result([])
    counting, waiting = threading.Lock(), [len(given)]

    def count_down() -> None:
        with counting:
            waiting[0] -= 1
            last = waiting[0] == 0
        if last:
            together.set_result(given)

    for future in given:
        future._when_done(count_down)
    return together


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of all futures, in their order; the first exception among them is raised once all are done."""
    return [future.wait() for future in collect_all(list(futures)).wait()]
