"""``repr`` of tensors and ``torch.set_printoptions``.

The text is made from a NumPy array, so that any backend's tensor is printed the same way once its elements are on the
host.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import dtypes
from .dtypes import dtype as DType
from .host import host_array
from .keys import FORWARD_GRAD, HOLLOW, PYTHON, QUANTIZED, SPARSE
from .python_dispatch import dispatches
from .tensor import Tensor

__all__ = ["PRINT_OPTS", "array_repr", "get_printoptions", "printoptions", "set_printoptions", "tensor_repr"]


@dataclass
class PrintOptions:
    """What `set_printoptions` sets; see there."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
#: The options in force; `set_printoptions` changes this object.
PRINT_OPTS = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; an option that is None stays as it is, or as `profile` has it.

    Parameters
    ----------
    precision
        Digits behind the decimal point (default 4).
    threshold
        Tensors with more elements are shortened (default 1000).
    edgeitems
        Elements shown at both ends of a shortened dimension (default 3).
    linewidth
        Characters in a line (default 80).
    profile : {"default", "short", "full"}
        Values for all of the above, any upper case accepted; other names are ignored.
    sci_mode
        Scientific notation always (True), never (False), or where the numbers call for it (None). Unlike the others,
        every call sets it.
    """
    chosen = _PROFILES.get(profile.lower(), {}) if profile is not None else {}
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in (*chosen.items(), *given.items()):
        if value is not None:
            setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as a dictionary that `set_printoptions` takes."""
    return dict(vars(PRINT_OPTS))


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions` for the length of a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def array_repr(
    array: np.ndarray | None,
    d: DType,
    *,
    shape: tuple[int, ...] | None = None,
    prefix: str = "tensor(",
    device: str | None = None,
    requires_grad: bool = False,
    grad_fn: str | None = None,
    contents: str | None = None,
    tangent: Tensor | None = None,
) -> str:
    """The text that PyTorch's ``repr`` gives for a tensor of these elements and properties.

    Parameters
    ----------
    array
        The elements, in the storage type of `d`; None for a tensor without data, whose `shape` is given instead.
    prefix
        Name of the class and an opening parenthesis.
    device
        What to print behind ``device=``; None for the default device.
    grad_fn
        Name of the node's class, or None.
    contents
        Printed in place of the elements.
    tangent
        The tangent of forward mode, or None.
    """
    suffixes = [] if device is None else [f"device='{device}'"]
    if array is None:
        suffixes += _suffixes_without_elements(shape or (), d, show_size=True)
        text = contents or "..."
    elif not array.size:
        suffixes += _suffixes_without_elements(array.shape, d, show_size=array.ndim != 1)
        text = "[]"
    else:
        if not PRINT_OPTS.edgeitems:
            suffixes.append(f"size={array.shape}")
        if d not in (dtypes.get_default_dtype(), _default_complex(), dtypes.int64, dtypes.bool):
            suffixes.append(f"dtype={d}")
        text = contents or _elements_text(array, d, len(prefix))
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent!r}")
    return _with_suffixes(prefix + text, suffixes, len(prefix))


def _suffixes_without_elements(shape: tuple[int, ...], d: DType, show_size: bool) -> list[str]:
    """Shape and dtype, which no elements tell."""
    size = [f"size={tuple(shape)}"] if show_size else []
    return size if d is dtypes.get_default_dtype() else [*size, f"dtype={d}"]


def _default_complex() -> DType:
    return dtypes.complex128 if dtypes.get_default_dtype() is dtypes.float64 else dtypes.complex64


def _with_suffixes(text: str, suffixes: list[str], indent: int, apart: bool = False) -> str:
    """Append what stands behind the elements, on a new line where the last one is full, or where it is kept `apart`."""
    used = len(text) - text.rfind("\n") + 1
    if apart:
        text += ",\n" + " " * indent + suffixes[0]
        used, suffixes = indent + len(suffixes[0]), suffixes[1:]
    for suffix in suffixes:
        if used + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


# Elements


def _printable(array: np.ndarray, d: DType) -> np.ndarray:
    """The elements as Python-readable numbers: half types widened, pairs of halves made complex."""
    if d is dtypes.complex32:
        parts = np.stack([array["real"], array["imag"]], axis=-1).astype(np.float32)
        return parts.view(np.complex64)[..., 0]
    if d.category == 4 or array.dtype.kind == "V" and d.compute is d:
        raise NotImplementedError(f"printing tensors of dtype {d} is not supported")
    return array.astype(d.compute.numpy_dtype, copy=False)


def _elements_text(stored: np.ndarray, d: DType, indent: int) -> str:
    summarize = stored.size > PRINT_OPTS.threshold
    cut = tuple(summarize and size > 2 * PRINT_OPTS.edgeitems for size in stored.shape)
    # Nothing but the corners is converted: a tensor may be expanded far beyond what memory holds.
    shown = _printable(_corners(stored, cut), d)
    if shown.dtype.kind == "c":
        real, imaginary = _Column(shown.real), _Column(shown.imag)
        write = _complex_writer(real, imaginary)
        width = real.width + imaginary.width + 1
    else:
        column = _Column(shown, has_zero=d is not dtypes.float8_e8m0fnu)
        write, width = column.write, column.width
    return _nested_text(shown, indent, cut, write, width + len(", "))


def _complex_writer(real: _Column, imaginary: _Column) -> Callable[[complex], str]:
    def write(value: complex) -> str:
        tail = (imaginary.write(value.imag) + "j").lstrip()
        return real.write(value.real) + (tail if tail[0] in "+-" else "+" + tail)

    return write


def _corners(array: np.ndarray, cut: tuple[bool, ...]) -> np.ndarray:
    """The elements that a shortened text shows: only they decide about width and notation."""
    edge = PRINT_OPTS.edgeitems
    if not any(cut):
        return array
    shown = [
        [*range(edge), *range(n - edge, n)] if gap else [*range(n)] for n, gap in zip(array.shape, cut, strict=True)
    ]
    return array[np.ix_(*shown)]


def _nested_text(
    array: np.ndarray, indent: int, cut: tuple[bool, ...], write: Callable[[Any], str], element_width: int
) -> str:
    if array.ndim == 0:
        return write(array.item())
    if array.ndim == 1:
        return _row_text(array, indent, cut[0], write, element_width)
    parts = [
        "..." if row is None else _nested_text(row, indent + 1, cut[1:], write, element_width)
        for row in _with_gap(array, cut[0])
    ]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _row_text(array: np.ndarray, indent: int, cut: bool, write: Callable[[Any], str], element_width: int) -> str:
    per_line = max(1, (PRINT_OPTS.linewidth - indent) // element_width)
    if cut and not PRINT_OPTS.edgeitems:
        items = ["..."]
    else:
        items = [" ..." if item is None else write(item) for item in _with_gap(array, cut)]
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_gap(array: np.ndarray, cut: bool) -> list[Any]:
    """The rows (or elements) to show; None stands for those left out."""
    if cut:
        edge = PRINT_OPTS.edgeitems
        return [*_rows(array[:edge]), None, *_rows(array[edge:])]
    return _rows(array)


def _rows(array: np.ndarray) -> list[Any]:
    return array.tolist() if array.ndim == 1 else list(array)


class _Column:
    """Notation and width shared by all numbers of a tensor.

    Parameters
    ----------
    values
        The numbers; real.
    has_zero
        False for the type whose byte 0 is a number: PyTorch leaves that one out in place of 0, and no NaNs.

    Attributes
    ----------
    width : int
        Characters of the widest number.
    """

    def __init__(self, values: np.ndarray, has_zero: bool = True) -> None:
        self._plain: Callable[[Any], str] = str
        decisive = values
        if values.dtype.kind == "f":
            wide = values.astype(np.float64)
            decisive = wide[np.isfinite(wide) & (wide != 0)] if has_zero else wide[~(wide <= 2.0**-127)]
            self._plain = _float_format(decisive)
        self.width = max([1, *(len(self._plain(v)) for v in decisive.ravel().tolist())])

    def write(self, value: Any) -> str:
        return self._plain(value).rjust(self.width)


def _float_format(numbers: np.ndarray) -> Callable[[float], str]:
    """How to write these numbers and the zeros, infinities and NaNs among them."""
    if not numbers.size:
        return _write_whole
    magnitudes = np.abs(numbers)
    low, high = float(magnitudes.min()), float(magnitudes.max())
    whole = bool((numbers == np.ceil(numbers)).all())
    scientific = PRINT_OPTS.sci_mode
    if scientific is None:
        scientific = high / low > 1000.0 or high > 1.0e8 or (not whole and low < 1.0e-4)
    if scientific:
        return f"{{:.{PRINT_OPTS.precision}e}}".format
    return _write_whole if whole else f"{{:.{PRINT_OPTS.precision}f}}".format


def _write_whole(number: float) -> str:
    """Without digits behind the point, which stays to tell the type."""
    return f"{number:.0f}." if math.isfinite(number) else f"{number:.0f}"


# Tensors


def tensor_repr(tensor: Tensor, contents: str | None = None) -> str:
    """``repr(tensor)``; `contents` replaces the text of the elements.

    A subclass is named in the text; one that is marked as a parameter (`_is_param`) is wrapped in ``Parameter(...)``.
    """
    if tensor._keys & SPARSE:
        return _sparse_repr(tensor)
    if tensor._keys & QUANTIZED:
        from .printing_quantized import quantized_text  # lazy: few programs print quantized tensors

        return quantized_text(tensor, _part_text, _with_suffixes)
    if tensor._keys & HOLLOW and (stands := tensor._array.text()) is not None:
        return stands
    plain = type(tensor) is Tensor or type(tensor).__name__ == "Parameter"
    where = tensor.device
    if contents is None and tensor._keys & PYTHON and dispatches(tensor):
        tensor.tolist()  # which refuses: the elements are what the class makes of them
    text = array_repr(
        _elements_of(tensor, contents),
        tensor.dtype,
        shape=tuple(tensor.shape),
        prefix="tensor(" if plain else f"{type(tensor).__name__}(",
        device=None if where.type == "cpu" else str(where),
        requires_grad=tensor.requires_grad,
        grad_fn=_history_name(tensor),
        contents=contents,
        tangent=_innermost_tangent(tensor),
    )
    return text if plain or not getattr(tensor, "_is_param", False) else f"Parameter({text})"


def _sparse_repr(tensor: Tensor) -> str:
    from .printing_sparse import sparse_text  # lazy: few programs print sparse tensors

    grad_fn = _history_name(tensor)
    told = [f"grad_fn=<{grad_fn}>"] if grad_fn is not None else ["requires_grad=True"] if tensor.requires_grad else []
    return sparse_text(tensor._array, tensor.dtype, told, _part_text, _with_suffixes)


def _part_text(part: Tensor, indent: int) -> str:
    elements = host_array(part)
    return _elements_text(elements, part.dtype, indent) if elements.size else "[]"


def _elements_of(tensor: Tensor, contents: str | None) -> np.ndarray | None:
    """What is printed; of a wrapper that says what stands in their place, no more than the shape is known."""
    if tensor.is_meta or getattr(tensor, "_lacks_elements", False):
        return None
    if contents is not None and tensor._keys & PYTHON:
        return np.broadcast_to(np.zeros((), tensor._dtype.numpy_dtype), tuple(tensor.shape))
    return host_array(tensor)


def _innermost_tangent(tensor: Tensor) -> Tensor | None:
    """The tangent of the innermost level of forward mode."""
    if not tensor._keys & FORWARD_GRAD:
        return None
    tangents = tensor._autograd.tangents  # type: ignore[union-attr]
    return tangents[max(tangents)]  # type: ignore[no-any-return]


def _history_name(tensor: Tensor) -> str | None:
    """The name of the node that made a tensor; of a view whose history may not be made anew, that it is invalid."""
    try:
        node = tensor.grad_fn
    except RuntimeError:
        return "Invalid"
    return None if node is None else type(node).__name__


# PyTorch's names of these


def _tensor_str(self: Tensor, indent: int) -> str:
    """The text of the elements; lines but the first begin with `indent` blanks."""
    return _part_text(self, indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """The text, what stands behind the elements, and a closing parenthesis."""
    return _with_suffixes(tensor_str, suffixes, indent, force_newline and bool(suffixes))


def _str_intern(inp: Tensor, *, tensor_contents: str | None = None) -> str:
    """`tensor_repr`."""
    return tensor_repr(inp, tensor_contents)


_str = _str_intern
