"""How processes that nobody started as MPI's join one MPI world, and those that mpiexec started use theirs.

MPICH's processes find one another by PMI-1: lines over TCP to whoever started them. The process behind the store
answers these (`mt_distributed.stores.server`), so that ``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR`` and ``MASTER_PORT``
are enough. Only MPICH speaks PMI-1 over TCP; any MPI serves under its own mpiexec.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import DistBackendError
from ..lifeline import Lifeline
from ..polling import poll
from ..stores import Store
from ..work import GRACE, NEWS
from .wire import Wire

__all__ = ["fail", "in_thread", "launched_by_mpiexec", "made", "share_by_mpi", "world"]

#: Variables by which mpiexec says who a process is: rank and size, of MPICH, Open MPI, and Slurm's PMIx.
_LAUNCHERS = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMIX_RANK", "PMIX_SIZE"))
_OWN = (
    "MT_DISTRIBUTED_PMI"  # said to children, for which these variables are not: they are of the process that set them
)


class _World:
    """MPI's world in this process: it can be joined once."""

    def __init__(self) -> None:
        self.comm: Any = None
        self.wire: Wire | None = None
        self.is_from_mpiexec = False
        self.has_failed = False


_joined = _World()


def launched_by_mpiexec() -> tuple[int, int] | None:
    """Rank and size from the variables of mpiexec; None where it did not start this process."""
    if os.environ.get(_OWN):
        return None
    for rank, size in _LAUNCHERS:
        if rank in os.environ and size in os.environ:
            return int(os.environ[rank]), int(os.environ[size])
    return None


def world(store: Store, rank: int, size: int, lifeline: Lifeline, deadline: float) -> Any:
    """A communicator (of mpi4py) of all ranks, apart from all others.

    Raises
    ------
    DistBackendError
        When not all come in time, or this process belongs to another world already.
    """
    others = tuple(other for other in range(size) if other != rank)

    left_at: float | None = None

    def name_the_dead() -> None:
        nonlocal left_at
        lost = lifeline.lost(others)
        if lost and left_at is None:
            left_at = time.monotonic()
        # One that left with a farewell may have done its part before.
        if lost and (not all(one.announced for one in lost) or time.monotonic() > (left_at or 0.0) + GRACE):
            raise DistBackendError(f"{'; '.join(map(str, lost))} while MPI was set up")

    def check() -> None:
        name_the_dead()
        wire = _joined.wire
        if _joined.comm is None and wire is not None and wire.broken is not None:
            raise ConnectionError(f"the connection to the store broke: {wire.broken}")
        if time.monotonic() > deadline:
            late = [str(other) for other in others if not store.check([f"mpi/begun/{other}"])]
            who = (
                f"{'rank' if len(late) == 1 else 'ranks'} {', '.join(late)} did not come to it" if late else "all came"
            )
            raise DistBackendError(f"MPI was not set up in time on rank {rank}: {who}")

    try:
        return _set_up(store, rank, size, lifeline, check)
    except DistBackendError:
        raise
    except (OSError, RuntimeError) as error:  # the wire's, the store's, or MPI's: a death may be why
        until = time.monotonic() + NEWS
        while time.monotonic() < until:
            name_the_dead()
            time.sleep(0.01)
        raise DistBackendError(f"MPI could not be set up on rank {rank}: {error}") from error


def _set_up(store: Store, rank: int, size: int, lifeline: Lifeline, check: Callable[[], None]) -> Any:
    store.set(f"mpi/begun/{rank}", "1")
    if _joined.comm is None:
        mpiexec = launched_by_mpiexec()
        if mpiexec is None:
            _join_by_store(store, rank, size, lifeline, check)
        else:
            _join(check)
            _joined.is_from_mpiexec = True
    comm = _joined.comm
    if _joined.has_failed:
        raise DistBackendError("an operation failed in this process before: MPI cannot be used again. Start it anew")
    if (comm.rank, comm.size) != (rank, size):
        raise DistBackendError(
            f"this process is rank {comm.rank} of the {comm.size} of MPI's world, which it can join once, and was "
            f"to be rank {rank} of {size}: start the processes anew for another world"
        )
    return made(comm.Dup, check)


def made(make: Callable[[], Any], check: Callable[[], None]) -> Any:
    """A new communicator, once all of its ranks have it; what it left in the file system is gone."""
    comm = in_thread(make, check)
    arrived = comm.Ibarrier()
    poll(arrived.Test, check)
    _unlink_shared_memory()
    return comm


