"""Operators of torch_npu on device ``npu``, and what a call does beside its primitive: ``python npu_calls.py NAME``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("MT_ASCEND_TARGET", "CPU")
os.environ.setdefault("GLOG_v", "4")

import mindtorch as torch

PROGRAMS: dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


def differentiated(function: Callable[..., Any], arguments: Any, device: str) -> list[Any]:
    """A function's value and gradients, of arguments on a device."""
    leaves = [a.detach().clone().to(device).requires_grad_() for a in arguments]
    made = function(*leaves)
    assert made.device.type == device
    weights = torch.linspace(-1, 1, made.numel()).reshape(made.shape)
    made.backward(weights.to(device))
    return [made.detach().cpu(), *(leaf.grad.cpu() for leaf in leaves)]


@program
def torch_npu_on_its_device() -> None:
    """Values and gradients of its operators are those of formulas on the CPU."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import test_torch_npu as of_the_host

    import torch_npu

    for name, (operator, formula, arguments) in of_the_host.FORMULAS.items():
        ours, theirs = differentiated(operator, arguments, "npu"), differentiated(formula, arguments, "cpu")
        for got, wanted in zip(ours, theirs, strict=True):
            assert torch.allclose(got, wanted, rtol=1e-4, atol=1e-4), (name, got, wanted)
    for layout in of_the_host.LAYOUTS:
        tensors = [of_the_host.laid(t, layout) for t in of_the_host.inputs()]

        def attention(q: Any, k: Any, v: Any, layout: str = layout) -> Any:
            return torch_npu.npu_fusion_attention(q, k, v, 4, layout, scale=0.3)[0]

        for got, wanted in zip(*(differentiated(attention, tensors, d) for d in ("npu", "cpu")), strict=True):
            assert torch.allclose(got, wanted, rtol=1e-4, atol=1e-5), layout


#: Calls of functions, Python's and C's, that an operator may make in all: what it made when this was written, and two.
MOST = {"add": 20, "mul": 20, "mm": 15, "sum": 21, "view": 52, "add_": 26, "mul by a number": 25}


@program
def calls_are_few() -> None:
    """The short way is taken: a call does what it did. How long that takes is `overhead.py`'s to say."""
    a, b = (torch.ones(8, 8, device="npu") for _ in range(2))
    functions: dict[str, Callable[[], Any]] = {
        "add": lambda: a + b,
        "mul": lambda: a * b,
        "mm": lambda: torch.mm(a, b),
        "sum": lambda: a.sum(),
        "view": lambda: a.view(64),
        "add_": lambda: a.add_(b),
        "mul by a number": lambda: a * 2.0,
    }
    found = {}
    with torch.no_grad():
        for name, function in functions.items():
            for _ in range(3):
                function()
            found[name] = count(function)
    print(found)
    assert all(found[name] <= most for name, most in MOST.items()), found


def count(function: Callable[[], Any]) -> int:
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event) if event in ("call", "c_call") else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(seen) - 1  # that of setprofile


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
    print("done")
