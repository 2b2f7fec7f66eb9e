"""Bilinear maps written in other operators."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_composite as composite

_C_NAMES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16"}


@composite("bilinear")
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> Any:
    """input1 (*, I), input2 (*, J), weight (O, I, J), bias (O,) -> (*, O)."""
    _check(input1, input2, weight, bias)
    outputs, rows, columns = weight.shape
    left = input1.reshape(-1, rows) @ weight.transpose(0, 1).reshape(rows, outputs * columns)
    products = left.view(-1, outputs, columns) * input2.reshape(-1, 1, columns)
    result = products.sum(-1, dtype=products.dtype).view(*input1.shape[:-1], outputs)
    return result if bias is None else result + bias


def _check(input1: Any, input2: Any, weight: Any, bias: Any) -> None:
    if not input1.dtype is input2.dtype is weight.dtype:
        names = [_C_NAMES.get(given.dtype.name, given.dtype.name) for given in (input1, input2, weight)]
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {names[0]}, input2: {names[1]}, weight: {names[2]}"
        )
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for dim, (size, other) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if size != other:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {size} and {other}")
    for name, given in (("input1", input1), ("input2", input2)):
        wanted = weight.shape[1 if name == "input1" else 2]
        if given.shape[-1] != wanted:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {given.shape[-1]} but expected {wanted}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
