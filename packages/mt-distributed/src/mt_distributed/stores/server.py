"""The process behind a `TCPStore`: keys and values, who is alive, and the wire-up of MPI, all on one port.

It stands in a process of its own, so that the death of any rank, the first included, is told to the others, and so that
it answers while a rank is inside of ``MPI_Init``. It needs the standard library alone and is run by its path, which
takes some 20 ms: ``python -I -S server.py HOST PORT``. The port is printed once it listens. Standard input is a pipe
from the owner: when that ends, nobody new is taken in, and the process ends when the last connection does, or after
`LINGER`.

Two protocols come over the port, told apart by their first bytes. Lines that begin with ``cmd=`` or ``mcmd=`` are
PMI-1, by which MPICH's processes find one another. All else are frames: a length of 4 bytes, then fields, each with its
length.
"""

from __future__ import annotations

import contextlib
import glob
import os
import selectors
import socket
import struct
import sys
import time
from collections import deque

__all__ = ["Server", "join", "split"]

LENGTH = struct.Struct(">I")
#: Seconds that the process stays for those still connected when its owner is gone.
LINGER = 5.0


def join(*fields: bytes) -> bytes:
    """One frame of fields."""
    body = b"".join(LENGTH.pack(len(field)) + field for field in fields)
    return LENGTH.pack(len(body)) + body


def split(body: bytes) -> list[bytes]:
    """The fields of a frame without its length."""
    fields, at = [], 0
    while at < len(body):
        (length,) = LENGTH.unpack_from(body, at)
        fields.append(body[at + 4 : at + 4 + length])
        at += 4 + length
    return fields


