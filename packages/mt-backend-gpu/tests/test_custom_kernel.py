"""CUDA kernels of one's own, in a process of their own, on the stand-in for CuPy; the sources run on the CPU."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mt_backend_gpu.custom_kernel import CudaKernel
from mt_core.plugins.runtime_access import count_devices

HERE = Path(__file__).parent


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the CUDA sources with")
@pytest.mark.timeout(600)
def test_own_kernels() -> None:
    pytest.importorskip("mindtorch")
    done = subprocess.run([sys.executable, "own_kernels.py"], cwd=HERE, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.skipif(bool(count_devices("cuda")), reason="a CUDA device is here")
def test_without_a_device_kernels_say_so() -> None:
    kernel = CudaKernel('extern "C" __global__ void f() {}', "f", ())
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        kernel(1, 1)
