"""An operation in which the library fails: who waits hears of the death that caused it, or of the error."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from mt_distributed import work
from mt_distributed.errors import DistBackendError
from mt_distributed.lifeline import Departure
from mt_distributed.process_group import ProcessGroup


class Broken:
    """A request at which the library fails."""

    def test(self) -> bool:
        raise RuntimeError("Other MPI error")


def begun(lifeline: Any, failures: list[str]) -> work.Operation:
    return work.Operation(
        [Broken()], None, [], name="all_reduce", seconds=30, lifeline=lifeline, ranks=(1,),
        failed=lambda error: failures.append(str(error)),
    )  # fmt: skip


def test_the_death_is_told_that_comes_after_the_error() -> None:
    lifeline: Any = SimpleNamespace(departures={})
    lifeline.lost = lambda ranks: [lifeline.departures[rank] for rank in ranks if rank in lifeline.departures]
    failures: list[str] = []
    operation = begun(lifeline, failures)
    threading.Timer(0.2, lambda: lifeline.departures.update({1: Departure(1, "here", 7, False)})).start()
    with pytest.raises(DistBackendError, match=r"^rank 1 \(process 7 on here\) died during all_reduce$"):
        operation.wait()
    assert failures == ["rank 1 (process 7 on here) died during all_reduce"]


@pytest.mark.parametrize("watched", [False, True])
def test_the_error_is_told_where_nobody_died(monkeypatch: pytest.MonkeyPatch, watched: bool) -> None:
    monkeypatch.setattr(work, "NEWS", 0.2)
    lifeline = SimpleNamespace(departures={}, lost=lambda ranks: []) if watched else None
    failures: list[str] = []
    before = time.monotonic()
    with pytest.raises(DistBackendError, match="all_reduce failed: Other MPI error"):
        begun(lifeline, failures).wait()
    assert failures == ["all_reduce failed: Other MPI error"]
    assert time.monotonic() - before < 2


def test_what_comes_after_a_failure_says_the_first_ones_cause() -> None:
    """Nobody may be waiting for the first: a gradient's reduction that failed is met by the next one's beginning."""
    group = ProcessGroup.__new__(ProcessGroup)
    group._failure, group._name = None, "0"
    group._communicator = SimpleNamespace(abort=lambda: None)  # type: ignore[assignment]
    group._break("all_reduce", 9, DistBackendError("rank 1 (process 7 on here) died during all_reduce"))
    group._break("barrier", 10, DistBackendError("aborted"))
    with pytest.raises(
        DistBackendError, match=r"any more: all_reduce, its operation number 9, failed: rank 1 \(process 7"
    ):
        group._count()
