"""The launcher of one machine: starts its ranks, watches them, and starts all anew when one fails."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ..errors import DistError, DistNetworkError
from ..lifeline import Lifeline
from ..stores import PrefixStore, Store, TCPStore
from ..stores.tcp_store import ServerProcess
from .logs import Logs, Written
from .rounds import LATE, Round, Rounds, RoundsEnded

__all__ = ["Agent", "Failure", "Job"]

#: Seconds that ranks have to end after they were told to, before they are killed.
PATIENCE = 5.0


@dataclass
class Job:
    """What is to be started."""

    command: list[str]
    processes: int
    logs: Logs
    machines: int = 1
    #: The most, where machines may come and go; None where there are so many, and each has its number.
    most: int | None = None
    last_call: float = 30.0
    endpoint: str = ""
    machine: int | None = None
    name: str = "none"
    role: str = "default"
    restarts: int = 0
    interval: float = 0.1
    waiting: float = 600.0
    address: str | None = None
    port: int = 0


class Failure(RuntimeError):
    """A rank failed, and was not to be started again."""


class Agent:
    """The launcher of one machine; those of several agree by a store at the endpoint."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self._ranks: list[subprocess.Popen] = []
        self._written: list[Written] = []
        self._servers: list[ServerProcess] = []
        self._shared: Store | None = None
        self._lifeline: Lifeline | None = None
        self._machine = 0
        self._told: int | None = None
        self._rounds: Rounds | None = None
        self._round: Round | None = None

    def run(self) -> None:
        """Start all ranks and wait for them.

        Raises
        ------
        Failure
            When one failed for the last time; says which, and how it ended.
        """
        before = {one: signal.signal(one, self._note) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            if self.job.endpoint:
                self._meet()
            attempt = 0
            while True:
                failed = self._attempt(attempt)
                if failed is None:
                    return
                if self._told is not None:
                    raise Failure(f"the launcher was ended by {signal.Signals(self._told).name}")
                attempt += failed != LATE
                if attempt > self.job.restarts:
                    raise Failure(failed)
        except RoundsEnded as ended:
            raise Failure(str(ended)) from None
        finally:
            self._stop()
            for one, handler in before.items():
                signal.signal(one, handler)
            if self._lifeline is not None:
                self._lifeline.end()
            for server in self._servers:
                server.close()

    def _note(self, number: int, frame: Any) -> None:
        self._told = number

    # Machines.

    def _meet(self) -> None:
        """Serve the store at the endpoint, or connect to it; this machine's number."""
        host, _, text = self.job.endpoint.rpartition(":")
        host, port = host or self.job.endpoint, int(text or 29400)
        wait = timedelta(seconds=self.job.waiting)
        if self.job.machine in (None, 0) and _is_here(host):
            try:
                self._servers.append(ServerProcess("0.0.0.0", port))
            except DistNetworkError:
                if self.job.machine == 0:
                    raise
        self._shared = PrefixStore(f"torchrun/{self.job.name}", TCPStore(host, port, None, False, wait))
        number = self._shared.add("machines", 1) - 1
        self._machine = number if self.job.machine is None else self.job.machine
        if self.job.most is None and self._machine >= self.job.machines:
            raise Failure(f"{self.job.machines} machines are here already, and this is one more")
        self._lifeline = Lifeline(host, port, f"torchrun/{self.job.name}", self._machine, self.job.waiting)
        if self.job.most is not None:
            self._rounds = Rounds(
                self._shared, self._lifeline, number, self.job.machines, self.job.most, self.job.last_call,
                self.job.waiting,
            )  # fmt: skip

    def _agree(self, attempt: int) -> tuple[str, int, list[int]]:
        """Where the ranks' store of an attempt is, and how many ranks each machine has."""
        if self._shared is None:
            server = ServerProcess("0.0.0.0", self.job.port)
            self._servers.append(server)
            return "127.0.0.1", server.port, [self.job.processes]
        if self._rounds is not None:
            now = self._round = self._rounds.join(self.job.processes, self._serve)
            self._machine = now.place
            return now.host, now.port, list(now.counts)
        keys = [f"{attempt}/machine/{number}" for number in range(self.job.machines)]
        if self._machine == 0:
            host, port = self._serve()
            self._shared.set(f"{attempt}/served", f"{host} {port}")
        self._shared.set(keys[self._machine], str(self.job.processes))
        self._shared.wait([*keys, f"{attempt}/served"], timedelta(seconds=self.job.waiting))
        host, text = self._shared.get(f"{attempt}/served").decode().split()
        return host, int(text), [int(self._shared.get(key)) for key in keys]

    def _serve(self) -> tuple[str, int]:
        """Start the store of the ranks, on the first machine; where it is."""
        self._servers.append(ServerProcess("0.0.0.0", 0))
        host = self.job.address or self.job.endpoint.rpartition(":")[0]
        return host if self.job.address or _is_here(host) else socket.getfqdn(), self._servers[-1].port

    # Ranks.

    def _attempt(self, attempt: int) -> str | None:
        """Start all ranks once; None when all succeeded, else who failed and how."""
        owned = len(self._servers)
        host, port, counts = self._agree(attempt)
        first, size = sum(counts[: self._machine]), sum(counts)
        for local in range(self.job.processes):
            variables = self._variables(attempt, host, port, local, first + local, size, len(counts))
            written = self.job.logs.begin(self.job.name, attempt, local, self.job.role)
            self._written.append(written)
            self._ranks.append(subprocess.Popen(self.job.command, env={**os.environ, **variables}, **written.streams))
            written.started()
        failed = self._watch(attempt, first)
        self._stop()
        while len(self._servers) > owned:
            self._servers.pop().close()
        return failed

    def _variables(
        self, attempt: int, host: str, port: int, local: int, rank: int, size: int, machines: int
    ) -> dict[str, str]:
        given = {
            "LOCAL_RANK": local,
            "RANK": rank,
            "GROUP_RANK": self._machine,
            "ROLE_RANK": rank,
            "ROLE_NAME": self.job.role,
            "LOCAL_WORLD_SIZE": self.job.processes,
            "WORLD_SIZE": size,
            "GROUP_WORLD_SIZE": machines,
            "ROLE_WORLD_SIZE": size,
            "MASTER_ADDR": host,
            "MASTER_PORT": port,
            "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": self.job.restarts,
            "TORCHELASTIC_RUN_ID": self.job.name,
            "TORCHELASTIC_USE_AGENT_STORE": True,
        }
        if "OMP_NUM_THREADS" not in os.environ and self.job.processes > 1:
            given["OMP_NUM_THREADS"] = 1
        return {name: str(value) for name, value in given.items()}

    def _watch(self, attempt: int, first: int) -> str | None:
        """Wait until all ranks of all machines have ended well, or one has not."""
        is_done = False
        while True:
            states = [process.poll() for process in self._ranks]
            bad = [local for local, state in enumerate(states) if state]
            if bad:
                failed = _described(first + bad[0], bad[0], self._ranks[bad[0]], self._machine)
                return self._tell_failed(attempt, failed)
            if self._told is not None:
                return self._tell_failed(attempt, f"the launcher of machine {self._machine} was told to end")
            if all(state == 0 for state in states):
                if self._shared is None:
                    return None
                if not is_done:
                    self._tell_done(attempt)
                    is_done = True
            told = self._of_others(attempt)
            if told is not None:
                return told or None
            time.sleep(self.job.interval)

    def _tell_failed(self, attempt: int, failed: str) -> str:
        """Tell the other machines; what is said of the attempt, which may be what another said before."""
        if self._rounds is not None and self._round is not None:
            return self._rounds.end(self._round, failed)
        if self._shared is not None:
            self._shared.set(f"{attempt}/failed", failed)
        return failed

    def _tell_done(self, attempt: int) -> None:
        if self._rounds is not None and self._round is not None:
            self._rounds.done(self._round)
        elif self._shared is not None:
            self._shared.set(f"{attempt}/done/{self._machine}", "1")

    def _of_others(self, attempt: int) -> str | None:
        """Who failed on another machine, the empty text when all are done, None while there is nothing new."""
        if self._shared is None or self._lifeline is None:
            return None
        try:
            if self._rounds is not None and self._round is not None:
                return self._rounds.ended(self._round)
            if self._shared.check([f"{attempt}/failed"]):
                return self._shared.get(f"{attempt}/failed").decode()
            if self._shared.check([f"{attempt}/done/{number}" for number in range(self.job.machines)]):
                return ""
        except DistError as error:
            return f"the store of the launchers is gone: {error}"
        lost = [one for one in self._lifeline.departures.values() if not one.announced]
        return f"the launcher of machine {lost[0].rank} on {lost[0].host} died" if lost else None

    def _stop(self) -> None:
        """End what runs still: ask first, then kill."""
        for process in self._ranks:
            if process.poll() is None:
                process.terminate()
        end = time.monotonic() + PATIENCE
        for process in self._ranks:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._ranks.clear()
        for written in self._written:
            written.end()
        self._written.clear()


def _described(rank: int, local: int, process: subprocess.Popen, machine: int) -> str:
    status = process.returncode
    how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    return f"rank {rank} (local rank {local} of machine {machine}, {socket.gethostname()}, process {process.pid}) {how}"


def _is_here(host: str) -> bool:
    """Whether a host is this machine: whether one of its addresses can be listened at."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        with socket.socket(family, kind, protocol) as sock:
            try:
                sock.bind((address[0], 0))
            except OSError:
                continue
            return True
    return False
