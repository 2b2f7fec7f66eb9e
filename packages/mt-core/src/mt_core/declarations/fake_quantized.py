"""Rounding as quantized tensors do, in floating point."""

from __future__ import annotations

from ._declare import Family

family = Family("fake_quantized")

_RANGE = "int quant_min, int quant_max"
_LEARNABLE = f"Tensor scale, Tensor zero_point, {{}}{_RANGE}, float grad_factor=1"
for _text, _doc in (
    (
        f"fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, {_RANGE}) -> Tensor",
        "The numbers that integers from quant_min to quant_max hold of `self`; the gradient passes within the range.",
    ),
    (
        f"fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, {_RANGE}) -> Tensor",
        "As with numbers, in tensors of one element.",
    ),
    (
        f"fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, {_RANGE}) -> Tensor",
        "The same with a scale and a zero point for each index of a dimension.",
    ),
):
    family.composite(_text, variants="function", doc=_doc)
for _text, _variants, _doc in (
    (
        (
            f"fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, {_RANGE}) -> "
            "(Tensor output, Tensor mask)"
        ),
        "",
        "What `fake_quantize_per_tensor_affine` records: its result, and where `self` is within the range.",
    ),
    (
        (
            "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
            f"Tensor fake_quant_enabled, {_RANGE}) -> (Tensor output, Tensor mask)"
        ),
        "function",
        "The same of numbers in tensors; where `fake_quant_enabled` is 0, `self` itself.",
    ),
    (
        (
            "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, "
            f"{_RANGE}) -> (Tensor output, Tensor mask)"
        ),
        "",
        "What `fake_quantize_per_channel_affine` records.",
    ),
    (
        f"_fake_quantize_learnable_per_tensor_affine(Tensor self, {_LEARNABLE.format('')}) -> Tensor",
        "function",
        "`fake_quantize_per_tensor_affine` with gradients of scale and zero point (Esser et al. 2020), times grad_factor.",
    ),
    (
        f"_fake_quantize_learnable_per_channel_affine(Tensor self, {_LEARNABLE.format('int axis, ')}) -> Tensor",
        "function",
        "`fake_quantize_per_channel_affine` with gradients of scales and zero points, times grad_factor.",
    ),
):
    family.composite(_text, variants=_variants, doc=_doc)
