"""The communicator of a group of one process: it needs no MPI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..contract import Communicator, Request

__all__ = ["Alone"]


class _Done:
    source = 0

    def test(self) -> bool:
        return True


class _Waiting:
    """A message to oneself that has not come yet."""

    source = 0

    def __init__(self) -> None:
        self.is_done = False

    def test(self) -> bool:
        return self.is_done


_DONE = _Done()


class Alone(Communicator):
    """One process, whose reductions change nothing."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self._sent: list[tuple[int, Any]] = []
        self._expected: list[tuple[int, Any, _Waiting]] = []

    def all_reduce(self, array: Any, op: str) -> Request:
        return _DONE

    def reduce(self, array: Any, root: int, op: str) -> Request:
        return _DONE

    def broadcast(self, array: Any, root: int) -> Request:
        return _DONE

    def _copy(self, output: Any, array: Any) -> Request:
        output.reshape(-1)[...] = array.reshape(-1)
        return _DONE

    def all_gather(self, output: Any, array: Any) -> Request:
        return self._copy(output, array)

    def gather(self, output: Any | None, array: Any, root: int) -> Request:
        return self._copy(output, array)

    def scatter(self, output: Any, array: Any | None, root: int) -> Request:
        return self._copy(output, array)

    def reduce_scatter(self, output: Any, array: Any, op: str) -> Request:
        return self._copy(output, array)

    def all_to_all(self, output: Any, array: Any, output_counts: Sequence[int], input_counts: Sequence[int]) -> Request:
        return self._copy(output, array)

    def send(self, array: Any, to: int, tag: int) -> Request:
        for entry in self._expected:
            if entry[0] == tag:
                self._expected.remove(entry)
                self._copy(entry[1], array)
                entry[2].is_done = True
                return _DONE
        self._sent.append((tag, array.copy()))
        return _DONE

    def receive(self, array: Any, source: int | None, tag: int) -> Request:
        for entry in self._sent:
            if entry[0] == tag:
                self._sent.remove(entry)
                return self._copy(array, entry[1])
        waiting = _Waiting()
        self._expected.append((tag, array, waiting))
        return waiting

    def barrier(self) -> Request:
        return _DONE

    def split(self, ranks: Sequence[int], name: str, check: Callable[[], None]) -> Communicator:
        return Alone()

    def abort(self) -> None:
        self._expected.clear()
