"""Tensors as PyTorch's C++ prints them, in its messages: `text_of`, and the names of their types: `type_text`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

from . import dtypes

__all__ = ["text_of", "type_text"]

_LINE = 80
_NAMED = frozenset(["Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"])


def type_text(tensor: Any) -> str:
    """``torch.FloatTensor``; of types that came later ``CPUBoolType``."""
    name = dtypes.scalar_type_name(tensor.dtype)
    return f"torch.{name}Tensor" if name in _NAMED else f"CPU{name}Type"


def text_of(tensor: Any) -> str:
    """A tensor of two dimensions or more: its matrices, of complex numbers the real parts, then its type and shape."""
    shape = tuple(tensor.shape)
    values = tensor.detach()
    rows = (values.real if values.is_complex() else values).tolist()
    body = "".join(_matrices(rows, shape)) if tensor.numel() else ""
    return f"{body}[ {type_text(tensor)}{{{','.join(map(str, shape))}}} ]"


def _matrices(rows: Any, shape: tuple[int, ...]) -> Iterator[str]:
    """The matrices of the last two dimensions, each under its indices, of which the first changes fastest."""
    if len(shape) == 2:
        yield _matrix(rows, 0)
        return
    for number, reversed_index in enumerate(product(*map(range, reversed(shape[:-2])))):
        index, matrix = reversed_index[::-1], rows
        for i in index:
            matrix = matrix[i]
        head = "".join(f"{i + 1}," for i in index)
        yield f"{chr(10) if number else ''}({head}.,.) = \n{_matrix(matrix, 1)}"


def _matrix(rows: list[list[Any]], indent: int) -> str:
    """Lines of columns that are alike wide, as many as a line holds side by side; all but the first are indented."""
    style, width, scale = _format([float(value) for row in rows for value in row])
    margin, columns = " " * indent, len(rows[0])
    per_line = (_LINE - indent) // (width + 1)
    text = ""
    for first in range(0, columns, per_line):
        last = min(first + per_line, columns)
        if per_line < columns:
            text += f"{chr(10) if first else ''}Columns {first + 1} to {last}{margin}"
        if scale != 1:
            text += f"{scale:g} *\n{margin}"
        lines = [" ".join(f"{row[c] / scale:{style}}".rjust(width) for c in range(first, last)) for row in rows]
        text += f"\n{' ' if scale != 1 else ''}".join([lines[0], *(margin + line for line in lines[1:])]) + "\n"
    return text


def _format(values: list[float]) -> tuple[str, int, float]:
    """(format of a number, width of a column, factor that is taken out of all)."""
    finite = [abs(value) for value in values if math.isfinite(value)]
    least, most = (_digits(min(finite)), _digits(max(finite))) if finite else (1, 1)
    if all(value == math.ceil(value) for value in finite):
        return (".4e", 11, 1.0) if most > 9 else ("g", most + 1, 1.0)
    if most - least > 4:
        return ".4e", 11 + (abs(most) > 99 or abs(least) > 99), 1.0
    if most > 5 or most < 0:
        return ".4f", 7, 10.0 ** (most - 1)
    return ".4f", 7 if most == 0 else most + 6, 1.0


def _digits(value: float) -> int:
    """How many digits stand before the point."""
    return math.floor(math.log10(value)) + 1 if value else 1
