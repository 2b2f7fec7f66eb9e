"""Quantized tensors: making them, and what they consist of.

What other operators do to quantized tensors stands in `mt_core.quantized.rules`.
"""

from __future__ import annotations

from ._declare import Family

family = Family("quantized")

for _text, _doc in (
    (
        "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor",
        "float32 `self` as integers: round(self / scale) + zero_point, within the dtype.",
    ),
    (
        "quantize_per_tensor.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, ScalarType dtype) -> Tensor",
        "As with numbers, read from tensors of one element.",
    ),
    (
        "quantize_per_tensor.tensors(Tensor[] tensors, Tensor scales, Tensor zero_points, ScalarType dtype) -> Tensor[]",
        "Each tensor with its own scale and zero point.",
    ),
    (
        "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor",
        "float32 `self` as integers, with a scale and a zero point for each index of a dimension.",
    ),
    (
        "quantize_per_tensor_dynamic(Tensor self, ScalarType dtype, bool reduce_range) -> Tensor",
        "float32 `self` as 8-bit integers, with the scale and zero point that its least and greatest elements ask for.",
    ),
    (
        "_choose_qparams_per_tensor(Tensor self, bool reduce_range=False) -> (float, int)",
        "The scale and zero point that hold the elements in 8 bits, or 7 with `reduce_range`.",
    ),
    (
        "_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor",
        "Integers as the quantized tensor that they are the elements of.",
    ),
    (
        "_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor",
        "The same, with a scale and a zero point for each index of a dimension.",
    ),
    (
        (
            "_empty_affine_quantized(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
            "bool? pin_memory=None, float scale=1, int zero_point=0, MemoryFormat? memory_format=contiguous_format) -> Tensor"
        ),
        "A quantized tensor whose elements are not set.",
    ),
):
    family.composite(_text, variants="function", doc=_doc)
family.composite(
    "dequantize.tensors(Tensor[] tensors) -> Tensor[]", variants="function", doc="`dequantize` of each tensor."
)
for _text, _variants, _doc in (
    ("dequantize.self(Tensor self) -> Tensor", "function method", "float32 elements; float32 tensors are left alone."),
    ("int_repr(Tensor self) -> Tensor", "function method", "The integers of a quantized tensor: uint8, int8 or int32."),
    ("q_scale(Tensor self) -> float", "function method", "The scale of a tensor with one."),
    ("q_zero_point(Tensor self) -> int", "function method", "The zero point of a tensor with one."),
    (
        "q_per_channel_scales(Tensor self) -> Tensor",
        "function method",
        "The scales (channels) of a tensor with several.",
    ),
    ("q_per_channel_zero_points(Tensor self) -> Tensor", "function method", "The zero points (channels) likewise."),
    ("q_per_channel_axis(Tensor self) -> int", "function method", "The dimension that they belong to."),
    ("qscheme(Tensor self) -> QScheme", "method", "How integers stand for numbers: `torch.per_tensor_affine` ..."),
):
    family.composite(_text, variants=_variants, doc=_doc)
