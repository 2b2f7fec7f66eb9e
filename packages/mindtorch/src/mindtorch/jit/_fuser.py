"""Settings of PyTorch's compiler of TorchScript, of which there is none: those that choose between compilers raise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .._unsupported import unsupported_function

__all__ = ["fuser", "optimized_execution", "set_fusion_strategy"]

_REMEDY = "There is no compiler whose fusions could be chosen."
fuser = unsupported_function("torch.jit.fuser", _REMEDY)
set_fusion_strategy = unsupported_function("torch.jit.set_fusion_strategy", _REMEDY)


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Context manager in which PyTorch's compiler may or may not change how code runs; Python runs as it is."""
    yield
