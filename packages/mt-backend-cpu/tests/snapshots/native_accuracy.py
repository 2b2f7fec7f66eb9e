"""How exact elementwise functions of single precision are, of any module that looks like ``torch``.

Samples are bit patterns of all exponents, numbers of the usual size, and the special ones; what is exact is computed in
double precision, in forms that lose nothing where numbers cancel.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mt_core.api import _functions

__all__ = ["COUNT", "FUNCTIONS", "PATH", "Function", "largest", "measure", "recorded", "samples", "worse"]

Array = np.ndarray
#: What PyTorch's errors are, and ours where they are larger than those and than 2.
PATH = Path(__file__).with_name("native_accuracy.json")
#: Bit patterns that are sampled.
COUNT = 1 << 20
#: Units in the last place that are always allowed.
ALLOWED = 2.0

_erfc = np.vectorize(math.erfc, otypes=[np.float64])
_SPECIAL = np.array(
    [
        0.0,
        1.0,
        3.0,
        math.inf,
        math.nan,
        1e-45,
        1.17549435e-38,
        3.4028235e38,
        1e-7,
        0.5,
        88.7228,
        88.73,
        103.9,
        104.1,
        9.01,
    ],
    np.float32,
)


#: Functions whose errors come from the cancellation of sums.
_ARITHMETIC = ("add", "sub", "lerp")


class Function(NamedTuple):
    #: The call: a module like torch and tensors -> a tensor.
    call: Callable[..., Any]
    #: The same on double precision.
    exact: Callable[..., Array]
    #: How many tensors it takes.
    count: int = 1


@functools.cache
def samples(arguments: int) -> list[Array]:
    """`arguments` arrays of about 1.3 `COUNT` elements: bit patterns, usual numbers, all pairs of special ones."""
    generator, count = np.random.default_rng(0), COUNT
    special = np.concatenate([_SPECIAL, -_SPECIAL])
    pairs = np.meshgrid(*[special] * arguments)
    arrays = []
    for pair in pairs:
        bits = generator.integers(0, 1 << 32, count, np.uint64).astype(np.uint32).view(np.float32)
        usual = generator.uniform(-12, 12, count // 4).astype(np.float32)
        arrays.append(np.concatenate([bits, usual, pair.reshape(-1)]))
    return arrays


def errors(found: Array, exact: Array) -> Array:
    """Errors in units in the last place of the exact result; of a NaN, an infinity or a zero's sign, infinite ones."""
    with np.errstate(all="ignore"):
        wanted = exact.astype(np.float32)
        units = np.spacing(np.minimum(np.abs(wanted), np.finfo(np.float32).max)).astype(np.float64)
        apart = np.abs(found.astype(np.float64) - exact) / units
    same = (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | np.isnan(found) & np.isnan(wanted)
    apart[same] = 0
    apart[(wanted == 0) & (found == 0) & ~same] = math.inf
    return np.where(np.isnan(apart), math.inf, apart)


def kinds(name: str, arrays: list[Array], exact: Array) -> Array:
    """A number for each sample: what one of them loses to cancellation and range, others of its kind may lose too.

    Arguments are special, of extreme size, or neither. Of arithmetic, how much smaller the result is than the largest
    argument; of other functions, the sign and exponent of the last argument.
    """
    with np.errstate(all="ignore"):
        sizes = np.abs(np.stack(arrays).astype(np.float64))
        usual = ((sizes > 2.0**-60) & (sizes < 2.0**60)).all(0)
        special = (~np.isfinite(sizes) | (sizes == 0)).any(0)
        if name.startswith(_ARITHMETIC):
            place = np.floor(np.log2(sizes.max(0) / np.abs(exact)))
        else:
            place = np.clip(np.floor(np.log2(sizes[-1])), -30, 10) + 100 * np.signbit(arrays[-1])
        place = np.clip(np.nan_to_num(place, nan=300, posinf=300, neginf=-300), -300, 300)
    return (place + 1000 * np.where(special, 2, np.where(usual, 0, 1))).astype(np.int64)


def _logistic(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _normal(x: Array) -> Array:
    """The normal distribution."""
    return 0.5 * _erfc(-x / math.sqrt(2))


_SLOPE = math.sqrt(2 / math.pi)


def _inner(x: Array) -> Array:
    return 2 * _SLOPE * x * (1 + 0.044715 * x * x)


def _gelu_tanh_slope(x: Array) -> Array:
    s = _logistic(_inner(x))
    return s + np.where(np.abs(x) > 50, 0, x * s * _logistic(-_inner(x)) * 2 * _SLOPE * (1 + 3 * 0.044715 * x * x))


def _gelu_slope(x: Array) -> Array:
    return _normal(x) + np.where(np.abs(x) > 50, 0, x) * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _silu_slope(x: Array) -> Array:
    s = _logistic(x)
    return s + np.where(np.abs(x) > 1000, 0, x * s * _logistic(-x))


def _aten(name: str, *rest: Any, **named: Any) -> Callable[..., Any]:
    def call(torch: Any, *tensors: Any) -> Any:
        function = getattr(torch.ops.aten, name).default if hasattr(torch, "ops") else getattr(_functions, name)
        return function(*tensors, *rest, **named)

    return call


def _into(name: str, *rest: Any, **named: Any) -> Callable[..., Any]:
    return lambda torch, first, *more: getattr(first.clone(), name)(*more, *rest, **named)


def _number(value: float) -> float:
    return float(np.float32(value))


#: "operator" or "operator, form" -> how it is called and what is exact.
FUNCTIONS: dict[str, Function] = {
    "add.Tensor": Function(lambda torch, a, b: a + b, lambda a, b: a + b, 2),
    "add.Tensor, alpha": Function(lambda torch, a, b: torch.add(a, b, alpha=0.3), lambda a, b: a + _number(0.3) * b, 2),
    "add_.Tensor, alpha": Function(_into("add_", alpha=0.3), lambda a, b: a + _number(0.3) * b, 2),
    "sub.Tensor": Function(lambda torch, a, b: a - b, lambda a, b: a - b, 2),
    "sub_.Tensor, alpha": Function(_into("sub_", alpha=0.3), lambda a, b: a - _number(0.3) * b, 2),
    "mul.Tensor": Function(lambda torch, a, b: a * b, lambda a, b: a * b, 2),
    "div.Tensor": Function(lambda torch, a, b: a / b, lambda a, b: a / b, 2),
    "addcmul_": Function(_into("addcmul_", value=0.7), lambda x, a, b: x + _number(0.7) * a * b, 3),
    "addcdiv_": Function(_into("addcdiv_", value=0.7), lambda x, a, b: x + _number(0.7) * a / b, 3),
    "lerp_.Scalar": Function(_into("lerp_", 0.3), lambda a, b: a + _number(0.3) * (b - a), 2),
    "clamp": Function(lambda torch, x: torch.clamp(x, -1.5, 2.5), lambda x: np.clip(x, -1.5, 2.5)),
    "clamp_min": Function(lambda torch, x: torch.clamp_min(x, -1.5), lambda x: np.where(x < -1.5, -1.5, x)),
    "clamp_max": Function(lambda torch, x: torch.clamp_max(x, 1.5), lambda x: np.where(x > 1.5, 1.5, x)),
    "relu": Function(lambda torch, x: torch.relu(x), lambda x: np.where(x < 0, 0, x)),
    "sigmoid": Function(lambda torch, x: torch.sigmoid(x), _logistic),
    "silu": Function(_aten("silu"), lambda x: x * _logistic(x)),
    "tanh": Function(lambda torch, x: torch.tanh(x), np.tanh),
    "gelu": Function(_aten("gelu"), lambda x: x * _normal(x)),
    "gelu, tanh": Function(_aten("gelu", approximate="tanh"), lambda x: x * _logistic(_inner(x))),
    "sigmoid_backward": Function(_aten("sigmoid_backward"), lambda g, y: g * (1 - y) * y, 2),
    "tanh_backward": Function(_aten("tanh_backward"), lambda g, y: g * (1 - y * y), 2),
    "silu_backward": Function(_aten("silu_backward"), lambda g, x: g * _silu_slope(x), 2),
    "gelu_backward": Function(_aten("gelu_backward"), lambda g, x: g * _gelu_slope(x), 2),
    "gelu_backward, tanh": Function(
        _aten("gelu_backward", approximate="tanh"), lambda g, x: g * _gelu_tanh_slope(x), 2
    ),
    "threshold_backward": Function(_aten("threshold_backward", 0.5), lambda g, x: np.where(x <= 0.5, 0, g), 2),
    "hardtanh_backward": Function(
        _aten("hardtanh_backward", -0.5, 0.75), lambda g, x: np.where((x <= -0.5) | (x >= 0.75), 0, g), 2
    ),
    "leaky_relu_backward": Function(
        _aten("leaky_relu_backward", 0.1, False), lambda g, x: np.where(x > 0, g, g * _number(0.1)), 2
    ),
    "hardsigmoid_backward": Function(
        _aten("hardsigmoid_backward"), lambda g, x: np.where((x > -3) & (x < 3), g / 6, 0), 2
    ),
    "hardswish_backward": Function(
        _aten("hardswish_backward"), lambda g, x: np.where(x <= -3, 0, np.where(x < 3, g * (x / 3 + 0.5), g)), 2
    ),
    "hardswish": Function(_aten("hardswish"), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "leaky_relu": Function(_aten("leaky_relu", 0.1), lambda x: np.where(x > 0, x, x * _number(0.1))),
    "sign": Function(lambda torch, x: torch.sign(x), lambda x: np.where(x > 0, 1.0, np.where(x < 0, -1.0, 0.0))),
    "where.self": Function(lambda torch, a, b: torch.where(a < b, a, b), lambda a, b: np.where(a < b, a, b), 2),
}


def measure(torch: Any, name: str, step: int = 1) -> tuple[Array, Array]:
    """The error of every sample, and its kind; of each `step`-th sample alone, and of all special ones."""
    function = FUNCTIONS[name]
    chosen = [np.concatenate([a[:-4096:step], a[-4096:]]) for a in samples(function.count)]
    found = function.call(torch, *[torch.from_numpy(a.copy()) for a in chosen]).numpy()
    with np.errstate(all="ignore"):
        exact = function.exact(*[a.astype(np.float64) for a in chosen])
    return errors(found, exact), kinds(name, chosen, exact)


def largest(apart: Array, kind: Array) -> dict[str, float]:
    """The largest error of each kind of samples, rounded up, where it is more than `ALLOWED`."""
    order = np.argsort(kind, kind="stable")
    names, starts = np.unique(kind[order], return_index=True)
    found = np.maximum.reduceat(apart[order], starts)
    return {str(n): _rounded(float(e)) for n, e in zip(names, found, strict=True) if e > ALLOWED}


def _rounded(number: float) -> float:
    """To three digits, upwards; infinity for what is wrong altogether."""
    if number > 1e9:
        return math.inf
    digits = 10.0 ** (math.floor(math.log10(number)) - 2)
    return float(f"{math.ceil(number / digits - 1e-9) * digits:.3g}")


def worse(ours: dict[str, float], allowed: dict[str, float]) -> dict[str, float]:
    """Our errors, by kind, that are larger than what is allowed."""
    return {kind: error for kind, error in ours.items() if error > allowed.get(kind, ALLOWED)}


def recorded() -> dict[str, Any]:
    """What `make_native_accuracy.py` wrote."""
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return found
