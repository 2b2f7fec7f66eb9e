"""``torch.backends.cpu``: what the processor can do."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instruction set that NumPy's kernels chose, in PyTorch's words: "AVX512", "AVX2", "DEFAULT" or "NO AVX"."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return "DEFAULT"
    found: Any = np.show_config(mode="dicts")["SIMD Extensions"]
    features = {*found["baseline"], *found["found"]}
    if any(feature.startswith(("AVX512", "X86_V4")) for feature in features):
        return "AVX512"
    return "AVX2" if features & {"AVX2", "X86_V3"} else "NO AVX"
