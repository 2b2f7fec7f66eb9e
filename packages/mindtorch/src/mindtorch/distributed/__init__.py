"""``torch.distributed``: what mt-distributed serves; without it, not available, and that is what it says."""

import importlib
from typing import Any

from mt_core.plugins.discovery import names_in
from mt_core.plugins.remedies import from_a_clone

from . import _groups
from ._groups import *  # noqa: F403 - what it lists is what PyTorch has here, too

__all__ = ["is_available", *_groups.__all__]


def is_available() -> bool:
    """Whether mt-distributed is installed, which serves this module."""
    return "gloo" in names_in("mindtorch.collectives")


if is_available():
    from mt_distributed.device_mesh import DeviceMesh as DeviceMesh
    from mt_distributed.device_mesh import init_device_mesh as init_device_mesh

    from ._groups import _coalescing_manager as _coalescing_manager
    from ._groups import _CoalescingManager as _CoalescingManager
    from ._groups import _rank_not_in_group as _rank_not_in_group

    #: Submodules that PyTorch imports with the package, loaded here when they are first asked for.
    _SUBMODULES = frozenset("algorithms constants device_mesh distributed_c10d rpc".split())

    def __getattr__(name: str) -> Any:
        if name in _SUBMODULES:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module 'torch.distributed' has no attribute '{name}'")

else:

    def __getattr__(name: str) -> Any:
        raise AttributeError(
            f"module 'torch.distributed' has no attribute '{name}': mt-distributed is not installed. To add it: "
            + from_a_clone("mt-distributed")
        )
