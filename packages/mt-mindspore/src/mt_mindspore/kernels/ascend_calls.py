"""Which primitive of MindSpore's carries out an operator on Ascend, and with which of the operator's arguments.

Read it as ``operator: Call(primitive, its arguments in order)``: a word is the operator's argument of that name. What
primitives take is MindSpore's to say; a test compares every line with the signatures that MindSpore 2.10 gives
(`tests/snapshots/ascend_signatures.json`). No line has run on an Ascend device.

This module does not import MindSpore.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CALLS", "Call", "Constant", "Correction", "Flag", "Index", "Real"]


class Constant:
    """A value that is not the operator's to choose."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def of(self, given: dict[str, Any]) -> Any:
        return self.value


class Flag:
    """A bool that is False where the operator leaves it open."""

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, given: dict[str, Any]) -> Any:
        return bool(given[self.name])


class Index:
    """An index for which the operator says -1, and the primitive None, where there is none."""

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, given: dict[str, Any]) -> Any:
        return given[self.name] if given[self.name] >= 0 else None


class Real:
    """A number that the primitive takes as a float."""

    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, given: dict[str, Any]) -> Any:
        value = given[self.name]
        if isinstance(value, complex):
            raise NotImplementedError(f"{self.name}={value}: MindSpore takes real numbers on Ascend")
        return float(value)


class Correction:
    """What is taken from the number of elements: 1 where the operator leaves it open, and a whole number."""

    name = "correction"

    def of(self, given: dict[str, Any]) -> Any:
        value = 1 if given["correction"] is None else given["correction"]
        if int(value) != value:
            raise NotImplementedError(f"correction={value}: MindSpore takes whole numbers on Ascend")
        return int(value)


class Call:
    """A primitive, and its arguments: names of the operator's, or objects with `of(given)`.

    With `numbers`, numbers among the operator's operands are 0-dim tensors.
    """

    def __init__(self, primitive: str, *arguments: Any, numbers: bool = False) -> None:
        self.primitive = primitive
        self.arguments = arguments
        self.numbers = numbers

    def given(self, names: list[str], values: tuple[Any, ...]) -> list[Any]:
        """What the primitive gets, of an operator's arguments of these names."""
        by_name = dict(zip(names, values, strict=True))
        return [by_name[a] if isinstance(a, str) else a.of(by_name) for a in self.arguments]


CALLS: dict[str, Call] = {}


def _same(arguments: str, **primitives: str) -> None:
    """Operators that give a primitive all of their arguments, in order."""
    for operator, primitive in primitives.items():
        CALLS[operator] = Call(primitive, *arguments.split())


def _operands(left: str, right: str, primitives: dict[str, str]) -> None:
    """Elementwise operators of two tensors."""
    for operator, primitive in primitives.items():
        CALLS[operator] = Call(primitive, left, right, numbers=True)


# Elementwise, of one operand

_same(
    "self",
    abs="Abs", acos="AcosExt", acosh="AcoshExt", asin="AsinExt", asinh="AsinhExt", atan="AtanExt", atanh="Atanh",
    bitwise_not="BitwiseNot", ceil="Ceil", cos="Cos", cosh="Cosh", erf="Erf", erfc="Erfc", erfinv="Erfinv", exp="Exp",
    exp2="Exp2", expm1="Expm1", floor="Floor", frac="Frac", hardsigmoid="HSigmoid", hardswish="HSwish",
    isfinite="IsFinite", isinf="IsInf", isneginf="IsNegInf", log="Log", log10="Log10", log1p="Log1p", log2="Log2",
    logical_not="LogicalNot", mish="MishExt", neg="Neg", reciprocal="Reciprocal", relu="ReLU", rsqrt="Rsqrt",
    sigmoid="Sigmoid", sign="Sign", silu="SiLU", sin="Sin", sinc="Sinc", sinh="Sinh", sqrt="Sqrt", square="Square",
    tan="Tan", tanh="Tanh", trunc="Trunc",
)  # fmt: skip
CALLS["round"] = Call("Round", "self", Constant(0))
CALLS["round.decimals"] = Call("Round", "self", "decimals")

# Elementwise, of several operands

