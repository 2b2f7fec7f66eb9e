"""What a library of collectives gives: the interface behind every process group.

A distribution offers one by an entry point of the group ``mindtorch.collectives``, whose name is the backend's that
programs ask for (``gloo``, ``mpi``, ``nccl``, ...) and whose value is an object with the members of `Collectives`. It
makes a `Communicator` for a set of ranks. That works on arrays of its devices and knows no tensors: `ProcessGroup`
takes tensors apart, counts operations, and turns what is given back here into `Work`.

Every operation *begins* in the call and returns a `Request`. Nothing here may block: requests are polled by `test`, so
that timeouts, signals and deaths of other ranks are noticed while one waits. Communicators begin operations in one
order on all ranks. Arrays are contiguous, have the same number of elements and the same dtype on all ranks, and stay
untouched until the request is done; ranks are those of the communicator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .lifeline import Lifeline
from .stores import Store

__all__ = ["Collectives", "Communicator", "Request"]


class Request(Protocol):
    """An operation that was begun."""

    def test(self) -> bool:
        """Move it on; whether it is done, results in place. True ever after."""
        ...


class Collectives(Protocol):
    """A library of collectives: the value of an entry point of ``mindtorch.collectives``."""

    #: Version of the plugin contract (`mt_core.plugins.protocols.CONTRACT`).
    contract: int
    #: Device types whose arrays it takes.
    devices: tuple[str, ...]

    def why_not(self) -> str | None:
        """Why it cannot connect more than one process here, with the remedy; None where it can."""
        ...

    def connect(
        self, store: Store, rank: int, size: int, *, lifeline: Lifeline | None, deadline: float
    ) -> Communicator:
        """The communicator of all ranks; `store` is shared by them, `deadline` is in `time.monotonic`."""
        ...


class Communicator(ABC):
    """Operations among some ranks.

    `op` is the name of a reduction: ``"sum" "product" "min" "max" "band" "bor" "bxor"``. Means and factors are
    `ProcessGroup`'s concern.
    """

    rank: int
    size: int

    @abstractmethod
    def all_reduce(self, array: Any, op: str) -> Request:
        """Reduce in place, on all ranks."""

    @abstractmethod
    def reduce(self, array: Any, root: int, op: str) -> Request:
        """Reduce in place on the root; elsewhere the array is left as it is."""

    @abstractmethod
    def broadcast(self, array: Any, root: int) -> Request:
        """Give all ranks what the root has."""

    @abstractmethod
    def all_gather(self, output: Any, array: Any) -> Request:
        """Every rank's array, one behind the other, into an output of `size` times its elements."""

    @abstractmethod
    def gather(self, output: Any | None, array: Any, root: int) -> Request:
        """As `all_gather`, on the root alone; `output` is None elsewhere."""

    @abstractmethod
    def scatter(self, output: Any, array: Any | None, root: int) -> Request:
        """Give each rank its part of the root's array, which is None elsewhere."""

    @abstractmethod
    def reduce_scatter(self, output: Any, array: Any, op: str) -> Request:
        """Reduce an array of `size` parts, and give each rank its part."""

    @abstractmethod
    def all_to_all(self, output: Any, array: Any, output_counts: Sequence[int], input_counts: Sequence[int]) -> Request:
        """Give each rank a part of this array, and get one from each; the counts are of elements."""

    @abstractmethod
    def send(self, array: Any, to: int, tag: int) -> Request:
        """Send to one rank."""

    @abstractmethod
    def receive(self, array: Any, source: int | None, tag: int) -> Request:
        """Receive from one rank, or from any for None; then the request has a `source` once it is done."""

    @abstractmethod
    def barrier(self) -> Request:
        """Done when all ranks have begun it."""

    @abstractmethod
    def split(self, ranks: Sequence[int], name: str, check: Callable[[], None]) -> Communicator:
        """The communicator of some of these ranks, this one among them, in their order.

        Only they call it, at the same time and with the same name. It waits for them, and calls `check` meanwhile,
        which raises when that is in vain.
        """

    @abstractmethod
    def abort(self) -> None:
        """Something failed: what was begun will not end. No other operation is begun after it."""
