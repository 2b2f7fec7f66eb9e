"""A store behind a TCP port, served by a process of its own."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from ..errors import DistNetworkError, DistStoreError, QueueEmptyError
from . import server
from .base import DEFAULT_TIMEOUT, Store, to_bytes

__all__ = ["Client", "ServerProcess", "TCPStore"]

#: Seconds between two attempts to connect.
RETRY = 0.02


class ServerProcess:
    """The process that keeps a store, started here; it ends some seconds after this object or process does.

    Raises
    ------
    DistNetworkError
        When the port is taken.
    """

    def __init__(self, host: str, port: int) -> None:
        command = [sys.executable, "-I", "-S", str(Path(server.__file__)), host, str(port)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/" if os.name == "posix" else None,
            start_new_session=True,  # Ctrl-C in the terminal is for the ranks: this one has to tell who died of it
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline().decode().split(maxsplit=2)
        if len(said) != 1:
            self.close()
            code, reason = (said[1], said[2].strip()) if len(said) == 3 else ("?", "it ended at once")
            name = errno.errorcode.get(int(code), code) if code.isdigit() else code
            raise DistNetworkError(
                "The server socket has failed to listen on any local network address. "
                f"port: {port}, useIpv6: false, code: -{code}, name: {name}, message: {reason.lower()}"
            )
        self.port = int(said[0])
        os.register_at_fork(after_in_child=self._let_go)

    def _let_go(self) -> None:
        """In a forked child: the pipe is the parent's, and is to end with it."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            os.close(self._process.stdin.fileno())

    def close(self) -> None:
        """Say that the owner is gone; the process stays for those who are still connected, for some seconds."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.returncode = 0  # it outlives this object; nobody waits for it, and `Popen` is not to warn

    def __del__(self) -> None:
        if hasattr(self, "_process") and self._process.returncode is None:
            self.close()


class Client:
    """One connection to the process behind a store. Threads take turns; who waits has the others wait."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.host, self.port = host, port
        self._lock = threading.Lock()
        self.socket = _connected(host, port, seconds)

    def ask(self, *request: bytes) -> list[bytes]:
        """Send a request; the fields of the answer."""
        with self._lock:
            try:
                self.socket.sendall(server.join(*request))
                return self.read()
            except OSError as error:
                raise DistNetworkError(
                    f"the connection to the store at {self.host}:{self.port} broke: {error}. Connection was likely "
                    "closed. Did the remote server shutdown or crash?"
                ) from error

    def read(self) -> list[bytes]:
        """The fields of the next frame."""
        (length,) = server.LENGTH.unpack(self._exactly(4))
        return server.split(self._exactly(length))

    def _exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self.socket.recv(count - len(parts))
            if not part:
                raise DistNetworkError(
                    "Failed to recv, got 0 bytes. Connection was likely closed. "
                    "Did the remote server shutdown or crash?"
                )
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """End the connection."""
        self.socket.close()


def _connected(host: str, port: int, seconds: float) -> socket.socket:
    """A connection, tried until the time is over: who serves may come later than who asks."""
    end = time.monotonic() + seconds
    while True:
        try:
            made = socket.create_connection((host, port), max(0.1, end - time.monotonic()))
        except OSError as error:
            if time.monotonic() + RETRY >= end:
                raise DistNetworkError(
                    f"The client socket has timed out after {round(seconds * 1000)}ms while trying to connect to "
                    f"({host}, {port}). Last error: {error}"
                ) from error
            time.sleep(RETRY)
            continue
        if made.getsockname() == made.getpeername():  # TCP connects a port to itself where nobody listens
            made.close()
            continue
        made.settimeout(None)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return made


