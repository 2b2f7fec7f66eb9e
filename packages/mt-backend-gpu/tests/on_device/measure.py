"""Figures of device ``cuda``: ``python measure.py MODULE FILE``; MODULE is ``mindtorch``, or what it is compared with.

Microseconds of the host for small operators, GB/s of elementwise operators and sums of large tensors, TFLOP/s of
products.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

torch: Any = importlib.import_module(sys.argv[1])
functional = torch.nn.functional


def microseconds(run: Callable[[], Any], count: int = 500) -> float:
    """The host's share of a call; the least of three rounds."""
    for _ in range(20):
        run()
    return min(_seconds(run, count, wait=False) for _ in range(3)) / count * 1e6


def seconds(run: Callable[[], Any], count: int = 10) -> float:
    """A call until the device is done; the least of three rounds."""
    for _ in range(3):
        run()
    return min(_seconds(run, count, wait=True) for _ in range(3)) / count


def _seconds(run: Callable[[], Any], count: int, wait: bool) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        run()
    if wait:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def small() -> dict[str, float]:
    """Operators whose time is the host's."""
    x, y, w, b = (torch.randn(*s, device="cuda") for s in ((8, 64), (8, 64), (64, 64), (64,)))
    index, classes, xb, wb = torch.arange(3, device="cuda"), torch.arange(8, device="cuda"), x.bfloat16(), w.bfloat16()
    calls: dict[str, Callable[[], Any]] = {
        "add": lambda: x + y, "mul by a number": lambda: x * 2.0, "gelu": lambda: functional.gelu(x),
        "softmax": lambda: x.softmax(-1), "layer_norm": lambda: functional.layer_norm(x, (64,)), "sum": lambda: x.sum(),
        "mm": lambda: x @ w, "linear": lambda: functional.linear(x, w, b), "bf16 add": lambda: xb + xb,
        "bf16 linear": lambda: functional.linear(xb, wb), "embedding": lambda: functional.embedding(index, w),
        "cross_entropy": lambda: functional.cross_entropy(x, classes), "view": lambda: x.view(64, 8),
        "empty": lambda: torch.empty(8, 64, device="cuda"),
    }  # fmt: skip
    return {name: round(microseconds(run), 1) for name, run in calls.items()}


def bandwidth() -> dict[str, float]:
    """GB/s, counting what is read and written, of 2**28 float32 elements."""
    n = 1 << 28
    a, b = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        "copy": (lambda: a.clone(), 8), "add": (lambda: a + b, 12), "mul by a number": (lambda: a * 2.0, 8),
        "add_": (lambda: a.add_(b), 12), "sum": (lambda: a.sum(), 4), "gelu": (lambda: functional.gelu(a), 8),
    }  # fmt: skip
    return {name: round(size * n / seconds(run) / 1e9) for name, (run, size) in calls.items()}


def products() -> dict[str, float]:
    """TFLOP/s of 8192 x 8192 matrices of random numbers."""
    m = torch.randn(8192, 8192, device="cuda")
    half = m.bfloat16()
    work = 2 * 8192**3 / 1e12
    return {
        "float32": round(work / seconds(lambda: m @ m, 3), 1),
        "bfloat16": round(work / seconds(lambda: half @ half), 1),
    }


Path(sys.argv[2]).write_text(
    json.dumps({"host us": small(), "GB/s": bandwidth(), "TFLOP/s": products()}, indent=1), encoding="utf-8"
)
