"""The backend on a strict stand-in for CuPy (`fake_cupy`), in a process of its own: no device and no CuPy is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytest.importorskip("mt_nn")


def run(*command: str) -> str:
    paths = [str(HERE / "on_device"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, *command], cwd=HERE, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.timeout(600)
def test_runtime_and_numbers() -> None:
    said = run("-m", "pytest", "-q", "-p", "stand_in", "-p", "no:cacheprovider", "on_device/check_runtime.py")
    assert " passed" in said and ", 1 skipped" in said  # DLPack


#: A part of the exam that every family of kernels takes part in; all of it is `./dev exam cuda --fake`.
OPERATORS = (
    "^(add|div|cumsum|amax|logsumexp|argmax|max.dim|index|index_put|scatter_add|gather|embedding|sort|topk|softmax|gelu|"
    "layer_norm|native_group_norm|convolution|im2col|max_pool2d|mm|addmm|cat|where|tril|linalg_qr|erf|fft_fft|nll_loss|"
    r"cross_entropy_loss|arange|rand|pow|isin|_unique2|bincount|searchsorted|lstm)(_|$|\.)"
)


@pytest.mark.timeout(600)
def test_exam() -> None:
    said = run("take_exam.py", "--fake", "--operators", OPERATORS)
    assert " 0 failed" in said


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the CUDA sources with")
@pytest.mark.timeout(600)
def test_compiled_kernels() -> None:
    """CUDA sources run on the CPU, over the stand-in's memory; ``take_exam.py --compiled`` takes all operators."""
    said = run(
        "take_exam.py",
        "--compiled",
        "--operators",
        "^(gelu|_softmax|native_layer_norm)$",
        "--checks",
        "reference|strided",
    )
    assert " 0 failed" in said


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the CUDA sources with")
@pytest.mark.timeout(600)
def test_operators_that_take_compiled_kernels() -> None:
    """Generators, dropout, faults, graphs, gradients, and what training launches and waits for."""
    assert run("compiled_operators.py").endswith("done\n")
