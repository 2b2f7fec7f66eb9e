"""Joining, repeating and rearranging tensors: declarations."""

from __future__ import annotations

from .view import ops

ops.plain(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    variants="function",
    out=True,
    doc="Tensors one after another along an existing dimension; dtypes promote, empty 1-d tensors are skipped.",
)
for _name in ("concat", "concatenate"):
    ops.composite(
        f"{_name}(Tensor[] tensors, int dim=0) -> Tensor", variants="function", out=True, doc="Second name of `cat`."
    )
ops.plain(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    variants="function",
    out=True,
    doc="Tensors of one shape along a new dimension.",
)
for _name in ("hstack", "vstack", "dstack", "column_stack", "row_stack"):
    ops.composite(f"{_name}(Tensor[] tensors) -> Tensor", variants="function", out=True,
                  doc=f"Tensors joined as NumPy's `{_name}` joins arrays.")  # fmt: skip
ops.plain(
    "repeat(Tensor self, int[] repeats) -> Tensor",
    variants="method",
    doc="The tensor tiled `repeats[i]` times along each dimension.",
)
ops.composite("tile(Tensor self, int[] dims) -> Tensor", doc="As `repeat`, with missing leading counts taken as 1.")
ops.plain("flip(Tensor self, int[] dims) -> Tensor", doc="A copy with the order of some dimensions reversed.")
ops.composite("fliplr(Tensor self) -> Tensor", doc="Order of columns reversed.")
ops.composite("flipud(Tensor self) -> Tensor", doc="Order of rows reversed.")
ops.plain(
    "roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor",
    doc="Elements moved along dimensions, those pushed out coming in again.",
)
ops.composite(
    "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor",
    doc="Rotated by k quarter turns in the plane of two dimensions.",
)
ops.composite(
    "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
    doc="At most `chunks` views of (nearly) equal size.",
)
ops.composite("split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]")
ops.composite("tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]")
ops.composite(
    "tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]",
    doc="Views of parts along `dim`: so many of about equal size, or cut before given indices.",
)
ops.composite(
    "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> "
    "Tensor(a)[]"
)
for _name in ("hsplit", "vsplit", "dsplit"):
    ops.composite(f"{_name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
                  doc="Views of parts: so many of one size, or cut before given indices.")  # fmt: skip
    ops.composite(f"{_name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
ops.composite("unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)", doc="One dimension cut into several.")
ops.composite(
    "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    doc="Some dimensions moved, the rest in order.",
)
ops.composite("movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
ops.composite("moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
ops.composite("moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", doc="Second name of `movedim`.")
for _name in ("swapaxes", "swapdims"):
    ops.composite(
        f"{_name}(Tensor(a) self, int {'axis0' if _name == 'swapaxes' else 'dim0'}, int "
        f"{'axis1' if _name == 'swapaxes' else 'dim1'}) -> Tensor(a)",
        doc="Second name of `transpose`.",
    )
    ops.composite(
        f"{_name}_(Tensor(a!) self, int {'axis0' if _name == 'swapaxes' else 'dim0'}, int "
        f"{'axis1' if _name == 'swapaxes' else 'dim1'}) -> Tensor(a!)",
        doc="Second name of `transpose_`.",
        variants="method",
    )
ops.composite("broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)", doc="A view of self expanded to a shape.")
ops.composite("ravel(Tensor(a) self) -> Tensor(a)", doc="One dimension; a view where memory allows.")
ops.composite(
    "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    variants="method",
    doc="`reshape` to another tensor's shape.",
)
ops.composite(
    "adjoint(Tensor(a) self) -> Tensor(a)",
    doc="The conjugate transpose of the last two dimensions, as a view.",
)
ops.composite(
    "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
    doc="`chunk`, its pieces free to be written to in place.",
)
ops.composite(
    "unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]",
    doc="`split`, whose parts count as tensors of their own.",
)
ops.composite(
    "unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
    doc="`split_with_sizes`, whose parts count as tensors of their own.",
)
