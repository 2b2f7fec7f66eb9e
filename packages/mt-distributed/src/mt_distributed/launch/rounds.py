"""Rounds: which machines run a program together, while machines come and go.

The launchers agree by the store at the endpoint. Each comes to the current round and gets the next place in it; the
first one closes the round when enough have come. A round ends when a rank or a launcher fails, or when a launcher that
came too late may be let in: then all who are left come to the next.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..lifeline import Lifeline
from ..stores import Store

__all__ = ["LATE", "Round", "RoundsEnded", "Rounds"]

#: Why a round ended for one that came too late: no failure.
LATE = "a machine that came later is let in"
#: Seconds between looks at the store while a round is not closed.
_LOOK = 0.05


class RoundsEnded(RuntimeError):
    """There are no more rounds, or not enough machines came to one."""


@dataclass(frozen=True)
class Round:
    """Who runs together.

    Parameters
    ----------
    number
        Which round this is.
    place
        This machine's number in it.
    counts
        How many ranks each machine has.
    launchers
        The number of each machine's launcher, by which its death is told.
    host, port
        Where the ranks' store is.
    """

    number: int
    place: int
    counts: tuple[int, ...]
    launchers: tuple[int, ...]
    host: str
    port: int


class Rounds:
    """One launcher's part.

    Parameters
    ----------
    store
        What the launchers share.
    lifeline
        Tells which launchers died.
    number
        This launcher's.
    least, most
        How many machines a round has.
    last_call
        Seconds that a round stays open for more, once the least number has come.
    waiting
        Seconds to wait for the least number.
    """

    def __init__(
        self, store: Store, lifeline: Lifeline, number: int, least: int, most: int, last_call: float, waiting: float
    ) -> None:
        self._store, self._lifeline, self._number = store, lifeline, number
        self._least, self._most, self._last_call, self._waiting = least, most, last_call, waiting

    def join(self, processes: int, serve: Callable[[], tuple[str, int]]) -> Round:
        """Come to the next round with a number of ranks.

        Parameters
        ----------
        serve
            Starts the store of the ranks, on the first machine; where it is.

        Raises
        ------
        RoundsEnded
            When not enough come in time, or the program has ended.
        """
        until = time.monotonic() + self._waiting
        while True:
            number = self._store.add("round", 0)
            place = self._store.add(f"{number}/joined", 1) - 1
            self._store.set(f"{number}/member/{place}", f"{self._number} {processes}")
            if place == 0:
                self._close(number, until, serve)
            elif not self._wait_closed(number, until):
                self._advance(number)  # who was to close it died
                continue
            count, host, port = self._store.get(f"{number}/closed").decode().split()
            if place < int(count):
                given = [self._store.get(f"{number}/member/{one}").decode().split() for one in range(int(count))]
                launchers, counts = zip(*((int(one), int(size)) for one, size in given), strict=True)
                return Round(number, place, counts, launchers, host, int(port))
            self._store.set(f"{number}/late", "1")
            self._wait(functools.partial(self._is_over, number), until)

    def _close(self, number: int, until: float, serve: Callable[[], tuple[str, int]]) -> None:
        """Wait for the others as their first."""
        self._wait(lambda: self._store.add(f"{number}/joined", 0) >= self._least, until)
        end = time.monotonic() + self._last_call
        while self._store.add(f"{number}/joined", 0) < self._most and time.monotonic() < end:
            time.sleep(_LOOK)
        count = min(self._store.add(f"{number}/joined", 0), self._most)
        host, port = serve()
        self._store.set(f"{number}/closed", f"{count} {host} {port}")

    def _wait_closed(self, number: int, until: float) -> bool:
        """Whether a round was closed; not where the first that came to it has died."""

        def settled() -> bool:
            return self._store.check([f"{number}/closed"]) or self._is_first_gone(number)

        self._wait(settled, until)
        return self._store.check([f"{number}/closed"])

    def _is_first_gone(self, number: int) -> bool:
        if not self._store.check([f"{number}/member/0"]):
            return False
        return int(self._store.get(f"{number}/member/0").split()[0]) in self._lifeline.departures

    def _wait(self, is_there: Callable[[], bool], until: float) -> None:
        while not is_there():
            if self._store.check(["finished"]):
                raise RoundsEnded("the program has ended on the machines that ran it")
            if time.monotonic() > until:
                raise RoundsEnded(
                    f"not enough machines came within {self._waiting:g} s: at least {self._least} were asked for"
                )
            time.sleep(_LOOK)

    def _is_over(self, number: int) -> bool:
        return self._store.add("round", 0) > number

    def _advance(self, number: int) -> None:
        """Begin the round after one, unless another launcher has."""
        self._store.compare_set("round", str(number), str(number + 1))

    def ended(self, now: Round) -> str | None:
        """Why a round has ended: the text of a failure, `LATE`, or empty where all are done; None while it goes on."""
        if self._store.check([f"{now.number}/ended"]):
            return self._store.get(f"{now.number}/ended").decode()
        if self._store.check([f"{now.number}/done/{place}" for place in range(len(now.counts))]):
            self._store.set("finished", "1")
            return ""
        for place, launcher in enumerate(now.launchers):
            lost = self._lifeline.departures.get(launcher)
            if lost is not None:
                return self.end(now, f"the launcher of machine {place} on {lost.host} died")
        if len(now.counts) < self._most and self._store.check([f"{now.number}/late"]):
            return self.end(now, LATE)
        return None

    def done(self, now: Round) -> None:
        """Tell that all ranks of this machine have ended well."""
        self._store.set(f"{now.number}/done/{now.place}", "1")

    def end(self, now: Round, why: str) -> str:
        """End a round; why it ended, which is what the first has told."""
        told = self._store.compare_set(f"{now.number}/ended", "", why).decode()
        self._advance(now.number)
        return told
