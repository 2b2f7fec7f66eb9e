"""What `make_elementwise.py` records and `test_elementwise.py` evaluates, without PyTorch's name in it.

`X` and `Y` hold numbers at the edges of their dtype as a column and as a row, so that every pair meets; `x` is `X` as a
vector; `D` is `Y` without zeros.
"""

from __future__ import annotations

FLOATING = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = (*FLOATING, *INTEGERS, "bool", "complex64")

_REAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-30, 1e30, -100.0, 7.25]
_COMPLEX = [0j, 1 + 0j, -1 + 0j, 0.5 - 2j, -3 + 1j, 2j]


def edges(dtype: str) -> list[object]:
    """Numbers at which an operator's cases meet."""
    if dtype in FLOATING:
        return list(_REAL)
    if dtype == "complex64":
        return list(_COMPLEX)
    if dtype == "bool":
        return [False, True]
    return [0, 1, 2, 3, 7, 100, 127] + ([] if dtype == "uint8" else [-1, -2, -8, -100])


UNARY = """
abs sign sgn neg positive square sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan
sinh cosh tanh asinh acosh atanh ceil floor round trunc frac deg2rad rad2deg bitwise_not angle conj_physical isnan
isinf isfinite isreal isposinf isneginf signbit logical_not nan_to_num frexp relu sigmoid erf erfc erfinv sinc logit
selu celu hardshrink
""".split()

BINARY = """
add sub mul div maximum minimum fmax fmin atan2 hypot ldexp copysign nextafter logaddexp logaddexp2 eq ne lt le gt ge
logical_and logical_or logical_xor heaviside xlogy bitwise_and bitwise_or bitwise_xor bitwise_left_shift
bitwise_right_shift gcd lcm pow float_power isclose dist
""".split()

FUNCTIONAL = """
gelu silu mish softplus elu hardtanh relu6 hardsigmoid hardswish leaky_relu softshrink
""".split()

OTHERS = """
torch.floor_divide(X, D)
torch.remainder(X, D)
torch.fmod(X, D)
torch.div(X, D, rounding_mode="trunc")
torch.div(X, D, rounding_mode="floor")
torch.div(X, D, rounding_mode=None)
torch.div(X, D, rounding_mode="up")
x // 0
x % 0
torch.fmod(x, 0)
x // 3
x % 3
x % -3
7 % D
7 // D
x ** 2
x ** 3
x ** 0.5
x ** -1
x ** 0
x ** -0.5
x ** 2.5
2 ** x
0 ** x
1 - x
x - True
x + 300
x * 1.5
x == 300
x < 300
x > 0.5
2 / D
torch.rsub(x, 3, alpha=2)
torch.add(x, x, alpha=2)
torch.add(x, x, alpha=1.5)
torch.add(x, x, alpha=True)
torch.addcmul(x, x, x, value=2)
torch.addcdiv(x, x, D[0, :1])
torch.lerp(x, x + x, 0.25)
torch.round(x, decimals=1)
torch.round(x, decimals=-1)
torch.clamp(x, 0, 2)
torch.clamp(x, min=0.5)
torch.clamp(x, max=1)
torch.clamp(x)
torch.clamp(X, Y, 3 * Y)
torch.clamp_min(x, 1)
torch.clamp_max(X, Y)
torch.where(X > Y, X, Y)
torch.where(x > 0, x, 0.5)
torch.where(x > 0, 1, x)
torch.where(x, x, x)
torch.nan_to_num(x, 1.0, 2.0, -2.0)
torch.isclose(x, x + x, rtol=0.5)
torch.isclose(x, x, equal_nan=True)
torch.isclose(x, x, rtol=-1)
torch.isin(x, x[1:3])
torch.isin(x, 1)
torch.isin(x, x[:2], invert=True)
torch.equal(x, x)
torch.allclose(x, x)
torch.threshold(x, 0.5, 9)
torch.nn.functional.gelu(x, approximate="tanh")
torch.nn.functional.gelu(x, approximate="sigmoid")
torch.nn.functional.softplus(x, 2, 5)
torch._C._nn.log_sigmoid(x)
x - torch.tanh(x)
x / (torch.abs(x) + 1)
torch.nn.functional.elu(x, 2.0)
torch.nn.functional.hardtanh(x, -0.5, 3)
torch.nn.functional.prelu(x, D[0, :1])
torch.nn.functional.glu(x[:2])
torch.logit(x, eps=0.1)
torch.softmax(x, 0)
torch.softmax(X.expand(-1, 3), 1)
torch.log_softmax(X.expand(-1, 3), 0)
torch.polar(X, Y)
torch.complex(X, Y)
x.add_(1.5)
x.div_(2)
x.exp_()
x.pow_(0.5)
x.float_power_(2)
x.eq_(1)
x.clamp_(0.5, 2)
x.abs_()
x.bitwise_and_(1)
x.copysign_(-1)
""".strip().splitlines()

EXPRESSIONS = (
    *(f"torch.{name}(x)" for name in UNARY),
    *(f"torch.{name}(X, Y)" for name in BINARY),
    *(f"torch.nn.functional.{name}(x)" for name in FUNCTIONAL),
    *OTHERS,
)


def names(torch: object, dtype: str) -> dict[str, object]:
    """What an expression may mention."""
    made = torch.tensor(edges(dtype), dtype=getattr(torch, dtype))  # type: ignore[attr-defined]
    nonzero = [value for value in edges(dtype) if value]
    return {
        "torch": torch,
        "x": made,
        "X": made.reshape(-1, 1),
        "Y": made.reshape(1, -1) * 1 if dtype != "bool" else made.reshape(1, -1),
        "D": torch.tensor([nonzero], dtype=getattr(torch, dtype)),  # type: ignore[attr-defined]
    }
