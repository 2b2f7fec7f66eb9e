"""The wire on which MPICH's processes find one another, kept open by this process whatever becomes of the other end.

MPICH ends the process where its wire breaks, so that nobody could say who died. What it has here is one end of a pair
of sockets; threads hand on what it says to the process behind the store, and the answers back. Where that process is
gone, MPICH goes on to wait, and whoever waits for it asks `Wire.broken`.
"""

from __future__ import annotations

import os
import socket
import threading

__all__ = ["Wire"]

#: Seconds that a connection may take.
CONNECT = 10.0


class Wire:
    """One process's.

    Parameters
    ----------
    host, port
        The process behind the store.
    """

    def __init__(self, host: str, port: int) -> None:
        self._ours, library = socket.socketpair()
        #: The library's end, which it closes itself.
        self.descriptor = library.detach()
        #: What became of the connection; None while it is there.
        self.broken: OSError | None = None
        #: Set when the library has said something: it has read then from the environment where its wire is.
        self.begun = threading.Event()
        self._server: socket.socket | None = None
        os.register_at_fork(after_in_child=self._let_go)
        threading.Thread(target=self._run, args=(host, port), name="mt-distributed wire", daemon=True).start()

    def _run(self, host: str, port: int) -> None:
        try:
            server = self._server = socket.create_connection((host, port), CONNECT)
            server.settimeout(None)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._ask, args=(server,), name="mt-distributed wire", daemon=True).start()
            while data := server.recv(1 << 16):
                self._ours.sendall(data)
            self.broken = ConnectionResetError("the process behind the store closed the connection")
        except OSError as error:
            self.broken = error

    def _ask(self, server: socket.socket) -> None:
        try:
            while data := self._ours.recv(1 << 16):
                self.begun.set()
                server.sendall(data)
        except OSError as error:
            self.broken = error

    def _let_go(self) -> None:
        """In a forked child: the connection is the parent's, and is to end with it."""
        os.close(self.descriptor)
        for one in (self._ours, self._server):
            if one is not None and one.fileno() >= 0:
                os.close(one.detach())
