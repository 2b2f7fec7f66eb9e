"""``torch.functional``: functions of the top level that PyTorch defines here."""

from __future__ import annotations

import importlib
from typing import Any

import mt_core

_NAMES = frozenset(
    """
    align_tensors atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist
    chain_matmul einsum lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index
    """.split()
)


def __getattr__(name: str) -> Any:
    if name == "F":
        return importlib.import_module("mindtorch.nn.functional")
    if name in _NAMES and hasattr(mt_core, name):
        return getattr(mt_core, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(name for name in _NAMES if hasattr(mt_core, name))
