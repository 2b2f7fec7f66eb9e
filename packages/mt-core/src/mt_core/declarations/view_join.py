"""Joining, repeating and rearranging tensors: declarations."""

from __future__ import annotations

from typing import Any

from ._checks import USUAL, OutDtypes, Supported
from .view import family

#: What is said of an ``out`` of operators that join tensors.
_JOINED = OutDtypes("torch.cat(): input types can't be cast to the desired output type {out}", error=TypeError)


def _stacked(tensors: Any, dim: int) -> tuple[int, ...] | None:
    """The shape that ``out`` of `stack` gets before its dtype is refused: none where numbers are stacked."""
    shape = list(tensors[0].shape) if tensors else []
    if not shape or any(list(t.shape) != shape for t in tensors) or not -len(shape) - 1 <= dim <= len(shape):
        return None
    at = dim % (len(shape) + 1)
    return (*shape[:at], len(tensors), *shape[at:])


family.plain(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    variants="function",
    out=True,
    apart="tensors",
    out_check=_JOINED,
    doc="Tensors one after another along an existing dimension; dtypes promote, empty 1-d tensors are skipped.",
)
for _name in ("concat", "concatenate"):
    family.composite(
        f"{_name}(Tensor[] tensors, int dim=0) -> Tensor",
        variants="function",
        out=True,
        apart="tensors",
        out_check=_JOINED,
        doc="Second name of `cat`.",
    )
family.plain(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    variants="function",
    out=True,
    apart="tensors",
    out_check=_JOINED,
    resizes_first=_stacked,
    doc="Tensors of one shape along a new dimension.",
)
for _name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
    family.composite(f"{_name}(Tensor[] tensors) -> Tensor", variants="function", out=True, apart="tensors",
                  out_check=_JOINED, doc=f"Tensors joined as NumPy's `{_name}` joins arrays.")  # fmt: skip
family.composite(
    "_block_diag(Tensor[] tensors) -> Tensor",
    variants="",
    doc="A matrix with the given ones along its diagonal; vectors count as rows.",
)
family.plain(
    "repeat(Tensor self, int[] repeats) -> Tensor",
    variants="method",
    doc="The tensor tiled `repeats[i]` times along each dimension.",
)
family.composite("tile(Tensor self, int[] dims) -> Tensor", doc="As `repeat`, with missing leading counts taken as 1.")


def _flip_kernel(args: tuple[Any, ...]) -> str | None:
    """PyTorch moves rows that stay as they are, and that lie one element after another, without a kernel."""
    tensor, dims = args
    array, width = tensor._array, tensor._dtype.itemsize
    flipped = {dim % max(array.ndim, 1) for dim in dims}
    several = [dim for dim, size in enumerate(array.shape) if size > 1]
    if not array.size or not flipped.intersection(several):
        return None
    return None if any(array.strides[dim] == width and dim not in flipped for dim in several) else "flip_cpu"


family.plain(
    "flip(Tensor self, int[] dims) -> Tensor",
    dtypes=Supported(_flip_kernel, USUAL),
    doc="A copy with the order of some dimensions reversed.",
)
family.composite("fliplr(Tensor self) -> Tensor", doc="Order of columns reversed.")
family.composite("flipud(Tensor self) -> Tensor", doc="Order of rows reversed.")
family.plain(
    "roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor",
    doc="Elements moved along dimensions, those pushed out coming in again.",
)
family.composite(
    "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor",
    doc="Rotated by k quarter turns in the plane of two dimensions.",
)
family.composite(
    "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    doc="At most `chunks` views of (nearly) equal size.",
)
family.composite("split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]")
family.composite("tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]")
family.composite(
    "tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]",
    doc="Views of parts along `dim`: so many of about equal size, or cut before given indices.",
)
family.composite(
    "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> "
    "Tensor(a)[]"
)
for _name in ("hsplit", "vsplit", "dsplit"):
    family.composite(f"{_name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
                  doc="Views of parts: so many of one size, or cut before given indices.")  # fmt: skip
    family.composite(f"{_name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
family.composite(
    "unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)", doc="One dimension cut into several."
)
family.composite(
    "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    doc="Some dimensions moved, the rest in order.",
)
family.composite("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
family.composite("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
family.composite(
    "moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", doc="Second name of `movedim`."
)
for _name in ("swapaxes", "swapdims"):
    family.composite(
        f"{_name}(Tensor(a) self, int {'axis0' if _name == 'swapaxes' else 'dim0'}, int "
        f"{'axis1' if _name == 'swapaxes' else 'dim1'}) -> Tensor(a)",
        doc="Second name of `transpose`.",
    )
    family.composite(
        f"{_name}_(Tensor(a!) self, int {'axis0' if _name == 'swapaxes' else 'dim0'}, int "
        f"{'axis1' if _name == 'swapaxes' else 'dim1'}) -> Tensor(a!)",
        doc="Second name of `transpose_`.",
        variants="method",
    )
family.composite("broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)", doc="A view of self expanded to a shape.")
family.composite("ravel(Tensor(a) self) -> Tensor(a)", doc="One dimension; a view where memory allows.")
family.composite(
    "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    variants="method",
    doc="`reshape` to another tensor's shape.",
)
family.composite(
    "adjoint(Tensor(a) self) -> Tensor(a)",
    doc="The conjugate transpose of the last two dimensions, as a view.",
)
family.composite(
    "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    doc="`chunk`, its pieces free to be written to in place.",
)
family.composite(
    "unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]",
    doc="`split`, whose parts count as tensors of their own.",
)
family.composite(
    "unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
    doc="`split_with_sizes`, whose parts count as tensors of their own.",
)
family.plain(
    "_unsafe_view(Tensor self, int[] size) -> Tensor",
    variants="function",
    doc="Another shape of as many elements, of a tensor that nobody else holds: its memory is taken over.",
)
family.composite(
    "_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor",
    variants="function",
    out=True,
    doc="Tensors, each padded with zeros and divided into chunks along a dimension, joined chunk by chunk: "
    "(*L, N, *R) to (*L, chunks, sum of N / chunks * R).",
)
