"""What ``mindtorch doctor`` says about the device ``cuda``."""

from __future__ import annotations

import importlib.util
from typing import Any

import cupy

from .compiled import nvrtc
from .compiled.on_cupy import available
from .report import last_run

__all__ = ["lines"]

_api = cupy.cuda.runtime


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _device(index: int) -> str:
    found: dict[str, Any] = _api.getDeviceProperties(index)
    memory = found["totalGlobalMem"] / (1 << 30)
    return f"{found['name'].decode()}, compute capability {found['major']}.{found['minor']}, {memory:.1f} GiB"


def lines() -> list[tuple[str, str]]:
    """(what, state) pairs."""
    devices = [(f"device {i}", _device(i)) for i in range(_api.getDeviceCount())]
    cudnn = (
        "cudnn-frontend installed, not used yet"
        if importlib.util.find_spec("cudnn")
        else "not used: convolution is a matrix product"
    )
    return [
        *devices,
        ("driver", f"CUDA {_version(_api.driverGetVersion())}"),
        ("runtime", f"CUDA {_version(_api.runtimeGetVersion())}"),
        ("CuPy", cupy.__version__),
        ("cuDNN", cudnn),
        ("own kernels", "compiled at first use" if available() else f"not used: there is no NVRTC, {nvrtc.REMEDY}"),
        ("verified", last_run()),
    ]
