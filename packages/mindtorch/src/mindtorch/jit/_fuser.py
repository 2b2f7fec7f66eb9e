"""Settings of PyTorch's compiler of TorchScript, of which there is none: those that choose between compilers raise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .._unsupported import refusal, unsupported_function

__all__ = ["enable_onednn_fusion", "fuser", "onednn_fusion_enabled", "optimized_execution", "set_fusion_strategy"]

_REMEDY = "There is no compiler whose fusions could be chosen."
fuser = unsupported_function("torch.jit.fuser", _REMEDY)
set_fusion_strategy = unsupported_function("torch.jit.set_fusion_strategy", _REMEDY)


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Context manager in which PyTorch's compiler may or may not change how code runs; Python runs as it is."""
    yield


def enable_onednn_fusion(enabled: bool) -> None:
    """Have graphs of TorchScript fused by oneDNN, which is absent: this can only be declined.

    Raises
    ------
    NotImplementedError
        When it is asked for.
    """
    if enabled:
        raise refusal("torch.jit.enable_onednn_fusion", "There is no oneDNN.")


def onednn_fusion_enabled() -> bool:
    """Whether oneDNN fuses graphs of TorchScript."""
    return False
