"""Which primitive of MindSpore's carries out an operator on Ascend, and with which of the operator's arguments.

Read it as ``operator: Call(primitive, its arguments in order)``: a word is the operator's argument of that name. What
primitives take is MindSpore's to say; a test compares every line with the signatures that MindSpore 2.10 gives
(`tests/snapshots/ascend_signatures.json`). No line has run on an Ascend device.

This module does not import MindSpore.
"""

from __future__ import annotations

import math

from .ascend_arguments import (
    AttentionScale,
    Bit,
    Call,
    Constant,
    Correction,
    DtypeOrDefault,
    Flag,
    Flags,
    Given,
    Heads,
    Index,
    IndexDtype,
    One,
    Only,
    OrNone,
    Present,
    Real,
    Reduction,
    Scales,
    Several,
    Side,
    Stride,
    Terms,
    Word,
)  # fmt: skip

__all__ = ["CALLS", "INPLACE"]

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

for _bound, _ends in (("clamp_max", (Constant(None), "max")), ("clamp_min", ("min", Constant(None)))):
    CALLS[_bound] = Call("ClampScalar", "self", *_ends)
    CALLS[f"{_bound}.Tensor"] = Call("ClampTensor", "self", *_ends, numbers=True)
CALLS |= {
    "deg2rad": Call("Muls", "self", Constant(math.pi / 180)),
    "div.Tensor_mode": Call("DivMod", "self", "other", "rounding_mode"),
    "isclose": Call("IsClose", "self", "other", made_with={"rtol": "rtol", "atol": "atol", "equal_nan": "equal_nan"}),
    "isnan": Call("NotEqual", "self", "self"),
    "nan_to_num": Call("NanToNum", "self", made_with={"nan": "nan", "posinf": "posinf", "neginf": "neginf"}),
    "rad2deg": Call("Muls", "self", Constant(180 / math.pi)),
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

_UNSCALED = (Only("scale", 1), Only("input_scale", 1))
CALLS |= {
    "_log_softmax_backward_data": Call("LogSoftmaxGrad", "output", "grad_output", made_with={"axis": "dim"}),
    "_softmax": Call("Softmax", "self", made_with={"axis": "dim"}),
    "elu": Call("EluExt", "self", made_with={"alpha": Real("alpha")}, where=_UNSCALED),
    "elu_backward": Call("EluGradExt", "grad_output", "self_or_result", Real("alpha"), "is_result", where=_UNSCALED),
    "gelu_backward": Call("GeluGradExt", "grad_output", "self", "approximate"),
    "glu": Call("GLU", "self", made_with={"axis": "dim"}),
    "glu_backward": Call("GluGrad", "grad_output", "self", made_with={"axis": "dim"}),
    "hardshrink": Call("HShrink", "self", made_with={"lambd": "lambd"}),
    "hardshrink_backward": Call("HShrinkGrad", "grad_out", "self", made_with={"lambd": "lambd"}),
    "log_sigmoid_backward": Call("LogSigmoidGrad", "grad_output", "self", "buffer"),
    "log_sigmoid_forward": Call("LogSigmoid", "self"),
    "softshrink": Call("SoftShrink", "self", made_with={"lambd": "lambd"}),
    "softshrink_backward": Call("SoftShrinkGrad", "grad_output", "self", made_with={"lambd": "lambd"}),
}

for _operator, _call in CALLS.items():
    _call.alike = _operator.endswith("_backward") and _operator != "glu_backward"

# Reductions and scans

CALLS |= {
    "all": Call("ReduceAll", "self", Constant(None), made_with={"keep_dims": Constant(False)}),
    "all.dim": Call("ReduceAll", "self", "dim", made_with={"keep_dims": "keepdim"}),
    "all.dims": Call("ReduceAll", "self", Several("dim"), made_with={"keep_dims": "keepdim"}),
    "amax": Call("ReduceMax", "self", "dim", made_with={"keep_dims": "keepdim"}),
    "amin": Call("ReduceMin", "self", "dim", made_with={"keep_dims": "keepdim"}),
    "any": Call("Any", "self"),
    "any.dim": Call("AnyExt", "self", One("dim"), "keepdim"),
    "any.dims": Call("ReduceAny", "self", Several("dim"), made_with={"keep_dims": "keepdim"}),
    "count_nonzero.dim_IntList": Call("CountNonZero", "self", Several("dim")),
    "cummax": Call("Cummax", "self", made_with={"axis": "dim"}),
    "cumsum": Call("CumsumExt", "self", "dim", "dtype"),
    "linalg_vector_norm": Call("LinalgVectorNorm", "self", "ord", "dim", "keepdim", "dtype"),
    "mean": Call("MeanExt", "self", Constant(None), Constant(False), "dtype"),
    "mean.dim": Call("MeanExt", "self", "dim", "keepdim", "dtype"),
    "nansum": Call("Nansum", "self", "dim", "keepdim", "dtype"),
    "prod": Call("ProdExt", "self", Constant(None), Constant(False), "dtype"),
    "prod.dim_int": Call("ProdExt", "self", One("dim"), "keepdim", "dtype"),
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
    "argsort": Call("ArgSort", "self", "dim", "descending", Constant(True)),
    "argsort.stable": Call("ArgSort", "self", "dim", "descending", "stable"),
    "searchsorted.Tensor": Call(
        "SearchSorted",
        "sorted_sequence",
        "self",
        "sorter",
        made_with={"dtype": IndexDtype("out_int32"), "right": Side()},
    ),
    "sort": Call("SortExt", "self", "dim", "descending", Constant(True)),
    "sort.stable": Call("SortExt", "self", "dim", "descending", Flag("stable")),
    "topk": Call("TopkExt", "self", "k", "dim", "largest", "sorted"),
    "_unique2": Call("Unique2", "self", "sorted", "return_inverse", "return_counts"),
    "unique_dim": Call("UniqueDim", "self", "sorted", "return_inverse", "dim"),
}

# Products, attention, solvers

CALLS |= {
    "_cdist_forward": Call("Cdist", "x1", "x2", made_with={"p": Real("p")}),
    "_plain_attention": Call(
        "FlashAttentionScore",
        "query",
        "key",
        "value",
        result=3,
        where=(Only("is_causal", False),),
        made_with={"head_num": Heads(), "scale_value": AttentionScale(), "input_layout": Constant("BNSD")},
    ),
    "addbmm": Call("Addbmm", "self", "batch1", "batch2", "beta", "alpha", where=(Terms("batch1"),)),
    "linalg_cross": Call("Cross", "self", "other", made_with={"dim": "dim"}),
    "linalg_qr": Call("LinalgQr", "A", "mode"),
    "outer": Call("Outer", "self", "vec2"),
    "triangular_solve": Call("TriangularSolve", "self", "A", "upper", "transpose", "unitriangular"),
    "addmm": Call("Addmm", "self", "mat1", "mat2", "beta", "alpha", where=(Terms("mat1"),)),
    "addmv": Call("Addmv", "self", "mat", "vec", "beta", "alpha", where=(Terms("mat"),)),
    "baddbmm": Call("Baddbmm", "self", "batch1", "batch2", "beta", "alpha", where=(Terms("batch1"),)),
    "bmm": Call("MatMulExt", "self", "mat2", where=(Terms("self"),)),
    "dot": Call("Dot", "self", "tensor"),
    "vdot": Call("Vdot", "self", "other"),
    "linear": Call("Dense", "input", "weight", "bias", where=(Terms("input"),)),
    "mm": Call("MatMulExt", "self", "mat2", where=(Terms("self"),)),
    "mv": Call("Mv", "self", "vec", where=(Terms("self"),)),
}

# Indexing, movements, what is made of nothing

CALLS |= {
    "eye": Call("Eye", "n", "n", DtypeOrDefault("dtype")),
    "eye.m": Call("Eye", "n", "m", DtypeOrDefault("dtype")),
    "flip": Call("ReverseV2", "self", made_with={"axis": Several("dims")}),
    "index.Tensor": Call("Index", "self", Present("indices")),
    "linspace": Call("LinSpaceExt", "start", "end", "steps", DtypeOrDefault("dtype")),
    "repeat_interleave.self_int": Call("RepeatInterleaveInt", "self", "repeats", "dim", "output_size"),
    "repeat_interleave.self_Tensor": Call("RepeatInterleaveTensor", "self", "repeats", "dim", "output_size"),
    "roll": Call("Roll", "self", made_with={"shifts": "shifts", "dims": OrNone("dims")}),
    "scatter.src": Call("Scatter", "self", "dim", "index", "src", Constant("none")),
    "scatter.value": Call("ScatterValue", "self", "dim", "index", "value", Constant("none")),
    "stack": Call("StackExt", "tensors", made_with={"dim": "dim"}),
    "triu": Call("Triu", "self", made_with={"diagonal": "diagonal"}),
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
CALLS |= {
    "_adaptive_avg_pool2d": Call("AdaptiveAvgPool2DExt", "self", "output_size"),
    "adaptive_max_pool2d": Call("AdaptiveMaxPool2D", "self", made_with={"output_size": "output_size"}),
    "col2im": Call("Col2ImExt", "self", "output_size", "kernel_size", "dilation", "padding", "stride"),
    "im2col": Call("Im2ColExt", "self", "kernel_size", "dilation", "padding", "stride"),
}
_MAX_POOLING = {
    "kernel_size": "kernel_size", "strides": Stride(), "pads": "padding", "dilation": "dilation",
    "ceil_mode": "ceil_mode",
}  # fmt: skip
CALLS["max_pool2d_with_indices"] = Call("MaxPoolWithIndices", "self", made_with=_MAX_POOLING)
CALLS |= {
    "_fused_rms_norm": Call("RmsNorm", "input", Given("weight"), made_with={"epsilon": Given("eps")}),
    "native_group_norm_backward": Call(
        "GroupNormGrad", "grad_out", "input", "mean", "rstd", Given("weight"), "group",
        *(Bit("output_mask", place) for place in range(3)), masked="output_mask",
    ),
    "native_layer_norm_backward": Call(
        "LayerNormGradExt", "grad_out", "input", "normalized_shape", "mean", "rstd", Given("weight"), Given("bias"),
        Flags("output_mask"), masked="output_mask",
    ),
}  # fmt: skip

# Samples between elements

_PLACES = {
    "interpolation_mode": Word("interpolation_mode", "bilinear", "nearest"),
    "padding_mode": Word("padding_mode", "zeros", "border", "reflection"),
    "align_corners": "align_corners",
}
for _n in (2, 3):
    CALLS[f"grid_sampler_{_n}d"] = Call(f"GridSampler{_n}D", "input", "grid", made_with=_PLACES)


def _upsampling(kind: str, word: str, factors: tuple[str, ...], corners: tuple[str, ...], made: bool = False) -> None:
    made_with = dict(zip(corners, corners, strict=True)) if made else {}
    rest = (Constant(None), *(() if made else corners))
    CALLS[kind] = Call(word, "self", "output_size", *rest, made_with=made_with, where=(Scales(*factors),))
    CALLS[f"{kind}_backward"] = Call(
        f"{word}Grad", "grad_output", "input_size", "output_size", *rest, made_with=made_with,
        where=(Scales(*factors, sizes="input_size"),),
    )  # fmt: skip


_FACTORS = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
for _n in (1, 2, 3):
    _upsampling(f"upsample_nearest{_n}d", f"UpsampleNearest{_n}D", _FACTORS[_n], ())
_upsampling("upsample_linear1d", "UpsampleLinear1D", _FACTORS[1], ("align_corners",))
_upsampling("upsample_bilinear2d", "UpsampleBilinear2D", _FACTORS[2], ("align_corners",))
_upsampling("upsample_bicubic2d", "UpsampleBicubic2D", _FACTORS[2], ("align_corners",))
_upsampling("upsample_trilinear3d", "UpsampleTrilinear3D", _FACTORS[3], ("align_corners",), made=True)

# Losses

_REDUCED = {"reduction": Reduction()}
_PICKED = _REDUCED | {"ignore_index": "ignore_index"}
CALLS |= {
    "binary_cross_entropy": Call("BinaryCrossEntropy", "self", "target", "weight", made_with=_REDUCED),
    "kl_div": Call("KLDiv", "self", "target", Reduction(), "log_target"),
    "l1_loss": Call("L1LossExt", "self", "target", Reduction()),
    "mse_loss": Call("MSELossExt", "self", "target", Reduction()),
    "nll_loss_backward": Call(
        "NLLLossGrad", "self", "grad_output", "target", Given("weight"), "total_weight", made_with=_PICKED
    ),
    "nll_loss_forward": Call("NLLLoss", "self", "target", Given("weight"), made_with=_PICKED),
    "smooth_l1_loss": Call("SmoothL1Loss", "self", "target", made_with=_REDUCED | {"beta": "beta"}),
    "soft_margin_loss": Call("SoftMarginLoss", "self", "target", made_with=_REDUCED),
}

#: Primitives that write their result into the first operand, for calls whose result is asked for there: with a tensor,
#: and with a number, as the second.
INPLACE: dict[str, tuple[Call, Call | None]] = {
    "add.Tensor": (Call("InplaceAddExt", "self", "other", "alpha"), Call("InplaceAddsExt", "self", "other", "alpha")),
    "sub.Tensor": (Call("InplaceSubExt", "self", "other", "alpha"), Call("InplaceSubScalar", "self", "other", "alpha")),
    "mul.Tensor": (Call("InplaceMul", "self", "other"), Call("InplaceMuls", "self", "other")),
    "div.Tensor": (Call("InplaceDiv", "self", "other"), Call("InplaceDivs", "self", "other")),
    "floor_divide": (Call("InplaceFloorDivide", "self", "other"), Call("InplaceFloorDivides", "self", "other")),
    "remainder.Tensor": (Call("InplaceRemainderTensorTensor", "self", "other"), None),
    "clamp": (Call("InplaceClampScalar", "self", "min", "max"), None),
    "hardtanh": (Call("InplaceHardtanh", "self", "min_val", "max_val"), None),
    "threshold": (Call("InplaceThreshold", "self", "threshold", "value"), None),
}
for _operator, _primitive in {
    "erfinv": "InplaceErfinv", "exp": "InplaceExp", "floor": "InplaceFloor", "log": "InplaceLog", "relu": "InplaceReLU",
    "sigmoid": "InplaceSigmoid", "sign": "InplaceSign", "silu": "InplaceSiLU", "tanh": "InplaceTanh",
}.items():  # fmt: skip
    INPLACE[_operator] = (Call(_primitive, "self"), None)
