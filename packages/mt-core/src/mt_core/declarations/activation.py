"""Activation functions: declarations."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtypes import finfo, scalar_type_name
from ..number_range import check_number
from ..promotion import ARITHMETIC, FLOAT
from ._checks import (
    BOOL,
    COMPLEX,
    COMPLEX_HALF,
    EXACT_OUT,
    FLOATS,
    INTEGERS,
    REAL,
    UNSIGNED,
    Refusal,
    Supported,
    has_float8,
)
from ._declare import Family

family = Family("activation")

#: Functions of ``torch.nn.functional`` only, which finds them here.
NN = "torch._C._nn"

_ANY_COMPLEX = COMPLEX | COMPLEX_HALF
_NO_COMPLEX = Refusal(_ANY_COMPLEX, "clamp is not supported for complex types", NotImplementedError)
_ORDERED = INTEGERS | FLOATS


def _activation(
    schema: str, kernel: str, accepted: frozenset[Any] = FLOATS, also: Any = None, stored: tuple[int, ...] = (),
    factors: tuple[int, ...] = (), **options: Any
) -> None:  # fmt: skip
    """An activation in the dtype of its input; a function of ``torch.nn.functional`` unless `options` say otherwise.

    `stored` and `factors` are those of `Supported`.
    """
    options = {"namespace": NN, "variants": "function", "inplace": True, "out": True, "exact_out": EXACT_OUT, **options}
    family.elementwise(
        schema,
        promotion=ARITHMETIC,
        check=Supported(kernel, accepted, also=also, stored=stored, factors=factors),
        **options,
    )


def _sigmoid_kernel(args: tuple[Any, ...]) -> str:
    return "sigmoid_cpu_reduced_float" if has_float8(args) else "sigmoid_cpu"


family.elementwise(
    "relu(Tensor self) -> Tensor", inplace=True, inplace_variants="function method", doc="max(self, 0).",
    check=Supported("clamp_min_scalar_cpu", _ORDERED, _NO_COMPLEX, Refusal(BOOL, "Boolean inputs not supported for relu")),
)  # fmt: skip
for _name, _doc in (("sigmoid", "1 / (1 + exp(-self))."), ("tanh", "Hyperbolic tangent.")):
    _kernel: Any = _sigmoid_kernel if _name == "sigmoid" else "tanh_vml_cpu"
    family.unary(
        _name,
        promotion=FLOAT,
        inplace_variants="function method",
        check=Supported(_kernel, REAL | UNSIGNED | COMPLEX),
        doc=_doc,
    )


# Smooth ones


def _check_approximate(args: tuple[Any, ...], common: Any) -> None:
    if args[-1] not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")


_activation('gelu(Tensor self, *, str approximate="none") -> Tensor', "GeluKernelImpl", also=_check_approximate,
            doc=(
                "self times the normal distribution function of self, or its approximation by tanh (Hendrycks and "
                "Gimpel, 2016)."
            ))  # fmt: skip
_activation("silu(Tensor self) -> Tensor", "silu_cpu", FLOATS | COMPLEX, doc="self * sigmoid(self).")
_activation("mish(Tensor self) -> Tensor", "mish_cpu", doc="self * tanh(log(1 + exp(self))) (Misra, 2019).")
_activation("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", "softplus_cpu", inplace=False, factors=(1, 2),
            doc="log(1 + exp(beta * self)) / beta; self where beta * self exceeds the threshold.")  # fmt: skip
_activation("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", "elu_cpu", factors=(1, 2, 3),
            doc="scale * self where positive, else scale * alpha * (exp(input_scale * self) - 1).")  # fmt: skip
family.composite(
    "log_sigmoid(Tensor self) -> Tensor",
    namespace=NN,
    variants="function",
    out=True,
    doc="log(sigmoid(self)).",
    exact_out="expected scalar type {expected} but found {out}",
)
family.plain("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", variants="",
          doc="`log_sigmoid`, and exp(-abs(self)) for its derivative.")  # fmt: skip


def _check_celu(args: tuple[Any, ...], common: Any) -> None:
    check_number(args[1], dtypes.float64)  # which it divides by
    if args[1] == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


_activation("celu(Tensor self, Scalar alpha=1.) -> Tensor", "elu_cpu", also=_check_celu, factors=(1,), namespace="torch", out=False,
            doc="self where positive, else alpha * (exp(self / alpha) - 1).")  # fmt: skip
family.composite("selu(Tensor self) -> Tensor", variants="function", inplace=True,
              doc="`elu` with the scales that keep mean 0 and variance 1 (Klambauer et al., 2017).")  # fmt: skip


# Piecewise linear ones


def _check_hardtanh(args: tuple[Any, ...], common: Any) -> None:
    for limit in args[1:]:
        check_number(limit, dtypes.int64 if common in INTEGERS else dtypes.float64 if limit.imag else common)
    if common is dtypes.uint8 and min(int(limit) for limit in args[1:]) < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    if common in INTEGERS:
        for limit in args[1:]:
            check_number(int(limit), common)


family.elementwise(
    "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
    namespace=NN, variants="function", inplace=True, out=True, doc="self limited to [min_val, max_val].",
    exact_out=EXACT_OUT,
    check=Supported("clamp_scalar_cpu", _ORDERED, _NO_COMPLEX, Refusal(BOOL, "Bool inputs not supported for hardtanh"),
                    also=_check_hardtanh, unchecked=FLOATS),
)  # fmt: skip
family.composite(
    "relu6(Tensor self) -> Tensor", namespace=NN, variants="function", inplace=True, doc="self limited to [0, 6]."
)
_activation("hardsigmoid(Tensor self) -> Tensor", "hardsigmoid_cpu", doc="self / 6 + 1 / 2, limited to [0, 1].")
_activation("hardswish(Tensor self) -> Tensor", "hardswish_cpu", doc="self * hardsigmoid(self) (Howard et al., 2019).")
_activation("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", "leaky_relu_cpu", factors=(1,),
            doc="self where positive, else negative_slope * self.")  # fmt: skip
_activation("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", "threshold_cpu", _ORDERED, factors=(1,), stored=(2,), exact_out="", namespace="torch",
            doc="value where self <= threshold, else self.")  # fmt: skip


def _check_lambda(args: tuple[Any, ...], common: Any) -> None:
    check_number(args[1], dtypes.float64)
    if common in FLOATS and not 0 <= args[1] <= finfo(common).max:
        raise RuntimeError(
            f"lambda must be in range [0, {finfo(common).max:g}] for input dtype {scalar_type_name(common)}, but "
            f"found {args[1]:g}"
        )


_activation("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", "softshrink_check", inplace=False, also=_check_lambda,
            doc="self moved towards zero by lambd, and zero within lambd of it.")  # fmt: skip
_activation("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", "hardshrink_cpu", inplace=False, stored=(1,), namespace="torch",
            variants="function method", doc="self, but zero within lambd of zero.")  # fmt: skip
family.elementwise("_prelu_kernel(Tensor self, Tensor weight) -> Tensor", variants="function", check=Supported("prelu_cpu", FLOATS),
                doc="self where positive, else weight * self; broadcast.")  # fmt: skip
family.composite("prelu(Tensor self, Tensor weight) -> Tensor",
              doc="`_prelu_kernel` with one weight, or one per index of dimension 1.")  # fmt: skip
family.composite(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? "
    "generator=None) -> Tensor",
    variants="function", inplace=True,
    doc="`leaky_relu` with slopes drawn from [lower, upper) when training, else with their mean.",
)  # fmt: skip
family.composite(
    "rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
    "training=False, Generator? generator=None) -> Tensor",
    namespace=NN, variants="function", doc="`rrelu`, which leaves the slopes in `noise`.",
)  # fmt: skip
family.composite(
    "rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
    "training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
    variants="", doc="`rrelu`, and the slopes.",
)  # fmt: skip


# Others

family.plain("glu(Tensor self, int dim=-1) -> Tensor", namespace=NN, variants="function", out=True,
          doc="The first half of `dim` times the sigmoid of the second.")  # fmt: skip
family.elementwise(
    "logit(Tensor self, float? eps=None) -> Tensor", promotion=FLOAT, inplace=True, inplace_variants="function method", out=True,
    check=Supported("logit_cpu", REAL | UNSIGNED), doc="log(self / (1 - self)), self first limited to [eps, 1 - eps].",
)  # fmt: skip