_operands(
    "self",
    "other",
    {
        "atan2": "Atan2Ext", "bitwise_and.Tensor": "BitwiseAndTensor", "bitwise_left_shift.Tensor": "LeftShift",
        "bitwise_or.Tensor": "BitwiseOrTensor", "bitwise_xor.Tensor": "BitwiseXorTensor", "div.Tensor": "Div",
        "eq.Tensor": "Equal", "floor_divide": "FloorDiv", "fmod.Tensor": "FmodTensor", "gcd": "Gcd",
        "ge.Tensor": "GreaterEqual", "gt.Tensor": "Greater", "le.Tensor": "LessEqual", "logaddexp": "LogAddExp",
        "logaddexp2": "LogAddExp2", "logical_and": "LogicalAnd", "logical_or": "LogicalOr",
        "logical_xor": "LogicalXor", "lt.Tensor": "Less", "maximum": "Maximum", "minimum": "Minimum",
        "mul.Tensor": "Mul", "ne.Tensor": "NotEqual", "remainder.Tensor": "RemainderTensorTensor",
        "xlogy.Tensor": "Xlogy",
    },
)  # fmt: skip
CALLS |= {
    "add.Tensor": Call("AddExt", "self", "other", "alpha"),
    "sub.Tensor": Call("SubExt", "self", "other", "alpha"),
    "fmod.Scalar": Call("FmodScalar", "self", "other"),
    "remainder.Scalar": Call("RemainderTensorScalar", "self", "other"),
    "remainder.Scalar_Tensor": Call("RemainderScalarTensor", "self", "other"),
    "xlogy.Scalar_Other": Call("XLogYScalarOther", "self", "other"),
    "xlogy.Scalar_Self": Call("XLogYScalarSelf", "self", "other"),
    "pow.Tensor_Tensor": Call("Pow", "self", "exponent"),
    "pow.Tensor_Scalar": Call("PowTensorScalar", "self", "exponent"),
    "pow.Scalar": Call("PowScalarTensor", "self", "exponent"),
    "polar": Call("Polar", "abs", "angle"),
    "where.self": Call("Select", "condition", "self", "other"),
    "masked_fill.Scalar": Call("MaskedFillScalar", "self", "mask", "value"),
    "masked_fill.Tensor": Call("MaskedFill", "self", "mask", "value"),
    "clamp": Call("ClampScalar", "self", "min", "max"),
    "clamp.Tensor": Call("ClampTensor", "self", "min", "max", numbers=True),
    "addcdiv": Call("AddcdivExt", "self", "tensor1", "tensor2", "value"),
    "addcmul": Call("AddcmulExt", "self", "tensor1", "tensor2", "value"),
    "lerp.Scalar": Call("LerpScalar", "self", "end", Real("weight")),
    "lerp.Tensor": Call("Lerp", "self", "end", "weight", numbers=True),
}

# Activation functions and their gradients

CALLS |= {
    "_prelu_kernel": Call("PReLU", "self", "weight"),
    "_prelu_kernel_backward": Call("PReLUGrad", "grad_output", "self", "weight"),
    "_log_softmax": Call("LogSoftmaxExt", "self", "dim", Constant(None)),
    "_softmax_backward_data": Call("SoftmaxBackward", "grad_output", "output", "dim"),
    "gelu": Call("NpuGelu", "self", "approximate"),
    "hardsigmoid_backward": Call("HSigmoidGrad", "grad_output", "self"),
    "hardswish_backward": Call("HSwishGrad", "grad_output", "self"),
    "hardtanh": Call("Hardtanh", "self", "min_val", "max_val"),
    "hardtanh_backward": Call("HardtanhGrad", "grad_output", "self", "min_val", "max_val"),
    "leaky_relu": Call("LeakyReLUExt", "self", "negative_slope"),
    "leaky_relu_backward": Call("LeakyReLUGradExt", "grad_output", "self", "negative_slope", "self_is_result"),
    "mish_backward": Call("MishGradExt", "grad_output", "self"),
    "sigmoid_backward": Call("SigmoidGrad", "output", "grad_output"),
    "silu_backward": Call("SiLUGrad", "grad_output", "self"),
    "softplus": Call("SoftplusExt", "self", "beta", "threshold"),
    "softplus_backward": Call("SoftplusGradExt", "grad_output", "self", "beta", "threshold"),
    "tanh_backward": Call("TanhGrad", "output", "grad_output"),
    "threshold": Call("Threshold", "self", "threshold", "value"),
    "threshold_backward": Call("ThresholdGrad", "grad_output", "self", "threshold"),
}

# Reductions and scans

CALLS |= {
    "argmax": Call("ArgMaxExt", "self", "dim", "keepdim"),
    "argmin": Call("ArgMinExt", "self", "dim", "keepdim"),
    "count_nonzero": Call("CountNonZero", "self", "dim"),
    "cummin": Call("CumminExt", "self", "dim"),
    "histc": Call("HistcExt", "self", "bins", "min", "max"),
    "kthvalue": Call("Kthvalue", "self", "k", "dim", "keepdim"),
    "logsumexp": Call("LogSumExp", "self", "dim", "keepdim"),
    "max": Call("Max", "self"),
    "max.dim": Call("MaxDim", "self", "dim", "keepdim"),
    "median": Call("MedianExt", "self"),
    "median.dim": Call("MedianDim", "self", "dim", "keepdim"),
    "min": Call("Min", "self"),
    "min.dim": Call("MinDim", "self", "dim", "keepdim"),
    "std.correction": Call("Std", "self", "dim", Correction(), "keepdim"),
    "std_mean.correction": Call("StdMean", "self", "dim", Correction(), "keepdim"),
    "var.correction": Call("Var", "self", "dim", Correction(), "keepdim"),
    "var_mean.correction": Call("VarMean", "self", "dim", Correction(), "keepdim"),
}

