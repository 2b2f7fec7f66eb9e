"""Operations that were begun: `Work`, the thread that moves them on, and how they fail when a rank is missing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from mt_core.futures import Future

from .contract import Request
from .errors import DistBackendError
from .lifeline import Departure, Lifeline
from .polling import poll

__all__ = ["Finished", "Operation", "Work"]

#: Seconds that an operation may take to end after a rank left with a farewell: it may have done its part before.
GRACE = 1.0
#: Seconds that an error of the library waits for the news of a death: it may notice one before its cause is known here.
NEWS = 3.0


class Work:
    """An operation that was begun. Those of PyTorch's extensions derive from it, too."""

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Wait until it is done; raises what made it fail."""
        raise NotImplementedError(f"{type(self).__name__}.wait")

    def is_completed(self) -> bool:
        """Whether it is done, or failed."""
        raise NotImplementedError(f"{type(self).__name__}.is_completed")

    def is_success(self) -> bool:
        """Whether it is done and did not fail."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """What made it fail."""
        return None

    def synchronize(self) -> None:
        """Wait for it, on devices that queue operations: that is `wait` here."""
        self.wait()

    def block_current_stream(self) -> None:
        """Let what follows wait for it: `wait` here."""
        self.wait()

    def result(self) -> list[Any]:
        """The tensors that it wrote."""
        raise NotImplementedError(f"{type(self).__name__}.result")

    def source_rank(self) -> int:
        """Who sent what was received."""
        raise RuntimeError(
            "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
        )

    def _source_rank(self) -> int:
        return self.source_rank()

    def get_future(self) -> Future[Any]:
        """A future of the tensors that it wrote."""
        raise NotImplementedError(f"{type(self).__name__}.get_future")

    def boxed(self) -> Work:
        """This work as operators pass it: itself."""
        return self

    @staticmethod
    def unbox(work: Work) -> Work:
        """The work that `boxed` gave."""
        return work


class Finished(Work):
    """What was done at once."""

    def __init__(self, tensors: Sequence[Any] = ()) -> None:
        self._tensors = list(tensors)

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    def result(self) -> list[Any]:
        return self._tensors

    def get_future(self) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(self._tensors)
        return future


class Operation(Work):
    """Requests of a communicator that make one operation of a process group.

    Parameters
    ----------
    requests
        What was begun.
    finish
        What is done when they are, such as to copy to where the results belong.
    tensors
        The tensors that it writes; kept alive meanwhile.
    name
        What it is called in errors: ``"all_reduce"``, its number and its group.
    seconds
        How long it may take.
    lifeline, ranks
        Who is watched: the ranks (of the world) without which it cannot end.
    failed
        Called once, with the error, when it fails.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        finish: Callable[[], None] | None,
        tensors: Sequence[Any],
        *,
        name: str,
        seconds: float,
        lifeline: Lifeline | None,
        ranks: tuple[int, ...],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._requests, self._finish, self._tensors = list(requests), finish, list(tensors)
        self._name, self._seconds, self._lifeline, self._ranks = name, seconds, lifeline, ranks
        self._failed = failed
        self._begun = time.monotonic()
        self._left_at: float | None = None
        self._error: BaseException | None = None
        self._broken: Exception | None = None
        self._broken_at = 0.0
        self._is_done = False
        self._turn = threading.Lock()
        self._future: Future[Any] | None = None
        self._to_tell: Future[Any] | None = None
        self._source: int | None = None

    def advance(self) -> bool:
        """Move it on; whether it is done or failed. Another thread may be at it."""
        if self._is_done:
            return True
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if self._is_done:
                return True
            if self._broken is not None or not self._all_over():
                return False
            try:
                if self._finish is not None:
                    self._finish()
            except Exception as error:  # noqa: BLE001 - the finishing code's: waiters get it
                self._error = _said(error, self._name)
                self._failed(self._error)
            self._is_done = True
        finally:
            self._turn.release()
        self._tell()
        return True

    def broke(self, error: Exception) -> None:
        """Told that the library failed: whoever waits gets the news of a death that comes soon, or else this error."""
        self._broken, self._broken_at = error, time.monotonic()

    def _all_over(self) -> bool:
        """Whether all requests are; where the library fails at one, `check` says why it did."""
        try:
            while self._requests and self._requests[0].test():
                request = self._requests.pop(0)
                self._source = getattr(request, "source", None)
        except Exception as error:  # noqa: BLE001 - a library's, of whatever class
            self.broke(error)
        return not self._requests

    def _tell(self) -> None:
        with self._turn:
            future, self._to_tell = self._to_tell, None
        if future is not None:
            if self._error is not None:
                future.set_exception(self._error)
            else:
                future.set_result(self._tensors)

    def _fail(self, error: BaseException) -> None:
        with self._turn:
            if self._is_done:
                return
            self._error, self._is_done = error, True
            _ABANDONED.append((self._requests, self._tensors, self._finish))
        self._failed(error)
        self._tell()

    def check(self, seconds: float | None = None) -> None:
        """Have it fail if its time is over, or a rank that it needs is no more.

        Raises
        ------
        DistBackendError
            When it is so; also when it was so before.
        """
        now = time.monotonic()
        if self._lifeline is not None and self._lifeline.departures:
            lost = self._lifeline.lost(self._ranks)
            if lost and self._left_at is None:
                self._left_at = now
            deaths = [departure for departure in lost if not departure.announced]
            if lost and (deaths or now > (self._left_at or now) + GRACE) and not self.advance():
                who = "; ".join(map(str, deaths or lost))
                self._fail(DistBackendError(f"{who} during {self._name}{self._after(self._lifeline, deaths)}"))
        if self._broken is not None and (self._lifeline is None or now > self._broken_at + NEWS):
            self._fail(_said(self._broken, self._name))
        limit = self._seconds if seconds is None else seconds
        if now > self._begun + limit and not self.advance():
            self._fail(DistBackendError(f"{self._name} timed out after {limit:g} s{self._waited_for()}"))
        if self._error is not None:
            raise self._error

    def _after(self, lifeline: Lifeline, deaths: list[Departure]) -> str:
        """Where nobody died whom this needs: who else died, for whose sake the others may have left."""
        others = [] if deaths else [one for one in list(lifeline.departures.values()) if not one.announced]
        return f", after {'; '.join(map(str, others))}" if others else ""

    def _waited_for(self) -> str:
        others = ", ".join(map(str, self._ranks))
        return f": not all of the ranks {others} came to it" if others else ""

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Wait until it is done; True.

        Raises
        ------
        DistBackendError
            When the timeout is over (its own, or the group's for 0), or a rank that it needs is no more.
        """
        limit = timeout.total_seconds()
        poll(self.advance, lambda: self.check(limit if limit > 0 else None))
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        """Whether it is done, or failed."""
        return self.advance()

    def exception(self) -> BaseException | None:
        """What made it fail."""
        return self._error

    def result(self) -> list[Any]:
        """The tensors that it writes."""
        return self._tensors

    def source_rank(self) -> int:
        """Who sent what was received, as a rank of the group."""
        if self._source is None:
            return super().source_rank()
        return self._source

    def get_future(self) -> Future[Any]:
        """A future of the tensors that it writes; done by the thread that moves operations on."""
        with self._turn:
            if self._future is None:
                self._future = self._to_tell = Future()
            future, is_done = self._future, self._is_done
        if is_done:
            self._tell()
        return future


#: What was begun and will not end: the library may still write to these arrays, so they stay.
_ABANDONED: list[Any] = []


def _said(error: BaseException, name: str) -> BaseException:
    if isinstance(error, DistBackendError):
        return error
    made = DistBackendError(f"{name} failed: {error}")
    made.__cause__ = error
    return made


class Mover:
    """The thread that moves on what nobody waits for just now, as long as there is such."""

    def __init__(self) -> None:
        self._operations: list[Operation] = []
        self._some = threading.Condition()
        self._is_running = False

    def take(self, operation: Operation) -> None:
        """Move an operation on until it is done."""
        with self._some:
            self._operations.append(operation)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="mt-distributed progress", daemon=True).start()
            self._some.notify()

    def _run(self) -> None:
        idle = 0.00005
        while True:
            with self._some:
                if not self._operations:
                    self._some.wait()
                operations = list(self._operations)
            done = [operation for operation in operations if self._moved(operation)]
            if done:
                idle = 0.00005
                with self._some:
                    self._operations = [kept for kept in self._operations if kept not in done]
            else:
                time.sleep(idle)
                idle = min(0.001, 1.5 * idle)

    def _moved(self, operation: Operation) -> bool:
        if operation.advance():
            return True
        try:
            operation.check()
        except DistBackendError:
            return True  # whoever waits for it gets the error
        return False


mover = Mover()
