"""Bilinear maps written in other operators."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..dtypes import cpp_type_name


@composite("bilinear")
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any) -> Any:
    """input1 (*, I), input2 (*, J), weight (O, I, J), bias (O,) -> (*, O)."""
    _check(input1, input2, weight, bias)
    rows = input1.reshape(-1, input1.shape[-1]), input2.reshape(-1, input2.shape[-1])
    result = find_overload("_trilinear.of_rows").call(*rows, weight).reshape(*input1.shape[:-1], weight.shape[0])
    return result if bias is None else result + bias


@composite("_trilinear.of_rows", explicit=True)
def bilinear_of_rows(input1: Any, input2: Any, weight: Any) -> Any:
    """input1 (N, I), input2 (N, J), weight (O, I, J) -> (N, O)."""
    outputs, rows, columns = weight.shape
    left = input1 @ weight.transpose(0, 1).reshape(rows, outputs * columns)
    products = left.view(-1, outputs, columns) * input2.unsqueeze(1)
    return products.sum(-1, dtype=products.dtype)


def _check(input1: Any, input2: Any, weight: Any, bias: Any) -> None:
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    if any(tensor is not None and tensor.dtype is not input1.dtype for tensor in given.values()):
        names = [f"{name}: {cpp_type_name(t.dtype)}" for name, t in given.items() if t is not None]
        raise RuntimeError(f"All tensors must have the same dtype, got {', '.join(names)}")
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for dim, (size, other) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if size != other:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {size} and {other}")
    for name, tensor in (("input1", input1), ("input2", input2)):
        wanted = weight.size(1 if name == "input1" else 2)
        if tensor.size(-1) != wanted:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {tensor.shape[-1]} but expected {wanted}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