# Sorting

CALLS |= {
    "sort.stable": Call("SortExt", "self", "dim", "descending", Flag("stable")),
    "topk": Call("TopkExt", "self", "k", "dim", "largest", "sorted"),
    "_unique2": Call("Unique2", "self", "sorted", "return_inverse", "return_counts"),
}

# Products

CALLS |= {
    "addmm": Call("Addmm", "self", "mat1", "mat2", "beta", "alpha"),
    "addmv": Call("Addmv", "self", "mat", "vec", "beta", "alpha"),
    "baddbmm": Call("Baddbmm", "self", "batch1", "batch2", "beta", "alpha"),
    "bmm": Call("MatMulExt", "self", "mat2"),
    "dot": Call("Dot", "self", "tensor"),
    "vdot": Call("Vdot", "self", "other"),
    "linear": Call("Dense", "input", "weight", "bias"),
    "mm": Call("MatMulExt", "self", "mat2"),
    "mv": Call("Mv", "self", "vec"),
}

# Indexing

CALLS |= {
    "bincount": Call("BincountExt", "self", "weights", "minlength"),
    "repeat": Call("Repeat", "self", "repeats"),
    "constant_pad_nd": Call("ConstantPadND", "self", "pad", "value"),
    "embedding": Call(
        "Embedding", "indices", "weight", Index("padding_idx"), Constant(None), Constant(2.0), "scale_grad_by_freq"
    ),
    "embedding_dense_backward": Call(
        "EmbeddingDenseBackward", "grad_output", "indices", "num_weights", Index("padding_idx"), "scale_grad_by_freq"
    ),
    "gather": Call("GatherD", "self", "dim", "index"),
    "index_add": Call("IndexAddExt", "self", "dim", "index", "source", "alpha"),
    "index_fill.int_Scalar": Call("IndexFillScalar", "self", "dim", "index", "value"),
    "index_fill.int_Tensor": Call("IndexFillTensor", "self", "dim", "index", "value"),
    "index_select": Call("IndexSelect", "self", "dim", "index"),
    "masked_scatter": Call("MaskedScatter", "self", "mask", "source"),
    "masked_select": Call("MaskedSelect", "self", "mask"),
    "nonzero": Call("NonZero", "self"),
    "scatter_add": Call("ScatterAddExt", "self", "dim", "index", "src"),
    "take": Call("Take", "self", "index"),
    "trace": Call("TraceExt", "self"),
    "tril": Call("TrilExt", "self", "diagonal"),
}

# Normalization, convolution, pooling, padding

_POOLING = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
CALLS |= {
    "native_layer_norm": Call("LayerNormExt", "input", "normalized_shape", "weight", "bias", "eps"),
    "native_group_norm": Call("GroupNorm", "input", "group", "weight", "bias", "eps"),
    "convolution": Call(
        "Convolution",
        "input",
        "weight",
        "bias",
        "stride",
        "padding",
        "dilation",
        "transposed",
        "output_padding",
        "groups",
    ),
    "avg_pool2d": Call("AvgPool2D", "self", *_POOLING),
    "avg_pool2d_backward": Call("AvgPool2DGrad", "grad_output", "self", *_POOLING),
    "avg_pool3d": Call("AvgPool3DExt", "self", *_POOLING),
    "avg_pool3d_backward": Call("AvgPool3DGradExt", "grad_output", "self", *_POOLING),
    "_adaptive_avg_pool2d_backward": Call("AdaptiveAvgPool2DGradExt", "grad_output", "self"),
    "_adaptive_avg_pool3d": Call("AdaptiveAvgPool3DExt", "self", "output_size"),
    "_adaptive_avg_pool3d_backward": Call("AdaptiveAvgPool3DGradExt", "grad_output", "self"),
    "pixel_shuffle": Call("PixelShuffle", "self", "upscale_factor"),
}
for _kind, _word in (("reflection", "Reflection"), ("replication", "Replication")):
    for _n in (1, 2, 3):
        CALLS[f"{_kind}_pad{_n}d"] = Call(f"{_word}Pad{_n}D", "self", "padding")
        CALLS[f"{_kind}_pad{_n}d_backward"] = Call(f"{_word}Pad{_n}DGrad", "grad_output", "self", "padding")
