"""Collectives over MPI: what serves the backends ``mpi`` and ``gloo``."""

from .library import MPICollectives

__all__ = ["collectives"]

#: The value of the entry points ``gloo`` and ``mpi`` of ``mindtorch.collectives``.
collectives = MPICollectives()
