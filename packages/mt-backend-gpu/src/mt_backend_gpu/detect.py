"""Whether CuPy and a CUDA device are there; if not, why, and what to do about it."""

from __future__ import annotations

import ctypes.util
import importlib.util
import sys
from typing import NamedTuple

__all__ = ["Missing", "what_is_missing"]

_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
_INSTALL = "pip install cupy-cuda13x (or cupy-cuda12x, by the CUDA version that `nvidia-smi` shows)"


class Missing(NamedTuple):
    """What keeps the device from being used; sentences without their full stop."""

    reason: str
    remedy: str


def what_is_missing() -> Missing | None:
    """The first thing that is missing: CuPy, the kernels of mt-backend-cpu, a driver, a device; None where all are."""
    if "cupy" not in sys.modules and importlib.util.find_spec("cupy") is None:
        return Missing("CuPy is not installed, on which mt-backend-gpu stands", f"Run {_INSTALL}")
    if importlib.util.find_spec("mt_backend_cpu") is None:
        return Missing("mt-backend-cpu is not installed, whose kernels run on CuPy's arrays", "Install mt-backend-cpu")
    try:
        import cupy
    except ImportError as error:
        return Missing(f"CuPy cannot be imported: {error}", f"Repair it: {_INSTALL}")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return _without_device(str(error))
    return None if count else Missing("no CUDA device is visible", "See `nvidia-smi` and CUDA_VISIBLE_DEVICES")


def _without_device(said: str) -> Missing:
    if not has_driver():
        return Missing("no NVIDIA driver is installed", "Install the driver of the GPU; `nvidia-smi` must list it")
    return Missing(
        f"CUDA finds no device ({said})", "See `nvidia-smi` and CUDA_VISIBLE_DEVICES, and the driver's version"
    )


def has_driver() -> bool:
    """Whether the driver's library can be loaded."""
    if ctypes.util.find_library("cuda") is not None:
        return True
    for name in _DRIVERS:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
