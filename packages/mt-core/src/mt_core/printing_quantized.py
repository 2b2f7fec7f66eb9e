"""``repr`` of quantized tensors: the numbers that they stand for, and how, in PyTorch's arrangement."""

from __future__ import annotations

from typing import Any

from .quantized.tensors import PerTensor

__all__ = ["quantized_text"]


def quantized_text(tensor: Any, part_text: Any, with_suffixes: Any) -> str:
    """The text of a quantized tensor.

    Parameters
    ----------
    part_text
        (tensor, indent) -> the text of elements.
    with_suffixes
        (text, suffixes, indent, on a new line) -> the text with these behind it.
    """
    quantizer = tensor._array.quantizer
    told = [f"size={tuple(tensor.shape)}"]
    if tensor.device.type != "cpu":
        told.append(f"device='{tensor.device}'")
    told += [f"dtype={tensor.dtype}", f"quantization_scheme={quantizer.scheme!r}"]
    if isinstance(quantizer, PerTensor):
        told += [f"scale={quantizer.scale}", f"zero_point={quantizer.zero_point}"]
    else:
        told += [f"scale={quantizer.scales}", f"zero_point={quantizer.zero_points}", f"axis={quantizer.axis}"]
    indent = len("tensor(")
    return with_suffixes("tensor(" + part_text(tensor.dequantize(), indent), told, indent, False)  # type: ignore[no-any-return]
