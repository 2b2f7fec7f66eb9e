"""``torch.distributed``: not available, and that is what it says; other names are missing, as without it in PyTorch."""

import os
from typing import Any, NoReturn

from ._unsupported import refusal

__all__ = [
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
]
__path__: list[str] = []  # the file that PyTorch has below is this one, too

_NO_GROUP = "Default process group has not been initialized, please make sure to call init_process_group."


def is_available() -> bool:
    """Whether programs can be run on several processes."""
    return False


def is_initialized() -> bool:
    """Whether a process group has been made."""
    return False


def is_gloo_available() -> bool:
    """Whether Gloo can be used."""
    return False


def is_mpi_available() -> bool:
    """Whether MPI can be used."""
    return False


def is_nccl_available() -> bool:
    """Whether NCCL can be used."""
    return False


def is_ucc_available() -> bool:
    """Whether UCC can be used."""
    return False


def is_xccl_available() -> bool:
    """Whether XCCL can be used."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether ``torchelastic`` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_rank(group: Any = None) -> NoReturn:
    """The number of this process in a group: there is no group, raises ValueError."""
    raise ValueError(_NO_GROUP)


def get_world_size(group: Any = None) -> NoReturn:
    """How many processes are in a group: there is no group, raises ValueError."""
    raise ValueError(_NO_GROUP)


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Not supported: raises NotImplementedError."""
    raise refusal("torch.distributed.init_process_group", "Run the program as a single process.")


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}': it is not available with mindtorch")
