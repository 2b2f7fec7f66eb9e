"""``repr`` of sparse tensors: what they consist of, in PyTorch's arrangement."""

from __future__ import annotations

from typing import Any

from . import dtypes
from .formats import sparse_csr
from .sparse.tensors import Coordinates

__all__ = ["sparse_text"]


def sparse_text(array: Any, d: dtypes.dtype, suffixes: list[str], part_text: Any, with_suffixes: Any) -> str:
    """The text of a sparse tensor.

    Parameters
    ----------
    array
        Its insides.
    suffixes
        What is said of its history.
    part_text
        (tensor, indent) -> the text of a part's elements.
    with_suffixes
        (text, suffixes, indent, on a new line) -> the text with these behind it.
    """
    indent = len("tensor(")
    parts: list[tuple[str, Any]]
    if isinstance(array, Coordinates):
        parts = [("indices", array.indices)]
    elif array.layout is sparse_csr:
        parts = [("crow_indices", array.pointers), ("col_indices", array.plain)]
    else:
        parts = [("ccol_indices", array.pointers), ("row_indices", array.plain)]
    lines = []
    for name, part in [*parts, ("values", array.values)]:
        prefix = f"{name}=tensor("
        text = part_text(part, indent + len(prefix))
        if not part.numel():
            text += f", size={tuple(part.shape)}"
        lines.append(f"{prefix}{text})")
    told = [f"size={tuple(array.shape)}", f"nnz={array.nnz}"]
    if array.device.type != "cpu":
        told.insert(0, f"device='{array.device}'")
    default = dtypes.get_default_dtype()
    complex_default = dtypes.complex128 if default is dtypes.float64 else dtypes.complex64
    if d not in (default, complex_default, dtypes.int64, dtypes.bool):
        told.append(f"dtype={d}")
    told += [f"layout={array.layout!r}", *suffixes]
    body = "tensor(" + (",\n" + " " * indent).join(lines)
    return with_suffixes(body, told, indent, isinstance(array, Coordinates))  # type: ignore[no-any-return]