class TCPStore(Store):
    """A store that processes on several machines share.

    Parameters
    ----------
    host_name, port
        Where it is served; port 0 on the master takes a free one.
    world_size
        How many processes will use it, for `wait_for_workers`.
    is_master
        Whether to serve it from here: by a process of its own, which outlives this one by some seconds, so that it can
        tell the others what became of it.
    timeout
        How long to try to connect, and the timeout of `get` and `wait`.
    wait_for_workers
        Whether to wait until `world_size` processes have connected.
    multi_tenant
        Whether a store that this process serves at that port already is used again.
    use_libuv
        PyTorch's choice between two servers; there is one here, which serves either.

    Raises
    ------
    DistNetworkError
        When the port is taken, or nobody serves it in time.
    DistStoreError
        When the others do not come in time.
    """

    _served: dict[tuple[str, int], ServerProcess] = {}

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        if master_listen_fd is not None:
            raise NotImplementedError(
                "TCPStore(master_listen_fd=...) is not supported by mindtorch: another process listens. Give a port"
            )
        self._timeout = timeout
        self._server: ServerProcess | None = None
        if is_master:
            self._server = self._served.get((host_name, port)) if multi_tenant else None
            if self._server is None:
                self._server = ServerProcess("::" if ":" in host_name else "0.0.0.0", port)
                port = self._server.port
                if multi_tenant:
                    self._served[host_name, port] = self._server
            port = self._server.port
        self._client = Client(host_name, port, timeout.total_seconds())
        if wait_for_workers and world_size is not None and world_size > 0:
            self._wait_for_workers(world_size)

    def _wait_for_workers(self, world_size: int) -> None:
        come, end = self.add("init/", 1), time.monotonic() + self.timeout.total_seconds()
        while come < world_size and self._server is not None:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {self.timeout.total_seconds():.0f} seconds waiting for clients. "
                    f"{come}/{world_size} clients joined."
                )
            time.sleep(RETRY)
            come = self.add("init/", 0)

    @property
    def host(self) -> str:
        """Where it is served."""
        return self._client.host

    @property
    def port(self) -> int:
        """The port at which it is served."""
        return self._client.port

    @property
    def libuvBackend(self) -> bool:
        """Whether one server answers all connections from one thread; it does."""
        return True

    def __repr__(self) -> str:
        return f"TCPStore(client={self.host}:{self.port}, server={self._server is not None})"

    def _milliseconds(self, timeout: timedelta | None = None) -> bytes:
        return str(round((self.timeout if timeout is None else timeout).total_seconds() * 1000)).encode()

    def _ask(self, operation: bytes, *fields: bytes) -> list[bytes]:
        status, *values = self._client.ask(operation, *fields)
        if status == b"timeout":
            keys = ", ".join("/" + key.decode() for key in fields[1:])
            raise DistStoreError(f"wait timeout after {int(fields[0])}ms, keys: {keys}")
        if status == b"empty":
            raise QueueEmptyError("queue is empty")
        return values

    def set(self, key: str, value: str | bytes) -> None:
        self._ask(b"set", key.encode(), to_bytes(value))

    def get(self, key: str) -> bytes:
        return self._ask(b"get", self._milliseconds(), key.encode())[0]

    def add(self, key: str, amount: int) -> int:
        return int(self._ask(b"add", key.encode(), str(amount).encode())[0])

    def check(self, keys: Sequence[str]) -> bool:
        return self._ask(b"check", *(key.encode() for key in keys))[0] == b"1"

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._ask(b"wait", self._milliseconds(timeout), *(key.encode() for key in keys))

    def delete_key(self, key: str) -> bool:
        return self._ask(b"delete", key.encode())[0] == b"1"

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self._ask(b"compare_set", key.encode(), to_bytes(expected), to_bytes(desired))[0]

    def num_keys(self) -> int:
        return len(self._ask(b"keys"))

    def list_keys(self) -> list[str]:
        return [key.decode() for key in self._ask(b"keys")]

    def append(self, key: str, value: str | bytes) -> None:
        self._ask(b"append", key.encode(), to_bytes(value))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._ask(b"get", self._milliseconds(), *(key.encode() for key in keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        pairs = [field for key, value in zip(keys, values, strict=True) for field in (key.encode(), to_bytes(value))]
        self._ask(b"multi_set", *pairs)

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._ask(b"queue_push", key.encode(), to_bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        return self._ask(b"queue_pop", self._milliseconds() if block else b"-1", key.encode())[0]

    def queue_len(self, key: str) -> int:
        return int(self._ask(b"queue_len", key.encode())[0])

    def clone(self) -> TCPStore:
        return TCPStore(self.host, self.port, None, False, self.timeout, wait_for_workers=False)
