"""Nested tensors of the jagged layout: rows of several lengths, one behind the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_core import Tensor, int32, int64
from mt_core.autograd_state import no_grad
from mt_core.formats import contiguous_format, jagged
from mt_core.formats import layout as Layout
from mt_core.serialization import rebuild
from mt_core.tensor import wrap_dim

from ..._compound.layer import Rules, elements
from ..._compound.parts import CompoundArray, CompoundTensor, compound
from .nested_int import nested_int_of

__all__ = ["NestedArray", "NestedTensor", "RULES", "Rows", "like", "nested", "rows_of"]


class Rows:
    """Where the rows of a structure lie among the values, read from its offsets and lengths once.

    Attributes
    ----------
    starts, lengths : list of int
        Where each component begins, and how many rows it has.
    """

    def __init__(self, offsets: Tensor, lengths: Tensor | None) -> None:
        ends: Any = offsets.tolist()
        counts: Any = [end - start for start, end in itertools.pairwise(ends)] if lengths is None else lengths.tolist()
        self.starts: list[int] = ends[:-1]
        self.lengths: list[int] = counts
        self.device = offsets.device

    @property
    def longest(self) -> int:
        return max(self.lengths, default=0)

    @property
    def shortest(self) -> int:
        return min(self.lengths, default=0)

    def components(self) -> Tensor:
        """The component of each row that is in use."""
        numbers = mt.arange(len(self.lengths), device=self.device)
        return mt.repeat_interleave(numbers, mt.tensor(self.lengths, dtype=numbers.dtype, device=self.device))

    def places(self, width: int) -> Tensor:
        """Where each row that is in use stands when every component has `width` rows."""
        found = [start + row for start, n in zip(range(0, width * len(self.lengths), width or 1), self.lengths)
                 for row in range(n)]  # fmt: skip
        return _numbers(found, self.device)

    def used(self) -> Tensor:
        """Which of the values are in use."""
        return _numbers([s + row for s, n in zip(self.starts, self.lengths) for row in range(n)], self.device)


def _numbers(found: list[int], on: Any) -> Tensor:
    return mt.tensor(found, dtype=int64, device=on)


class NestedArray(CompoundArray):
    """Values, and where the components lie in them.

    Attributes
    ----------
    data : Tensor
        The values: all rows along dimension ``ragged - 1``, and the other dimensions as they are.
    offsets : Tensor
        (components + 1): where each component begins and the last one ends.
    lengths : Tensor or None
        (components): how many rows each has, where it has fewer than there are up to the next.
    ragged : int
        The ragged dimension.
    """

    __slots__ = ("lengths", "offsets", "ragged")
    offsets: Tensor
    lengths: Tensor | None
    ragged: int
    layout = jagged

    def __init__(self, data: Tensor, offsets: Tensor, lengths: Tensor | None, ragged: int) -> None:
        self.data, self.offsets, self.lengths, self.ragged = data, offsets, lengths, ragged
        size: Any = nested_int_of(offsets if lengths is None else lengths)
        inner, steps = data.shape, data.stride()
        self.dtype, self.itemsize, self.device = data._dtype.numpy_dtype, data._dtype.itemsize, data.device
        self.shape = (offsets.shape[0] - 1, *inner[: ragged - 1], size, *inner[ragged:])
        first = size * steps[ragged - 1] * self.itemsize if steps[ragged - 1] else 0
        self.strides = (first, *(step * self.itemsize for step in steps))
        self.offset, self.nbytes_owned = 0, 0

    def with_data(self, data: Tensor) -> NestedArray:
        return NestedArray(data, self.offsets, self.lengths, self.ragged)

    def gradient(self, grad: Any) -> Tensor:
        if not isinstance(grad, NestedTensor):
            raise RuntimeError(f"expected the gradient of a NestedTensor to be nested, but got {type(grad).__name__}")
        return elements(grad)

    @property
    def size(self) -> Any:  # type: ignore[override]
        if self.lengths is None:
            return self.data.numel()
        per_row = 1
        for at, n in enumerate(self.data.shape):
            per_row *= 1 if at == self.ragged - 1 else n
        return per_row * sum(self.lengths.tolist())  # type: ignore[arg-type]


class NestedTensor(CompoundTensor):
    """Tensors that differ in one dimension, as one; see ``torch.nested.nested_tensor``."""

    _array: NestedArray

    def __new__(
        cls, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, requires_grad: bool = False,
        _ragged_idx: int = 1, **metadata: Any,
    ) -> Any:  # fmt: skip
        unknown = set(metadata) - {"_metadata_cache"}
        if unknown:
            raise TypeError(f"NestedTensor.__new__() got an unexpected keyword argument '{sorted(unknown)[0]}'")
        refuse_misfits(values, offsets, lengths, _ragged_idx)
        made = nested(values.detach(), offsets, lengths, _ragged_idx)
        return made.requires_grad_() if requires_grad else made

    # What it is made of

    @property
    def _values(self) -> Tensor:  # type: ignore[override]
        return self.values()

    @property
    def _offsets(self) -> Tensor:
        return self._array.offsets

    @property
    def _lengths(self) -> Tensor | None:
        return self._array.lengths

    @property
    def _ragged_idx(self) -> int:
        return self._array.ragged

    def values(self) -> Tensor:
        """All rows, one component behind the other, in the memory of the nested tensor."""
        found = elements(self)
        if found is not self._array.data:
            return found
        with no_grad():  # so that writes are refused whose history the nested tensor would not know of
            return found.view_as(found)

    def offsets(self) -> Tensor:
        """Where each component begins among the values, and the last one ends."""
        return self._array.offsets

    def lengths(self) -> Tensor | None:
        """How many rows each component has; None where each ends where the next begins."""
        return self._array.lengths

    @property
    def _max_seqlen(self) -> int:
        return rows_of(self).longest

    @property
    def _min_seqlen(self) -> int:
        return rows_of(self).shortest

    def _get_max_seqlen(self) -> int:
        return self._max_seqlen

    def _get_min_seqlen(self) -> int:
        return self._min_seqlen

    _maybe_max_seqlen, _maybe_min_seqlen = _max_seqlen, _min_seqlen

    # Layout

    @property
    def layout(self) -> Layout:
        """``torch.jagged``."""
        return jagged

    @property
    def is_nested(self) -> bool:  # type: ignore[override]
        return True

    def stride(self, dim: int | None = None) -> Any:
        """Steps in elements: that of the first dimension is a multiple of the ragged size."""
        inner = self._array.data.stride()
        step = inner[self._array.ragged - 1]
        ragged: Any = self._array.shape[self._array.ragged]
        found = (ragged if step == 1 else ragged * step if step else 0, *inner)
        return found if dim is None else found[wrap_dim(dim, len(found))]

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Whether the values are, without rows between the components that belong to none."""
        return self._array.lengths is None and self._array.data.is_contiguous(memory_format)

    def storage_offset(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        first = key[0] if isinstance(key, tuple) and key else key
        if isinstance(first, slice):
            raise RuntimeError("slice(): not supported for NestedTensor on dim=0")
        return super().__getitem__(key)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """All components as one ordinary tensor (see ``torch.nested.to_padded_tensor``)."""
        return RULES.named("to_padded_tensor")(self, padding, output_size)  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return self.numel() * self.itemsize

    # Text and files

    def __repr__(self, *, tensor_contents: str | None = None) -> str:  # type: ignore[override]
        history = f", grad_fn={self.grad_fn}" if self.grad_fn else ", requires_grad=True" if self.requires_grad else ""
        size = f"({', '.join(map(str, self.shape))})"
        return f"NestedTensor(size={size}, offsets={self._offsets}{history}, contiguous={self.is_contiguous()})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.is_leaf:
            raise RuntimeError("NestedTensor: only leaves can be saved; detach() it first")
        rows = rows_of(self)
        cache = {
            "min_seqlen": mt.zeros((rows.shortest, 0)), "max_seqlen": mt.zeros((rows.longest, 0)),
        }  # fmt: skip
        parts = {
            "values": self._array.data, "offsets": self._offsets, "lengths": self._lengths,
            "_ragged_idx": self._ragged_idx, "_metadata_cache": cache, "requires_grad": self.requires_grad,
        }  # fmt: skip
        state = {
            "_ragged_idx": self._ragged_idx, "_values": self._array.data, "_offsets": self._offsets,
            "_lengths": self._lengths, "_metadata_cache": cache,
        }  # fmt: skip
        return rebuild._rebuild_from_type_v2, (_rebuild_njt, NestedTensor, (parts,), state)

    def __setstate__(self, state: Any) -> None:
        """The state repeats what it was made of."""


#: What a file says of a nested tensor -> what it has to be.
_PARTS: dict[str, tuple[type, ...]] = {
    "values": (Tensor,), "offsets": (Tensor,), "lengths": (Tensor, type(None)), "requires_grad": (bool,),
    "_ragged_idx": (int,), "_metadata_cache": (dict, type(None)),
}  # fmt: skip


def _rebuild_njt(constructor_kwargs: dict[str, Any]) -> Any:
    fits = {"values", "offsets"} <= constructor_kwargs.keys() and all(
        isinstance(value, _PARTS.get(name, ())) for name, value in constructor_kwargs.items()
    )
    if not fits:
        raise RuntimeError(
            f"a nested tensor is not made of {', '.join(sorted(map(str, constructor_kwargs))) or 'nothing'}"
        )
    return NestedTensor(**constructor_kwargs)


rebuild.TENSOR_BUILDERS.add(_rebuild_njt)
NestedArray.made = NestedTensor


def refuse_misfits(values: Any, offsets: Any, lengths: Any, ragged: Any) -> None:
    """Refuse parts that are no nested tensor.

    Raises
    ------
    RuntimeError
        Where offsets and lengths are no integers, reach beyond the values, or do not belong to each other.
    """
    for name, part in (("values", values), ("offsets", offsets), ("lengths", lengths)):
        if not isinstance(part, Tensor) and not (part is None and name == "lengths"):
            raise TypeError(f"argument '{name}' must be Tensor, not {type(part).__name__}")
    if type(ragged) is not int or not 1 <= ragged <= values.dim():
        raise RuntimeError(f"the ragged dimension must be in 1 to {values.dim()}, but is {ragged}")
    for name, part in (("offsets", offsets), ("lengths", lengths)):
        if part is not None and (part.dim() != 1 or part.dtype not in (int64, int32)):
            raise RuntimeError(f"{name} must be a vector of int64 or int32, but are {list(part.shape)} of {part.dtype}")
    if offsets.shape[0] < 1 or lengths is not None and lengths.shape[0] != offsets.shape[0] - 1:
        raise RuntimeError("offsets must have one element more than there are components")
    if offsets.is_meta:
        return
    rows = Rows(offsets, lengths)
    end = max((start + n for start, n in zip(rows.starts, rows.lengths, strict=True)), default=0)
    if min([*rows.starts, *rows.lengths], default=0) < 0 or end > values.shape[ragged - 1]:
        raise RuntimeError(
            f"the offsets {offsets.tolist()} reach beyond the {values.shape[ragged - 1]} rows of the values"
        )


def nested(data: Tensor, offsets: Tensor, lengths: Tensor | None = None, ragged: int = 1) -> Any:
    """A nested tensor on values; it is recorded."""
    return compound(NestedArray(data.detach(), offsets, lengths, ragged), data)


def like(self: Any, data: Tensor, ragged: int | None = None) -> Any:
    """A nested tensor of the same structure on other values; it is recorded."""
    array = self._array
    return nested(data, array.offsets, array.lengths, array.ragged if ragged is None else ragged)


def rows_of(self: Any) -> Rows:
    """Where the rows of a nested tensor lie."""
    return Rows(self._array.offsets, self._array.lengths)


def jagged_from_list(tensors: Sequence[Tensor], offsets: Tensor | None, dtype: Any = None, device: Any = None) -> Any:
    """A nested tensor of tensors that differ in their first dimension, and its offsets: those given, or new ones.

    Raises
    ------
    RuntimeError
        Where the offsets are not those of the tensors.
    """
    given = [tensor.to(dtype=dtype, device=device) for tensor in tensors]
    ends = list(itertools.accumulate((tensor.shape[0] for tensor in given), initial=0))
    if offsets is None:
        offsets = mt.tensor(ends, dtype=int64, device=given[0].device)
    elif offsets.tolist() != ends:
        raise RuntimeError("jagged_from_list: the offsets are not those of the tensors")
    return nested(mt.cat(given), offsets), offsets


def nested_view_from_values_offsets(
    values: Tensor, offsets: Tensor, ragged_idx: int = 1, min_seqlen: int | None = None, max_seqlen: int | None = None
) -> Any:
    """A nested tensor on values; how long its components are is read from the offsets."""
    refuse_misfits(values, offsets, None, ragged_idx)
    return nested(values, offsets, None, ragged_idx)


def nested_view_from_values_offsets_lengths(
    values: Tensor, offsets: Tensor, lengths: Tensor, ragged_idx: int = 1, min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Any:  # fmt: skip
    """As `nested_view_from_values_offsets`, of components with fewer rows than there are up to the next."""
    refuse_misfits(values, offsets, lengths, ragged_idx)
    return nested(values, offsets, lengths, ragged_idx)


def buffer_from_jagged(jagged: Any) -> Tensor:
    """The values of a nested tensor."""
    return jagged.values()  # type: ignore[no-any-return]


def get_tensor_symint(tensor: Tensor, *, coeff: int = 1) -> Any:
    """The ragged size that offsets, or lengths, stand for, times a coefficient."""
    size = nested_int_of(tensor)
    return size if coeff == 1 else size * coeff


class ViewNestedFromBuffer:
    """PyTorch's name for the way from values to a nested tensor."""

    @staticmethod
    def apply(values: Tensor, offsets: Tensor, metadata_cache: Any = None) -> Any:
        """A nested tensor on values; what is known of the lengths is read from the offsets."""
        return nested_view_from_values_offsets(values, offsets)


def outer(self: Any, dim: int, name: str) -> int:
    """A dimension of the values, from one of the nested tensor that is neither the first nor the ragged one.

    Raises
    ------
    RuntimeError
        For these two, in PyTorch's words.
    """
    dim = wrap_dim(dim, self.dim())
    if dim == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if dim == self._array.ragged:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return dim - 1


def matching(tensors: Sequence[Any]) -> Any:
    """The first nested tensor of several values."""
    return next(tensor for tensor in tensors if isinstance(tensor, NestedTensor))


RULES = Rules(
    "NestedTensor",
    composites=(
        "movedim.int", "movedim.intlist", "swapaxes", "swapdims", "view_as", "reshape_as", "expand_as", "isclose",
        "equal", "allclose", "split.sizes", "embedding", "softmax.int", "log_softmax.int", "one_hot", "rand_like",
        "randn_like", "randint_like", "randint_like.low_dtype", "log_sigmoid", "type_as",
    ),
    families=("elementwise", "comparison"),
)  # fmt: skip
NestedArray.rules = RULES
