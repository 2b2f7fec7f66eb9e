"""``torch.distributed``: what mt-distributed serves; without it, not available, and that is what it says."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from mt_core.plugins.discovery import names_in
from mt_core.plugins.remedies import from_a_clone

from .._unsupported import refusal

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether mt-distributed is installed, which serves this module."""
    return "gloo" in names_in("mindtorch.collectives")


if is_available():
    from mt_distributed import distributed_c10d as _c10d
    from mt_distributed.distributed_c10d import *  # noqa: F403 - what it lists is what PyTorch has here, too
    from mt_distributed.distributed_c10d import _coalescing_manager as _coalescing_manager
    from mt_distributed.distributed_c10d import _CoalescingManager as _CoalescingManager
    from mt_distributed.distributed_c10d import _rank_not_in_group as _rank_not_in_group

    __all__ += _c10d.__all__
else:

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
        """Not supported without mt-distributed: raises NotImplementedError."""
        raise refusal("torch.distributed.init_process_group", "Install it: " + from_a_clone("mt-distributed"))

    _NO_GROUP = "Default process group has not been initialized, please make sure to call init_process_group."

    def __getattr__(name: str) -> NoReturn:
        raise AttributeError(
            f"module 'torch.distributed' has no attribute '{name}': mt-distributed is not installed. To add it: "
            + from_a_clone("mt-distributed")
        )