def _unlink_shared_memory() -> None:
    """Remove the names of MPICH's shared memory, which all ranks have by now: one that is killed leaves none."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    for line in maps.read_text().splitlines():
        name = line.split(maxsplit=5)[-1]
        if name.startswith("/dev/shm/mpich_shm_"):
            Path(name).unlink(missing_ok=True)


def _join_by_store(store: Store, rank: int, size: int, lifeline: Lifeline, check: Callable[[], None]) -> None:
    host, port = lifeline.address
    if rank == 0:
        lifeline.ask(b"world", str(size).encode())
        store.set("mpi/served", "1")
    poll(lambda: store.check(["mpi/served"]), check)
    kept = {name: os.environ.pop(name, None) for name in ("PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE", "PMI_FD")}
    os.environ.update(PMI_RANK=str(rank), PMI_SIZE=str(size))
    if _holds_lock():
        os.environ.update(PMI_PORT=f"{host}:{port}", PMI_ID=str(rank))
    else:
        _joined.wire = Wire(host, port)
        os.environ.update(PMI_FD=str(_joined.wire.descriptor))
    try:
        _join(check)
    finally:  # a process started by this one is not to take itself for this rank
        if _joined.wire is not None:
            # Where this is given up, the library may be about to read these: without them it were a world of its own.
            _joined.wire.begun.wait(NEWS)
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _holds_lock() -> bool:
    """Whether no other thread runs during ``MPI_Init_thread``: none can hand on then what MPICH says on its wire."""
    return _library(_mpi().__file__) is None


def _mpi() -> Any:
    if importlib.util.find_spec("mpi4py") is None:
        raise DistBackendError("mpi4py is not installed: pip install mpi4py mpich")
    from .unstarted import MPI  # optional: only processes that join a world need it

    return MPI


def _join(check: Callable[[], None]) -> None:
    MPI = _mpi()
    if not MPI.Is_initialized():
        in_thread(_initialize(MPI), check)
    elif launched_by_mpiexec() is None:
        raise DistBackendError(
            "MPI was started in this process before init_process_group, as a world of its own: call init_process_group "
            "before `from mpi4py import MPI`, or start the processes by mpiexec"
        )
    _joined.comm = MPI.COMM_WORLD
    _joined.comm.Set_errhandler(MPI.ERRORS_RETURN)
    MPI.COMM_SELF.Set_errhandler(MPI.ERRORS_RETURN)
    atexit.register(_leave)


def _initialize(MPI: Any) -> Callable[[], None]:
    """``MPI_Init_thread`` without Python's lock, which mpi4py holds during it: other threads see deaths meanwhile."""
    library = _library(MPI.__file__)
    if library is None:
        return lambda: MPI.Init_thread(MPI.THREAD_MULTIPLE)

    def initialize() -> None:
        provided = ctypes.c_int()
        code = library.MPI_Init_thread(None, None, ctypes.c_int(MPI.THREAD_MULTIPLE), ctypes.byref(provided))
        if code != 0:
            raise DistBackendError(f"MPI_Init_thread failed with code {code}")

    return initialize


def _library(extension: str) -> ctypes.CDLL | None:
    """The MPI library that mpi4py's extension module was linked with, if it can be told."""
    if not sys.platform.startswith("linux"):
        return None
    linked = ctypes.CDLL(extension)
    return linked if hasattr(linked, "MPI_Init_thread") else None


def in_thread(call: Callable[[], Any], check: Callable[[], None]) -> Any:
    """The result of what may block, called in a thread of its own, so that `check` can give it up."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread that waits
            outcome.append((None, error))

    threading.Thread(target=run, name="mt-distributed blocking call", daemon=True).start()
    try:
        poll(lambda: bool(outcome), check)
    except BaseException:
        _joined.has_failed = True
        raise
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def fail() -> None:
    """Something failed: this process leaves without a farewell to MPI, which would wait for others."""
    _joined.has_failed = True


def _leave() -> None:
    """At the end of the process: mpiexec is to hear of it; what the store wired up just ends, as others go on."""
    if _joined.is_from_mpiexec and not _joined.has_failed:
        from mpi4py import MPI  # optional: loaded before, when this was registered

        if not MPI.Is_finalized():
            MPI.Finalize()


def share_by_mpi(text: str | None) -> str:
    """Give every process of mpiexec's what the first has."""
    _join(lambda: None)
    _joined.is_from_mpiexec = True
    return _joined.comm.bcast(text)