class Connection:
    """One client: what it sent and was not read yet, what it is to get, and what it waits for."""

    def __init__(self, server: Server, sock: socket.socket) -> None:
        self.server, self.sock = server, sock
        self.incoming, self.outgoing = bytearray(), bytearray()
        self.member: tuple[bytes, bytes, bytes, bytes] | None = None  # scope, rank, host, process id
        self.is_pmi = False
        self.is_library = False  # whether MPICH connected itself, and nobody looks after it while it waits

    def send(self, data: bytes) -> None:
        """Send as much as goes at once, and the rest when there is room."""
        self.outgoing += data
        self.flush()

    def flush(self) -> None:
        """Send what is due."""
        try:
            while self.outgoing:
                sent = self.sock.send(self.outgoing)
                del self.outgoing[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self.outgoing.clear()  # the end of the connection is read next
        writing = selectors.EVENT_WRITE if self.outgoing else 0
        if self in self.server.connections:
            self.server.selector.modify(self.sock, selectors.EVENT_READ | writing, self)

    def read(self) -> bool:
        """Take in what came and carry it out; False at the end of the connection."""
        try:
            data = self.sock.recv(1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.incoming += data
        if not self.is_pmi and bytes(self.incoming[:4]) in (b"cmd=", b"mcmd"):
            self.is_pmi = True
        if self.is_pmi:
            while b"\n" in self.incoming:
                line, _, rest = bytes(self.incoming).partition(b"\n")
                self.incoming[:] = rest
                self.server.wire_up.carry_out(self, line.decode())
        else:
            while len(self.incoming) >= 4:
                (length,) = LENGTH.unpack_from(self.incoming)
                if len(self.incoming) < 4 + length:
                    break
                body = bytes(self.incoming[4 : 4 + length])
                del self.incoming[: 4 + length]
                self.server.carry_out(self, split(body))
        return bool(data)


class WireUp:
    """PMI-1, as far as MPICH's processes ask for it: a board of keys, and barriers."""

    def __init__(self) -> None:
        self.size = 0
        # MPICH calls its shared memory after this: two worlds of one name would take each other's.
        self.name = f"mt_{os.getpid()}_{time.time_ns()}"
        self.board: dict[str, str] = {}
        self.waiting: list[Connection] = []
        self.users: set[Connection] = set()

    def carry_out(self, connection: Connection, line: str) -> None:
        """Answer one line."""
        self.users.add(connection)
        given = dict(part.split("=", 1) for part in line.split() if "=" in part)
        command = given.get("cmd") or given.get("mcmd")

        def say(**answer: object) -> None:
            connection.send((" ".join(f"{key}={value}" for key, value in answer.items()) + "\n").encode())

        if command == "init":
            say(cmd="response_to_init", pmi_version=1, pmi_subversion=1, rc=0)
        elif command == "initack":
            connection.is_library = True
            say(cmd="initack")
            say(cmd="set", size=self.size)
            say(cmd="set", rank=given["pmiid"])
            say(cmd="set", debug=0)
        elif command == "get_maxes":
            say(cmd="maxes", kvsname_max=256, keylen_max=64, vallen_max=4096)
        elif command == "get_appnum":
            say(cmd="appnum", appnum=0)
        elif command == "get_universe_size":
            say(cmd="universe_size", size=self.size)
        elif command == "get_my_kvsname":
            say(cmd="my_kvsname", kvsname=self.name)
        elif command == "put":
            self.board[given["key"]] = line.split("value=", 1)[1]
            say(cmd="put_result", rc=0, msg="success")
        elif command == "get":
            value = self.board.get(given["key"])
            if value is None:
                say(cmd="get_result", rc=-1, msg="key_not_found", value="unknown")
            else:
                say(cmd="get_result", rc=0, msg="success", value=value)
        elif command == "barrier_in":
            self.waiting.append(connection)
            if len(self.waiting) == self.size:
                waiting, self.waiting = self.waiting, []
                for waiter in waiting:
                    waiter.send(b"cmd=barrier_out\n")
        elif command == "finalize":
            say(cmd="finalize_ack")
        else:
            say(cmd=command, rc=-1, msg="unknown")

    def forget_shared_memory(self) -> None:
        """Remove names of shared memory here that ranks killed inside of ``MPI_Init`` did not come to remove.

        MPICH makes them of the world's name by the hash FNV-1a, and of a number.
        """
        value = 0x811C9DC5
        for byte in self.name.encode():
            value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
        for path in glob.glob(f"/dev/shm/mpich_shm_{value:x}_*"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def lose(self, connection: Connection) -> list[Connection]:
        """Forget a user; those who wait in a barrier that cannot end any more, and hear of it in no other way."""
        self.users.discard(connection)
        waiting = [waiter for waiter in self.waiting if waiter is not connection]
        self.waiting = [waiter for waiter in waiting if not waiter.is_library]
        if not self.users:
            self.board.clear()
        return [waiter for waiter in waiting if waiter.is_library]


class Server:
    """All state of one store.

    Parameters
    ----------
    listener
        A socket that listens.
    """

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.values: dict[bytes, bytes] = {}
        self.queues: dict[bytes, deque[bytes]] = {}
        self.parked: list[tuple[float, Connection, list[bytes]]] = []
        self.gone: dict[bytes, list[bytes]] = {}  # scope -> frames about members that are no more
        self.connections: set[Connection] = set()
        self.wire_up = WireUp()
        self.selector = selectors.DefaultSelector()
        listener.setblocking(False)
        self.selector.register(listener, selectors.EVENT_READ, None)
        self.owner_left: float | None = None

    def run(self, owner: int | None = None) -> None:
        """Serve until the owner has ended, and everyone else, or until `LINGER` has passed since."""
        if owner is not None:
            self.selector.register(owner, selectors.EVENT_READ, "owner")
        while self.owner_left is None or (self.connections and time.monotonic() < self.owner_left + LINGER):
            for key, events in self.selector.select(self._until_next()):
                if key.data is None:
                    self._accept()
                elif key.data == "owner":
                    self.selector.unregister(key.fileobj)
                    self.selector.unregister(self.listener)
                    self.listener.close()
                    self.owner_left = time.monotonic()
                elif key.data in self.connections:
                    self._serve(key.data, events)
            self._expire()
        self.wire_up.forget_shared_memory()

    def _until_next(self) -> float | None:
        due = min((deadline for deadline, _, _ in self.parked), default=None)
        if self.owner_left is not None:
            due = min(self.owner_left + LINGER, due if due is not None else float("inf"))
        return None if due is None else max(0.0, due - time.monotonic())

    def _accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection = Connection(self, sock)
        self.connections.add(connection)
        self.selector.register(sock, selectors.EVENT_READ, connection)

    def _serve(self, connection: Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            connection.flush()
        if events & selectors.EVENT_READ and not connection.read():
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        self.connections.discard(connection)
        self.selector.unregister(connection.sock)
        connection.sock.close()
        self.parked = [entry for entry in self.parked if entry[1] is not connection]
        if connection.is_pmi:
            for doomed in self.wire_up.lose(connection):
                self._drop(doomed)
        if connection.member is not None:
            self._tell(b"lost", connection.member)

    def _tell(self, what: bytes, member: tuple[bytes, bytes, bytes, bytes]) -> None:
        """Tell everyone in a member's scope, now and later, what became of it."""
        scope, *who = member
        frame = join(what, *who)
        self.gone.setdefault(scope, []).append(frame)
        for other in list(self.connections):
            if other.member is not None and other.member[0] == scope:
                other.send(frame)

    def _expire(self) -> None:
        now = time.monotonic()
        late = [entry for entry in self.parked if entry[0] <= now]
        self.parked = [entry for entry in self.parked if entry[0] > now]
        for _, connection, request in late:
            missing = [key for key in request[2:] if not self._has(key)]
            connection.send(join(b"timeout", *missing))

    def _has(self, key: bytes) -> bool:
        return key in self.values or bool(self.queues.get(key))

    def _park(self, connection: Connection, request: list[bytes]) -> None:
        """Put a request aside that cannot be answered yet; its second field is the time to wait, in milliseconds."""
        self.parked.append((time.monotonic() + int(request[1]) / 1000, connection, request))

    def _wake(self, *keys: bytes) -> None:
        """Try again what waits for a key."""
        ready = [entry for entry in self.parked if any(key in entry[2][2:] for key in keys)]
        self.parked = [entry for entry in self.parked if entry not in ready]
        for deadline, connection, request in ready:
            answer = self._answer(request)
            if answer is None:
                self.parked.append((deadline, connection, request))
            else:
                connection.send(answer)

    def carry_out(self, connection: Connection, request: list[bytes]) -> None:
        """Answer a request, or put it aside."""
        operation = request[0]
        if operation == b"member":
            connection.member = (request[1], request[2], request[3], request[4])
            connection.send(join(b"ok") + b"".join(self.gone.get(request[1], [])))
        elif operation == b"bye":
            member, connection.member = connection.member, None
            if member is not None:
                self._tell(b"left", member)
            connection.send(join(b"ok"))
        else:
            answer = self._answer(request)
            if answer is None:
                self._park(connection, request)
            else:
                connection.send(answer)

    def _answer(self, request: list[bytes]) -> bytes | None:
        """The answer to a request; None where it has to wait."""
        return getattr(self, "_on_" + request[0].decode())(*request[1:])

    def _on_set(self, key: bytes, value: bytes) -> bytes:
        self.values[key] = value
        self._wake(key)
        return join(b"ok")

    def _on_multi_set(self, *pairs: bytes) -> bytes:
        self.values.update(zip(pairs[::2], pairs[1::2]))
        self._wake(*pairs[::2])
        return join(b"ok")

    def _on_get(self, milliseconds: bytes, *keys: bytes) -> bytes | None:
        if not all(key in self.values for key in keys):
            return None
        return join(b"ok", *(self.values[key] for key in keys))

    def _on_wait(self, milliseconds: bytes, *keys: bytes) -> bytes | None:
        return join(b"ok") if all(self._has(key) for key in keys) else None

    def _on_check(self, *keys: bytes) -> bytes:
        return join(b"ok", b"1" if all(self._has(key) for key in keys) else b"0")

    def _on_add(self, key: bytes, amount: bytes) -> bytes:
        self.values[key] = str(int(self.values.get(key, b"0")) + int(amount)).encode()
        self._wake(key)
        return join(b"ok", self.values[key])

    def _on_append(self, key: bytes, value: bytes) -> bytes:
        self.values[key] = self.values.get(key, b"") + value
        self._wake(key)
        return join(b"ok")

    def _on_compare_set(self, key: bytes, expected: bytes, desired: bytes) -> bytes:
        present = self.values.get(key)
        if present is None and expected != b"":
            return join(b"ok", expected)
        if present is None or present == expected:
            self.values[key] = desired
            self._wake(key)
        return join(b"ok", self.values[key])

    def _on_delete(self, key: bytes) -> bytes:
        return join(b"ok", b"1" if self.values.pop(key, None) is not None else b"0")

    def _on_keys(self) -> bytes:
        return join(b"ok", *self.values)

    def _on_queue_push(self, key: bytes, value: bytes) -> bytes:
        self.queues.setdefault(key, deque()).append(value)
        self._wake(key)
        return join(b"ok")

    def _on_queue_pop(self, milliseconds: bytes, key: bytes) -> bytes | None:
        queue = self.queues.get(key)
        if queue:
            return join(b"ok", queue.popleft())
        return None if int(milliseconds) >= 0 else join(b"empty")

    def _on_queue_len(self, key: bytes) -> bytes:
        return join(b"ok", str(len(self.queues.get(key, ()))).encode())

    def _on_world(self, size: bytes) -> bytes:
        self.wire_up.size = int(size)
        return join(b"ok")


def main(host: str, port: int) -> None:
    """Listen, say at which port, and serve until the owner is gone."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        print(f"error {error.errno} {error.strerror}", flush=True)
        raise SystemExit(1) from None
    print(listener.getsockname()[1], flush=True)
    Server(listener).run(sys.stdin.fileno())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
