"""What a call takes above MindSpore's bare primitive, on its CPU target: ``python overhead.py``.

It fails above the limits. Times are the least of many short turns, of ours and the primitive's alternately, so that
other processes disturb little.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("MT_ASCEND_TARGET", "CPU")
os.environ.setdefault("GLOG_v", "4")

import mindspore
from mindspore.ops import auto_generate

import mindtorch as torch

#: Microseconds: the median over the first operators, and each with a number as the second operand.
LIMIT, WITH_NUMBERS = 15.0, 25.0
TURNS, CALLS = 250, 10


def rows() -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Name -> our call, and the primitives that it cannot do without."""
    a, b = (torch.ones(8, 8, device="npu") for _ in range(2))
    x, y = (mindspore.Tensor(t.cpu().numpy()) for t in (a, b))
    two = mindspore.Tensor(2.0, mindspore.float32)
    add, mul, product, total = (getattr(auto_generate, name)() for name in ("Add", "Mul", "MatMulExt", "SumExt"))
    strided, copy = auto_generate.as_strided, auto_generate.InplaceCopy()
    return {
        "add": (lambda: a + b, lambda: add(x, y)),
        "mul": (lambda: a * b, lambda: mul(x, y)),
        "mm": (lambda: torch.mm(a, b), lambda: product(x, y)),
        "sum": (lambda: a.sum(), lambda: total(x, (0, 1), False, None)),
        "view": (lambda: a.view(64), lambda: strided(x, (64,), (1,), 0)),
        "add_": (lambda: a.add_(b), lambda: copy(x, add(x, y), False)),
        "add of a number": (lambda: a + 2.0, lambda: add(x, two)),
        "mul by a number": (lambda: a * 2.0, lambda: mul(x, two)),
    }


def least(functions: tuple[Callable[[], Any], ...]) -> list[float]:
    """The least microseconds of a call of each."""
    found = [float("inf")] * len(functions)
    for _ in range(TURNS):
        for place, function in enumerate(functions):
            begin = time.perf_counter()
            for _ in range(CALLS):
                function()
            found[place] = min(found[place], (time.perf_counter() - begin) / CALLS * 1e6)
    return found


def main() -> int:
    above = {}
    with torch.no_grad():
        for name, functions in rows().items():
            ours, theirs = least(functions)
            above[name] = ours - theirs
            print(f"{name:16} {ours:6.1f} us, the primitive {theirs:6.1f}, above it {above[name]:6.1f}", flush=True)
    numbers = [above.pop(name) for name in list(above) if "number" in name]
    median = statistics.median(above.values())
    print(f"median {median:.1f} us (limit {LIMIT}), with numbers at most {max(numbers):.1f} us (limit {WITH_NUMBERS})")
    return median > LIMIT or max(numbers) > WITH_NUMBERS


if __name__ == "__main__":
    sys.exit(main())
