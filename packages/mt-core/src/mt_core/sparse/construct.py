"""``torch.sparse_coo_tensor`` and its kin: indices and values from tensors, arrays, lists and numbers."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .. import dtypes
from ..api import _functions
from ..construct import tensor
from ..decomp.sparse import check_within
from ..devices import device as Device
from ..dispatch.registry import find_overload
from ..factories import requiring_grad
from ..formats import layout as Layout
from ..formats import sparse_coo, sparse_csc, sparse_csr
from ..schema import MISSING
from ..tensor import Tensor
from .tensors import Compressed, flat_indices, is_coo

__all__ = [
    "check", "checks_invariants", "rebuilt", "set_checks_invariants", "sparse_bsc_tensor", "sparse_bsr_tensor",
    "sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "without_values",
]  # fmt: skip


class _Settings(threading.local):
    checks = False


_process = _Settings()


def checks_invariants() -> bool:
    return _process.checks


def set_checks_invariants(value: bool) -> None:
    _process.checks = value


def _as_tensor(data: Any, d: Any = None, on: Any = None) -> Tensor:
    if isinstance(data, Tensor):
        return data if d is None and on is None else data.to(dtype=d or data.dtype, device=on or data.device)
    return tensor(data, dtype=d, device=on)


def _indices(data: Any, on: Any) -> Tensor:
    """Whole numbers as int64; PyTorch takes floating ones and cuts them off."""
    made = _as_tensor(data, None, on)
    return made if made.dtype is dtypes.int64 else made.to(dtypes.int64)


def _finished(made: Tensor, requires_grad: bool, check_invariants: bool | None) -> Tensor:
    if _process.checks if check_invariants is None else check_invariants:
        check(made)
    return requiring_grad(made) if requires_grad else made


def check(made: Any) -> None:
    """Refuse what breaks the rules of its layout.

    Raises
    ------
    RuntimeError
    """
    array = made._array
    if is_coo(made):
        check_within(array.indices, array.shape[: array.sparse_dim])
        if array.is_coalesced and array.nnz > 1:
            flat = flat_indices(array.indices, array.shape[: array.sparse_dim])
            if not bool((flat.diff() > 0).all()):
                raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
        return
    assert isinstance(array, Compressed)
    batches = math.prod(array.plain.shape[:-1])
    pointers, plain = (part.reshape(batches, part.shape[-1]) for part in (array.pointers, array.plain))
    kind, other = ("crow", "col") if array.by_rows else ("ccol", "row")
    names = {"crow": "crow_indices", "ccol": "ccol_indices", "col": "col_indices", "row": "row_indices"}
    lines, across = array.shape[array.batch_dim : array.batch_dim + 2]
    if not array.by_rows:
        lines, across = across, lines
    if pointers.shape[-1] != lines + 1:
        raise RuntimeError(
            f"{names[kind]}.shape[-1] must be equal to the number of {'rows' if array.by_rows else 'columns'} + 1 "
            f"(={lines + 1}), but got {pointers.shape[-1]}"
        )
    if bool((pointers[:, 0] != 0).any()):
        raise RuntimeError(f"`{names[kind]}[..., 0] == 0` is not satisfied.")
    if bool((pointers[:, -1] != plain.shape[-1]).any()):
        raise RuntimeError(f"`{names[kind]}[..., -1] == nnz` is not satisfied.")
    steps = pointers.diff()
    if bool(((steps < 0) | (steps > across)).any()):
        raise RuntimeError(
            f"`0 <= {names[kind]}[..., 1:] - {names[kind]}[..., :-1] <= {'ncols' if array.by_rows else 'nrows'}` "
            "is not satisfied."
        )
    if plain.numel() and (int(plain.min()) < 0 or int(plain.max()) >= across):
        bound = "ncols" if array.by_rows else "nrows"
        raise RuntimeError(f"`0 <= {names[other]} < {bound}` is not satisfied.")
    for row, places in zip(pointers.tolist(), plain.tolist(), strict=True):
        for begin, end in pairwise(row):
            if any(a >= b for a, b in zip(places[begin : end - 1], places[begin + 1 : end], strict=True)):
                raise RuntimeError(
                    f"`{names[other]}[..., {names[kind]}[..., i - 1]:{names[kind]}[..., i]] for all i = 1, ..., "
                    f"{'nrows' if array.by_rows else 'ncols'} are sorted and distinct along the last dimension values` "
                    "is not satisfied."
                )


def without_values(size: Sequence[int], dtype: Any, laid_out: Layout, device: Any) -> Tensor:
    """Zeros in a sparse layout.

    Raises
    ------
    RuntimeError
        For compressed layouts of less than two dimensions.
    """
    if laid_out is sparse_coo:
        return find_overload("sparse_coo_tensor.size").call(list(size), dtype, None, device, None)  # type: ignore[no-any-return]
    if len(size) < 2:
        raise RuntimeError(
            f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
        )
    *batch, rows, columns = size
    lines = rows if laid_out is sparse_csr else columns
    pointers = tensor(0, dtype=dtypes.int64, device=device).expand((*batch, lines + 1)).contiguous()
    nothing = pointers[..., :0]
    return sparse_compressed_tensor(
        pointers, nothing, nothing.to(dtype or dtypes.get_default_dtype()), size, layout=laid_out
    )


def rebuilt(laid_out: Layout, data: Any) -> Tensor:
    """A tensor of what a pickle holds of it: parts, size and, of coordinates, whether they are sorted.

    Raises
    ------
    TypeError, RuntimeError
    """
    kinds: list[Any] = [Tensor, Tensor, (tuple, list), (bool, type(None))]
    if laid_out is not sparse_coo:
        kinds = [Tensor, Tensor, Tensor, (tuple, list)]
    parts = list(data)
    if laid_out is sparse_coo and len(parts) == 3:
        parts.append(None)
    if len(parts) != len(kinds) or not all(isinstance(part, kind) for part, kind in zip(parts, kinds, strict=True)):
        raise TypeError(
            f"a sparse tensor of layout {laid_out!r} is rebuilt from its parts, got "
            f"({', '.join(type(part).__name__ for part in parts)})"
        )
    size = parts[2] if laid_out is sparse_coo else parts[3]
    if not all(type(n) is int and n >= 0 for n in size):
        raise TypeError(f"a size of whole numbers from 0 on was expected, got {tuple(size)}")
    if laid_out is sparse_coo:
        return sparse_coo_tensor(parts[0], parts[1], size, check_invariants=True, is_coalesced=parts[3])
    return sparse_compressed_tensor(*parts, layout=laid_out, check_invariants=True)


def sparse_coo_tensor(
    indices: Any = MISSING, values: Any = MISSING, size: Any = MISSING, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:  # fmt: skip
    """A tensor of coordinates: `values` (nnz, *dense sizes) at `indices` (sparse_dim, nnz).

    Parameters
    ----------
    indices, values
        Tensors, arrays, lists or numbers. A call with sizes alone, in the first place or by name, makes an empty one.
    size
        By default the least that holds the indices.
    check_invariants
        Refuse indices outside of the size; by default as `torch.sparse.check_sparse_tensor_invariants` says.
    is_coalesced
        Promise that the indices are sorted and distinct.

    Raises
    ------
    RuntimeError
        For sizes that do not go together, or whose product has more than 63 bits.
    TypeError
        For arguments that are none of these forms.
    """
    if pin_memory:
        raise NotImplementedError("sparse_coo_tensor: pin_memory=True is not supported for sparse tensors")
    if indices is MISSING or values is MISSING or size is None:
        # The operator's own function takes sizes alone, and refuses all else in PyTorch's words.
        positional = [] if indices is MISSING else [indices]
        named: dict[str, Any] = {"values": values, "size": size}
        if size is None and values is not MISSING:
            positional += [values]
            del named["values"]
        named = {name: value for name, value in named.items() if value is not MISSING}
        options = {"dtype": dtype, "device": device, "is_coalesced": is_coalesced}
        named |= {name: value for name, value in options.items() if value is not None}
        made = _functions.sparse_coo_tensor(*positional, **named)
        return _finished(made, requires_grad, check_invariants)
    held = _as_tensor(values, dtype, device)
    where = _indices(indices, held.device)
    if not held.dim():
        held = held.expand(where.shape[-1] if where.dim() == 2 else 1)
    if size is MISSING:
        made = find_overload("sparse_coo_tensor.indices").call(where, held, None, None, None, None, is_coalesced)
    else:
        made = find_overload("sparse_coo_tensor.indices_size").call(
            where, held, list(size), None, None, None, None, is_coalesced
        )
    return _finished(made, requires_grad, check_invariants)


def _device(given: Any) -> Any:
    return None if given is None else Device(given)


def _compressed(
    name: str, pointers: Any, plain: Any, values: Any, size: Any, laid_out: Any, dtype: Any, device: Any,
    pin_memory: bool, requires_grad: bool, check_invariants: bool | None,
) -> Tensor:  # fmt: skip
    if pin_memory:
        raise NotImplementedError(f"{name}: pin_memory=True is not supported for sparse tensors")
    held = _as_tensor(values, dtype, device)
    parts = [_as_tensor(part, None, held.device) for part in (pointers, plain)]
    for part in parts:
        if part.dtype not in (dtypes.int32, dtypes.int64):
            raise RuntimeError(
                f"compressed_indices and plain_indices must be an int32 or int64 type, but got: {part.dtype}"
            )
    overload = "sparse_compressed_tensor.comp_plain_value"
    if size is None:
        made = find_overload(overload).call(*parts, held, None, laid_out, None, None)
    else:
        made = find_overload(f"{overload}_size").call(*parts, held, list(size), None, laid_out, None, None)
    return _finished(made, requires_grad, check_invariants)


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None,
    layout: Layout | None = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """Compressed rows (``torch.sparse_csr``) or columns (``torch.sparse_csc``), by `layout`.

    Raises
    ------
    NotImplementedError
        For layouts of blocks.
    """
    return _compressed(
        "sparse_compressed_tensor", compressed_indices, plain_indices, values, size, layout, dtype, device, pin_memory,
        requires_grad, check_invariants,
    )  # fmt: skip


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """Compressed rows: row i has the values from ``crow_indices[i]`` to ``crow_indices[i + 1]``."""
    return _compressed(
        "sparse_csr_tensor", crow_indices, col_indices, values, size, sparse_csr, dtype, device, pin_memory,
        requires_grad, check_invariants,
    )  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Sequence[int] | None = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> Tensor:  # fmt: skip
    """Compressed columns: column i has the values from ``ccol_indices[i]`` to ``ccol_indices[i + 1]``."""
    return _compressed(
        "sparse_csc_tensor", ccol_indices, row_indices, values, size, sparse_csc, dtype, device, pin_memory,
        requires_grad, check_invariants,
    )  # fmt: skip


def sparse_bsr_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """Refused: layouts of blocks are not supported."""
    raise NotImplementedError("tensors of layout torch.sparse_bsr are not supported: use torch.sparse_csr")


def sparse_bsc_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """Refused: layouts of blocks are not supported."""
    raise NotImplementedError("tensors of layout torch.sparse_bsc are not supported: use torch.sparse_csc")
