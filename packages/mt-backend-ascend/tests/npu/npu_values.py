"""Values on device ``npu`` that MindSpore's CPU target has wrong, without an error: ``python npu_values.py NAME``.

Every element is compared with the CPU's: NaN, infinity, the sign of zero, and integers to the last one.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("MT_ASCEND_TARGET", "CPU")
os.environ.setdefault("GLOG_v", "4")

import mindtorch as torch

F = torch.nn.functional
INFINITE = math.inf
PROGRAMS: dict[str, Callable[[], None]] = {}
SPECIAL = torch.tensor([math.nan, INFINITE, -INFINITE, 0.0, -0.0, 2.5, -3.5, 30.0, -7.0])
TOLERANCE = {torch.bfloat16: 1e-2, torch.float16: 1e-3}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


def outcome(function: Callable[..., Any], arguments: Any, device: str) -> Any:
    given = [a.clone().to(device) if isinstance(a, torch.Tensor) else a for a in arguments]
    try:
        return function(*given).cpu()
    except RuntimeError as error:
        return str(error)


def alike(name: Any, function: Callable[..., Any], *arguments: Any) -> None:
    """The same elements, or the same words, on both devices."""
    wanted, got = (outcome(function, arguments, device) for device in ("cpu", "npu"))
    said = f"{name}: {wanted} on cpu, {got} on npu"
    if isinstance(wanted, str) or isinstance(got, str):
        assert wanted == got, said
        return
    assert (wanted.dtype, wanted.shape) == (got.dtype, got.shape), said
    if not wanted.dtype.is_floating_point:
        assert torch.equal(wanted, got), said
        return
    tolerance = TOLERANCE.get(wanted.dtype, 1e-5)
    assert torch.allclose(wanted.double(), got.double(), rtol=tolerance, atol=1e-6, equal_nan=True), said
    zeros = wanted == 0
    assert torch.equal(torch.signbit(wanted) & zeros, torch.signbit(got) & zeros), said


@program
def floating_point() -> None:
    numbers = (3, -2.5, INFINITE, -INFINITE, 0.0, -0.0, 0.5, -0.5, 2, -1, 1, math.nan)
    pairs = "remainder fmod floor_divide pow div logaddexp logaddexp2 hypot atan2 maximum minimum fmax fmin nextafter"
    functions = (
        F.hardswish, torch.expm1, torch.log1p, torch.tanh, torch.nan_to_num, F.elu, F.selu, torch.abs, torch.relu,
        lambda t: t.to(torch.int32), lambda t: t.to(torch.int64), lambda t: t.to(torch.int8),
        lambda t: t.to(torch.bool),
    )  # fmt: skip
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = SPECIAL.to(dtype)
        for name in pairs.split():
            alike((name, dtype), getattr(torch, name), x[:, None], x)
        for name, number in itertools.product(pairs.split()[:5], numbers):
            alike((name, number, dtype), getattr(torch, name), x, number)
        for mode in ("floor", "trunc"):
            alike((mode, dtype), lambda a, b, m=mode: torch.div(a, b, rounding_mode=m), x[:, None], x)
        for function in functions:
            alike((function, dtype), function, x)
    small = torch.tensor([1e-45, -1e-45, 0.0, 3.4028234663852886e38, 1.1754943508222875e-38, -INFINITE])
    bits = [torch.nextafter(small[:, None].to(d), small.to(d)).cpu().view(torch.int32) for d in ("cpu", "npu")]
    assert torch.equal(*bits), bits
    alike("to int32", lambda t: t.to(torch.int32), torch.tensor([3e9, -3e9, 1e20, 2147483520.0]))
    parts = (0.0, -0.0, 1.0, -2.5, INFINITE)
    pairs = torch.tensor([complex(a, b) for a in parts for b in parts])
    alike("complex quotients", lambda a, b: torch.view_as_real(a / b).nan_to_num(7), pairs[:, None], pairs)
    alike("complex abs", torch.abs, torch.tensor([3 + 4j, complex(INFINITE, 1), -2j]))


@program
def integers() -> None:
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        i, j = (
            torch.tensor([0, 1, 2, 3, 7, -1, -2, -9, 100]).to(dtype),
            torch.tensor([1, 2, 3, 4, 5, 7, 6, 9, 10]).to(dtype),
        )
        least = torch.tensor([torch.iinfo(dtype).min]).to(dtype)
        for name in ("remainder", "fmod", "floor_divide", "pow"):
            function = getattr(torch, name)
            alike((name, dtype), function, i[:, None], j)
            alike((name, dtype, 3), function, j, 3)
            if name != "pow":
                for divisor in (i, 0):
                    alike((name, dtype, "by zero"), function, j, divisor)
                alike((name, dtype, "the least"), function, least, torch.tensor([-1]).to(dtype))
        for mode in ("floor", "trunc"):
            alike((mode, dtype), lambda a, b, m=mode: torch.div(a, b, rounding_mode=m), i[:, None], j)
            alike((mode, dtype, "by zero"), lambda a, b, m=mode: torch.div(a, b, rounding_mode=m), j, i)
        alike(
            ("below", dtype),
            torch.pow,
            torch.tensor([1, -1, 2, -3]).to(dtype),
            torch.tensor([-1, -3, -2, -1]).to(dtype),
        )
    large = torch.tensor([2**53 + 1, -(2**62) + 3, 9007199254740993, 123456789123])
    by = torch.tensor([3, 7, 1, -5])
    for name in ("floor_divide", "remainder", "fmod", "mul", "eq", "maximum"):
        alike((name, "large"), getattr(torch, name), large, by)
    alike("large trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), large, by)
    alike("large powers", torch.pow, torch.tensor([3, 7, -2, 10]), torch.tensor([40, 22, 63, 18]))


@program
def near_zero() -> None:
    """What is left of small numbers keeps its digits."""
    small = torch.logspace(-30, 1, 200, dtype=torch.float64)
    functions = (torch.log1p, torch.expm1, F.softplus, F.logsigmoid, torch.tanh, torch.sinh, torch.asinh, F.elu)
    for dtype, tolerance in ((torch.float32, 3e-5), (torch.float64, 1e-12)):
        x = torch.cat([small, -small]).to(dtype)
        for function in functions:
            wanted, got = function(x), function(x.to("npu")).cpu()
            assert torch.allclose(wanted, got, rtol=tolerance, atol=0, equal_nan=True), (function, dtype, wanted, got)


@program
def joins() -> None:
    """Tensors of several dtypes are joined in the one that they promote to."""
    names = "float32 float64 bfloat16 float16 int64 int32 uint8 int8 int16 bool complex64 complex128"
    dtypes = [getattr(torch, name) for name in names.split()]
    for one, other in itertools.product(dtypes, dtypes):
        alike(
            (one, other),
            lambda a, b: torch.cat([a, b]),
            torch.tensor([1, 0, 3]).to(one),
            torch.tensor([200, 5]).to(other),
        )


@program
def nothing() -> None:
    """Tensors without elements are converted, written and divided."""
    dtypes = (torch.complex64, torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source, target in itertools.product(dtypes, dtypes):
            alike((source, target), lambda t, d=target: t.to(d), torch.zeros(0, 3, dtype=source))
            alike((source, target, 2), lambda t, d=target: t.to(d), torch.tensor([0, 1, 2]).to(source))
    for name in ("remainder", "fmod", "floor_divide", "pow", "nextafter", "logaddexp"):
        alike(name, getattr(torch, name), torch.zeros(0, 3), torch.zeros(3))
    for shape in ((0, 4), (3, 0)):
        alike("count", lambda t: torch.count_nonzero(t), torch.ones(shape))
        alike("count", lambda t: torch.count_nonzero(t, 0), torch.ones(shape))
    alike("integers", torch.floor_divide, torch.zeros(0, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    alike("write", lambda t, u: (t.__setitem__(slice(0, 2), u), t)[1], torch.zeros(0), torch.ones(1))


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
    print("done")
