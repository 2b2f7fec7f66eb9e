"""Who is alive: one connection of each rank to the process behind the store.

A connection that ends without a farewell is a death, and that process tells everyone. MPI does not: a rank that waits
in it for a killed one waits for ever.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
from dataclasses import dataclass

from .errors import DistNetworkError
from .stores.tcp_store import Client

__all__ = ["Departure", "Lifeline"]


@dataclass(frozen=True)
class Departure:
    """A rank that is no more: whether it said so, where it was, and which process."""

    rank: int
    host: str
    process: int
    announced: bool

    def __str__(self) -> str:
        how = "left: it ended, or destroyed its process group" if self.announced else "died"
        return f"rank {self.rank} (process {self.process} on {self.host}) {how}"


class Lifeline:
    """This rank's connection, and what it was told of the others.

    Parameters
    ----------
    host, port
        The process behind the store.
    scope
        Who belongs together: the ranks of one world say the same.
    rank
        This rank.
    seconds
        How long to try to connect.
    """

    def __init__(self, host: str, port: int, scope: str, rank: int, seconds: float) -> None:
        self.address, self._seconds = (host, port), seconds
        #: Rank -> what became of it. Ranks that are alive are not here.
        self.departures: dict[int, Departure] = {}
        self._client = Client(host, port, seconds)
        who = (scope, str(rank), socket.gethostname(), str(os.getpid()))
        self._client.ask(b"member", *(part.encode() for part in who))
        self._ended = False
        threading.Thread(target=self._listen, name="mt-distributed lifeline", daemon=True).start()
        atexit.register(self.end)
        os.register_at_fork(after_in_child=self._let_go)

    def _listen(self) -> None:
        try:
            while True:
                what, *who = self._client.read()
                if what in (b"lost", b"left"):
                    rank, host, process = (field.decode() for field in who)
                    self.departures[int(rank)] = Departure(int(rank), host, int(process), what == b"left")
        except (OSError, DistNetworkError):
            pass  # the store is gone; operations go on, and end by their timeouts if they have to

    def end(self) -> None:
        """Say farewell: this rank does not come to any other operation."""
        if not self._ended:
            self._ended = True
            atexit.unregister(self.end)
            try:
                self._client.socket.sendall(_BYE)
                self._client.socket.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # whom it would tell is gone

    def _let_go(self) -> None:
        """In a forked child, whose copy of the connection is not to keep it open when the parent dies."""
        self._ended = True
        os.close(self._client.socket.detach())

    def ask(self, *request: bytes) -> list[bytes]:
        """Ask the process behind the store something, on a connection of its own."""
        client = Client(*self.address, self._seconds)
        try:
            return client.ask(*request)
        finally:
            client.close()

    def lost(self, ranks: tuple[int, ...]) -> list[Departure]:
        """What became of those of some ranks that are no more."""
        return [departure for rank, departure in sorted(self.departures.items()) if rank in ranks]


_BYE = b"\x00\x00\x00\x07\x00\x00\x00\x03bye"
