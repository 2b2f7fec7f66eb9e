"""``torch.backends.cpu``: what the processor can do."""

import platform

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """The instruction set that NumPy's kernels chose, in PyTorch's words: "AVX512", "AVX2", "DEFAULT" or "NO AVX"."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return "DEFAULT"
    try:
        from numpy._core._multiarray_umath import __cpu_features__ as features
    except ImportError:  # NumPy 1.26
        from numpy.core._multiarray_umath import __cpu_features__ as features
    if features.get("AVX512_SKX"):
        return "AVX512"
    return "AVX2" if features.get("AVX2") else "NO AVX"
