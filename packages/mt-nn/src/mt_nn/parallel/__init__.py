"""Running a module on several devices, or on many processes."""

from __future__ import annotations

from typing import Any

from mt_core.plugins.remedies import from_a_clone
from mt_core.torch_names import resolve

from .data_parallel import DataParallel, data_parallel
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "data_parallel", "gather", "scatter"]


def __getattr__(name: str) -> Any:
    """`DistributedDataParallel`, where mt-distributed is installed: it gives the name to PyTorch's file names."""
    if name == "DistributedDataParallel":
        try:
            return resolve("torch.nn.parallel.distributed", name)
        except LookupError:
            raise AttributeError(
                f"module 'torch.nn.parallel' has no attribute '{name}': mt-distributed is not installed. To add it: "
                + from_a_clone("mt-distributed")
            ) from None
    raise AttributeError(f"module 'torch.nn.parallel' has no attribute '{name}'")
