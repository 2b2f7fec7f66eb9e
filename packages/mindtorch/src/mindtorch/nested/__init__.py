"""``torch.nested``: tensors of several sizes as one, in the jagged and in the strided layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_core import Tensor
from mt_core.dtypes import bool as _bool
from mt_core.dtypes import int64 as _int64
from mt_core.formats import jagged, strided
from mt_core.interop import as_tensor

from ._internal import rules as _rules
from ._internal.nested_tensor import NestedTensor, nested, refuse_misfits
from ._internal.strided import rules as _strided_rules
from ._internal.strided.creation import from_tensor_list, of_rows
from ._internal.strided.strided_tensor import StridedNestedTensor

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip


def _is_jagged(layout: Any) -> bool:
    if layout is not None and layout is not strided and layout is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    return layout is jagged


def nested_tensor(
    tensor_list: Sequence[Any], *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A nested tensor of copies of tensors; a leaf.

    Parameters
    ----------
    tensor_list
        Tensors with one number of dimensions, or lists that become tensors.
    layout
        ``torch.strided``, the default: of any sizes; or ``torch.jagged``: that differ in one dimension at most.

    Raises
    ------
    TypeError, RuntimeError
        For what is no list, and for tensors that do not go together.
    """
    of_jagged = _is_jagged(layout)
    if pin_memory:
        raise NotImplementedError("torch.nested.nested_tensor: pin_memory= is not supported by mindtorch")
    if not of_jagged and not isinstance(tensor_list, list):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    given = [one.detach() if isinstance(one, Tensor) else as_tensor(one, dtype=dtype) for one in tensor_list]
    made = _from_list(given, dtype, device) if of_jagged else from_tensor_list(given, dtype, device)
    made = made.detach()
    if requires_grad and not (made.dtype.is_floating_point or made.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of tensors, with their history: a list, or the components of an ordinary tensor.

    A nested tensor is returned as it is, or in another dtype or on another device.
    """
    of_jagged = _is_jagged(layout)
    if isinstance(ts, (NestedTensor, StridedNestedTensor)):
        if layout is not ts.layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(dtype=dtype, device=device)
    if isinstance(ts, Tensor):
        if ts.dim() < 2:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
        if not of_jagged:
            return of_rows(ts.to(dtype=dtype, device=device))
        count, rows = ts.shape[:2]
        data = ts.to(dtype=dtype, device=device).flatten(0, 1)
        offsets = mt.arange(count + 1, dtype=_int64, device=data.device) * rows
        return nested(data, offsets)
    if not isinstance(ts, (list, tuple)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if not of_jagged:
        if not all(isinstance(one, Tensor) for one in ts):
            raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
        return from_tensor_list(ts, dtype, device)
    return _from_list([one if isinstance(one, Tensor) else as_tensor(one) for one in ts], dtype, device)


def _from_list(tensors: list[Tensor], dtype: Any, device: Any) -> Any:
    _refuse_unequal(tensors)
    tensors = [tensor.to(dtype=dtype, device=device) for tensor in tensors]
    shapes = [tuple(tensor.shape) for tensor in tensors]
    differing = [d for d in range(len(shapes[0])) if any(shape[d] != shapes[0][d] for shape in shapes)]
    if len(differing) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout "
            "only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim. "
            f"Got: {list(map(list, shapes))}"
        )
    at = differing[0] if differing else 0
    ends = [0]
    for shape in shapes:
        ends.append(ends[-1] + shape[at])
    offsets = mt.tensor(ends, dtype=_int64, device=tensors[0].device)
    return nested(mt.cat(tensors, at), offsets, None, at + 1)


def _refuse_unequal(tensors: list[Tensor]) -> None:
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for what, values in (
        ("dtype", [t.dtype for t in tensors]), ("device", [t.device for t in tensors]),
        ("dim", [t.dim() for t in tensors]),
    ):  # fmt: skip
        if any(value != values[0] for value in values):
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must have the same {what}")
    if not tensors[0].dim():
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")


def nested_tensor_from_jagged(
    values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None, jagged_dim: int | None = None,
    min_seqlen: int | None = None, max_seqlen: int | None = None,
) -> Any:  # fmt: skip
    """A nested tensor on given values, whose memory and history it shares.

    Parameters
    ----------
    values
        All rows, along dimension ``jagged_dim - 1``.
    offsets, lengths
        Where each component begins and the last one ends (components + 1), or how many rows each has (components); with
        both, a component may have fewer rows than there are up to the next.
    min_seqlen, max_seqlen
        What is known of the lengths; they are read from the offsets here.
    """
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
    for name, given in (("offsets", offsets), ("lengths", lengths)):
        if given is not None and not isinstance(given, Tensor):
            raise TypeError(
                f"_nested_view_from_jagged(): argument '{name}' (position 2) must be Tensor, not {type(given).__name__}"
            )
    if offsets is None:
        offsets = lengths.new_zeros(lengths.shape[0] + 1)  # type: ignore[union-attr]
        offsets[1:] = lengths.cumsum(0)  # type: ignore[union-attr]
        lengths = None
    at = 1 if jagged_dim is None else jagged_dim
    refuse_misfits(values, offsets, lengths, at)
    return nested(values, offsets, lengths, at)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = strided) -> Any:
    """A nested tensor of ``tensor[i, start[i] : start[i] + length[i]]``, which shares the memory of `tensor`.

    `dim` is 1; `start` and `length` are numbers, or tensors with one for each component. In the strided layout they are
    numbers, for which `tensor.narrow` is taken.
    """
    if not _is_jagged(layout):
        if not isinstance(start, int) or not isinstance(length, int):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return of_rows(tensor.narrow(dim, start, length))
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    count, rows = tensor.shape[:2]
    begins, lengths = (
        one.to(_int64) if isinstance(one, Tensor) else mt.full([count], one, dtype=_int64, device=tensor.device)
        for one in (start, length)
    )
    offsets = mt.zeros(count + 1, dtype=_int64, device=tensor.device)
    offsets[:-1] = mt.arange(count, device=tensor.device) * rows + begins
    offsets[-1:] = offsets[-2:-1] + lengths[-1:]
    ends: Any = (begins + lengths).tolist()
    if any(end > rows for end in ends):
        raise RuntimeError("narrow(): start + length is beyond the rows of the tensor")
    data = tensor.flatten(0, 1)
    if mt.equal(offsets.diff(), lengths):  # no rows between the components
        first: Any = offsets[0].item()
        return nested(data[first : offsets[-1].item()], offsets - first, None, 1)
    return nested(data, offsets, lengths, 1)


def masked_select(tensor: Tensor, mask: Tensor) -> Any:
    """A nested tensor of the elements of each row of a matrix that a mask selects."""
    if tensor.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    if mask.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided mask, given: {mask.layout}")
    picked = tensor.masked_select(mask)
    full = mask.to(_bool).expand(tensor.shape) if mask.dim() < tensor.dim() else mask
    lengths = full.sum(-1) if full.dim() == 2 else full.sum(tuple(range(1, full.dim())))
    return nested_tensor_from_jagged(picked, lengths=lengths)


def to_padded_tensor(input: Any, padding: float, output_size: Any = None) -> Tensor:
    """An ordinary tensor of the components, filled up with `padding` to the longest, or to `output_size`."""
    if isinstance(input, StridedNestedTensor):
        return _strided_rules.padded(input, padding, output_size)
    if not isinstance(input, NestedTensor):
        raise TypeError("torch.nested.to_padded_tensor: expected a nested tensor")
    return _rules.padded(input, padding, output_size)
