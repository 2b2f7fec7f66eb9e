"""mpi4py's ``MPI``, imported without starting MPI: whoever imports it alone is not to become a world of one process."""

from __future__ import annotations

import mpi4py

mpi4py.rc.initialize = mpi4py.rc.finalize = False

from mpi4py import MPI as MPI  # noqa: E402 - after the settings that it reads

__all__ = ["MPI"]
