"""The library of collectives over MPI: whether there is one, and its communicators."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Callable

from mt_core.plugins.protocols import CONTRACT

from ..backends import NOT_HERE
from ..contract import Communicator
from ..errors import DistBackendError
from ..lifeline import Lifeline
from ..stores import Store
from .alone import Alone

__all__ = ["MPICollectives"]


class MPICollectives:
    """MPI by mpi4py, for arrays of the host."""

    contract = CONTRACT
    devices = ("cpu",)

    def why_not(self) -> str | None:
        """Why there is no MPI here, and what to do; None where there is."""
        if importlib.util.find_spec("mpi4py") is None:
            if sys.platform == "win32":
                return f"mpi4py is not installed, and there is no wheel of MPICH for {platform.platform()}"
            return "mpi4py is not installed: pip install mpi4py mpich"
        return None

    def diagnose(self) -> list[tuple[str, str]]:
        """What serves the backends, which PyTorch serves by Gloo and by MPI; for `mindtorch doctor`."""
        reason = self.why_not()
        if reason is not None:
            return [("served by", f"nothing but groups of one process: {reason}")]
        version = importlib.metadata.version("mpi4py")
        return [("served by", f"MPI, by mpi4py {version}; `gloo` is a name for it, Gloo itself is not used")]

    def elsewhere(self) -> dict[str, str]:
        """Backends that have a name in PyTorch and are not served: who is to bring them; for `mindtorch doctor`."""
        return {name: NOT_HERE[name] for name in ("nccl", "hccl")}

    def connect(
        self, store: Store, rank: int, size: int, *, lifeline: Lifeline | None, deadline: float
    ) -> Communicator:
        """The communicator of all ranks.

        Raises
        ------
        DistBackendError
            Where there is no MPI, or the others do not come in time.
        """
        if size == 1:
            return Alone()
        reason = self.why_not()
        if reason is not None:
            raise DistBackendError(f"a group of {size} processes needs MPI, and {reason}. A group of one process works")
        from .wire_up import world  # lazy: it is for many processes

        assert lifeline is not None
        comm = world(store, rank, size, lifeline, deadline)
        from .communicator import MPICommunicator  # lazy: MPI must not be loaded before the world is set up

        return MPICommunicator(comm)

    def launched(self) -> tuple[int, int] | None:
        """This process's rank and the number of processes where mpiexec started them, else None."""
        from .wire_up import launched_by_mpiexec  # lazy: the wire-up is for many processes

        return launched_by_mpiexec()

    def sharer(self) -> Callable[[str | None], str]:
        """What gives every process that mpiexec started what the first has: they share nothing else yet."""
        from .wire_up import share_by_mpi  # lazy: it needs mpi4py

        return share_by_mpi
