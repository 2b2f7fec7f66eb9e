"""Groups and collectives: mt-distributed's, or what answers and refuses where that is not installed."""

import os
from typing import Any, NoReturn

from mt_core.plugins.discovery import names_in
from mt_core.plugins.remedies import from_a_clone

from .._unsupported import refusal

if "gloo" in names_in("mindtorch.collectives"):
    from mt_distributed import distributed_c10d as _c10d
    from mt_distributed.distributed_c10d import *  # noqa: F403 - what it lists is what PyTorch has here, too
    from mt_distributed.distributed_c10d import _coalescing_manager as _coalescing_manager
    from mt_distributed.distributed_c10d import _CoalescingManager as _CoalescingManager
    from mt_distributed.distributed_c10d import _get_default_group as _get_default_group
    from mt_distributed.distributed_c10d import _rank_not_in_group as _rank_not_in_group
    from mt_distributed.distributed_c10d import _world as _world

    __all__ = list(_c10d.__all__)
else:
    __all__ = """get_rank get_world_size init_process_group is_gloo_available is_initialized is_mpi_available
        is_nccl_available is_torchelastic_launched is_ucc_available is_xccl_available""".split()

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
