"""Derivatives of elementwise operators, choices, activations and special functions against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from derivative_cases import check_both_orders, inputs_of

import mt_autograd
from mt_core.testing.namespace import namespace

torch = namespace(autograd=mt_autograd)

F = torch.nn.functional


def positive(a: Any) -> Any:
    return a.abs() + 0.3


def fraction(a: Any) -> Any:
    """Numbers between 0.1 and 0.9."""
    return 0.1 + 0.8 * a.sigmoid()


def functions(names: str, owner: Any = torch, domain: Callable[[Any], Any] = lambda a: a) -> dict[str, Any]:
    """Functions of one argument, which is first brought into their domain."""
    return {name: lambda a, function=function: function(domain(a)) for name, function in named(names, owner).items()}


def named(names: str, owner: Any = torch) -> dict[str, Any]:
    return {name: getattr(owner, name) for name in names.split()}


OF_ONE = {
    **functions(
        "neg abs sgn square exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh deg2rad rad2deg frac sigmoid relu"
    ),
    **functions("erf erfc lgamma digamma i0 sinc"),
    **functions("sqrt rsqrt reciprocal log log2 log10 log1p", domain=positive),
    **functions("asin acos atanh erfinv logit", domain=fraction),
    **functions(
        "gelu silu mish softplus elu celu selu log_sigmoid hardtanh hardsigmoid hardswish leaky_relu softshrink", F
    ),
    **functions("softshrink hardshrink relu6", F),
    **functions("i0e i1 i1e erfcx entr log_ndtr ndtr", torch.special, positive),
    "acosh": lambda a: torch.acosh(1 + positive(a)),
    "frexp": lambda a: torch.frexp(a)[0],
    "ndtri": lambda a: torch.special.ndtri(fraction(a)),
    "gelu_tanh": lambda a: F.gelu(a, approximate="tanh"),
    "softplus_steep": lambda a: F.softplus(a, 3, 2),
    "elu_lower": lambda a: F.elu(a, 0.7),
    "logit_limited": lambda a: torch.logit(fraction(a), eps=0.2),
    "threshold": lambda a: F.threshold(a, 0.3, 2.0),
    "glu": lambda a: F.glu(torch.cat([a, a * a]), 0),
    "polygamma": lambda a: torch.polygamma(2, positive(a)),
    "mvlgamma": lambda a: torch.mvlgamma(positive(a) + 1, 3),
    "pow_2": lambda a: a**2,
    "pow_3": lambda a: a**3.0,
    "pow_0": lambda a: a**0,
    "pow_half": lambda a: positive(a) ** 0.5,
    "number_to_the_power": lambda a: 2.5**a,
    "rsub": lambda a: torch.rsub(a, 2, 3),
    "reflected_division": lambda a: 2 / positive(a),
    "remainder": lambda a: a % 0.7,
    "clamp": lambda a: torch.clamp(a, -0.5, 0.5),
    "clamp_min": lambda a: a.clamp_min(0.1),
    "nan_to_num": lambda a: torch.nan_to_num(a),
    "where": lambda a: torch.where(a > 0, a * a, -1.5),
    "xlogy_number": lambda a: torch.xlogy(a, 2.5) + torch.xlogy(1.5, positive(a)),
    "zeta": lambda a: torch.special.zeta(2.5, positive(a)),
    "softmax": lambda a: a.softmax(1),
    "log_softmax": lambda a: a.log_softmax(0),
    "masked_softmax": lambda a: torch._masked_softmax(a, torch.eye(3, 4).bool(), 1, 2),
}

OF_TWO = {
    **named("add sub mul maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2"),
    "add_alpha": lambda a, b: torch.add(a, b, alpha=-2),
    "div": lambda a, b: a / positive(b),
    "remainder": lambda a, b: torch.remainder(a, positive(b)),
    "fmod": lambda a, b: torch.fmod(a, positive(b)),
    "pow": lambda a, b: positive(a) ** b,
    "ldexp": torch.ldexp,
    "copysign": torch.copysign,
    "clamp": lambda a, b: torch.clamp(a, b, b + 1),
    "xlogy": lambda a, b: torch.xlogy(a, positive(b)),
    "xlog1py": lambda a, b: torch.special.xlog1py(a, positive(b)),
    "igamma": lambda a, b: a * torch.igamma(torch.full_like(b, 1.7), positive(b)),
    "igammac": lambda a, b: a * torch.igammac(torch.full_like(b, 1.7), positive(b)),
    "complex": lambda a, b: torch.view_as_real(torch.complex(a, b) ** 2),
    "polar": lambda a, b: torch.view_as_real(torch.polar(positive(a), b)),
    "prelu": lambda a, b: F.prelu(a, b[0, :1]),
    "dist": lambda a, b: torch.dist(a, b),
}

OF_THREE = {
    "addcmul": lambda a, b, c: torch.addcmul(a, b, c, value=0.7),
    "addcdiv": lambda a, b, c: torch.addcdiv(a, b, positive(c), value=0.7),
    "lerp": torch.lerp,
    "lerp_number": lambda a, b, c: torch.lerp(a, b, 0.3) * c,
}

COMPLEX = {
    **named("sgn exp sin cos tanh sinh asinh atan sigmoid square conj_physical reciprocal sqrt log"),
    "abs": torch.abs,
    "angle": torch.angle,
    "real": torch.real,
    "imag": torch.imag,
    "acosh": torch.acosh,
    "pow_3": lambda z: z**3,
    "pow_complex": lambda z: z ** (0.5 + 1j),
    "number_to_the_power": lambda z: (1 + 1j) ** z,
    "mul": lambda z: z * z.conj(),
    "div": lambda z: (1 + 2j) / z,
    "view_as_real": torch.view_as_real,
}


@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_argument(name: str) -> None:
    check_both_orders(OF_ONE[name], inputs_of(((3, 4),)))


@pytest.mark.parametrize("name", OF_TWO)
def test_of_two_arguments(name: str) -> None:
    check_both_orders(OF_TWO[name], inputs_of(((2, 3), (2, 3))))


@pytest.mark.parametrize("name", "add mul div pow maximum".split())
def test_broadcast_arguments(name: str) -> None:
    function = OF_TWO[name]
    check_both_orders(lambda a, b: function(a[:, None], b), inputs_of(((3,), (1, 2))))


@pytest.mark.parametrize("name", OF_THREE)
def test_of_three_arguments(name: str) -> None:
    check_both_orders(OF_THREE[name], inputs_of(((2, 3), (3,), (2, 1))))


@pytest.mark.parametrize("name", COMPLEX)
def test_of_complex_numbers(name: str) -> None:
    check_both_orders(COMPLEX[name], inputs_of(((2, 2),), torch.complex128))


@pytest.mark.parametrize("name", "sign ceil floor round trunc".split())
def test_steps_have_no_slope(name: str) -> None:
    a = torch.tensor([-1.5, 0.2, 3.0], requires_grad=True)
    getattr(torch, name)(a).sum().backward()
    assert a.grad.tolist() == [0, 0, 0]


def test_equal_elements_share_the_gradient_of_their_maximum() -> None:
    a, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, 0.0], requires_grad=True)
    torch.maximum(a, b).sum().backward()
    assert a.grad.tolist() == [0.5, 1] and b.grad.tolist() == [0.5, 0]


def test_powers_of_zero_have_finite_slopes() -> None:
    base, exponent = torch.zeros(3, requires_grad=True), torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    (base**exponent).sum().backward()
    assert base.grad.tolist() == [0, 1, 0] and exponent.grad.tolist() == [0, 0, 0]
    base.grad = None
    torch.xlogy(base, torch.zeros(3)).sum().backward()
    assert base.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (lambda a: a // 2, "derivative for aten::floor_divide is not implemented"),
        (lambda a: 3 % a, "derivative for aten::remainder is not implemented"),
        (lambda a: torch.heaviside(a, a), "derivative for aten::heaviside is not implemented"),
        (lambda a: torch.igamma(a, a), "the derivative for 'igamma: input' is not implemented."),
    ],
)
def test_what_has_no_derivative_says_so(expression: Any, message: str) -> None:
    result = expression(torch.ones(2, requires_grad=True))
    assert result.requires_grad
    with pytest.raises(RuntimeError, match=message):
        result.sum().backward()


@pytest.mark.parametrize("slopes", [(0.1, 0.4), (0.2, 0.2)])
def test_rrelu_uses_the_slopes_that_it_drew(slopes: tuple[float, float]) -> None:
    a = torch.linspace(-2, 2, 20, requires_grad=True)
    result = torch.rrelu(a, *slopes, True)
    result.sum().backward()
    assert torch.allclose(a.grad, result.detach() / a.detach())


def test_division_without_rounding_is_division() -> None:
    x, y = (torch.tensor(values, dtype=torch.float64, requires_grad=True) for values in ([1.0, -2.0], [4.0, 5.0]))
    check_both_orders(lambda a, b: torch.div(a, b, rounding_mode=None), (x, y))


@pytest.mark.parametrize(
    ("exponent", "flat"), [(0j, True), (1 + 0j, True), (0.5 + 0j, True), (1j, False), (-1 + 0j, False), (2 + 1j, False)]
)
def test_a_power_of_zero_does_not_follow_a_real_exponent_from_zero_on(exponent: complex, flat: bool) -> None:
    z = torch.tensor([exponent], dtype=torch.complex128, requires_grad=True)
    power = torch.pow(torch.tensor([0j], dtype=torch.complex128), z)
    (slope,) = torch.autograd.grad(torch.view_as_real(power).sum(), z)
    assert (slope.tolist() == [0j]) is flat
