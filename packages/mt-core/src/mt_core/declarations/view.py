"""Views and other changes of geometry: declarations."""

from __future__ import annotations

from ._declare import Family

family = Family("view")

family.view("_reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)", variants="")
family.view(
    "view(Tensor(a) self, int[] size) -> Tensor(a)",
    variants="method",
    doc=(
        "The same elements in another shape, without copying; one size may be -1. Raises where strides do not allow it."
    ),
)
family.view(
    "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    variants="method",
    doc="The same bytes read as another dtype; the last dimension grows or shrinks with the item size.",
)
family.view(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", inplace=True, doc="Two dimensions exchanged."
)
family.view("permute(Tensor(a) self, int[] dims) -> Tensor(a)", doc="Dimensions in another order.")
family.view("t(Tensor(a) self) -> Tensor(a)", inplace=True, doc="Transpose of a tensor of at most 2 dimensions.")
family.view(
    "expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
    variants="method",
    doc="Dimensions of size 1 repeated without copying (stride 0); -1 keeps a size.",
)
family.view("squeeze(Tensor(a) self) -> Tensor(a)", inplace=True, doc="Without the dimensions of size 1.")
family.view("squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", inplace=True)
family.view("squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", inplace=True)
family.view(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", inplace=True, doc="With a new dimension of size 1 at `dim`."
)
family.view(
    "select.int(Tensor(a) self, int dim, int index) -> Tensor(a)", doc="One index of one dimension, which disappears."
)
family.view(
    "slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)",
    variants="",
    doc="Every `step`-th index of a dimension from `start` up to `end`.",
)
family.view(
    "as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)",
    inplace=True,
    inplace_variants="method function",
    doc="Any geometry on the same storage, within its bounds.",
)
family.composite(
    "_reshape_alias_copy(Tensor self, int[] size, int[] stride) -> Tensor", variants="function", out=True,
    doc="A copy of what `as_strided` shows from the tensor's own first element on.",
)  # fmt: skip
family.view("unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", doc="All indices of a dimension, as views.")
family.view(
    "split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]",
    doc="Consecutive views of `split_size` along a dimension; the last may be smaller.",
)
family.view(
    "split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    doc="Views of consecutive parts of the given sizes along `dim`.",
)
family.view(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    doc="The diagonal of two dimensions, as the last dimension.",
)
family.view(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    variants="method",
    doc="All windows of `size` along a dimension, as a new last dimension.",
)
family.view("alias(Tensor(a) self) -> Tensor(a)", variants="")
family.plain("detach(Tensor(a) self) -> Tensor(a)", variants="")
family.view("lift_fresh(Tensor(a) self) -> Tensor(a)", variants="")
family.composite("reshape(Tensor(a) self, int[] shape) -> Tensor(a)", doc="As `view` where possible, else a copy.")
family.composite(
    "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    doc="Dimensions `start_dim` to `end_dim` made one.",
)
family.composite(
    "narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)",
    doc="A view of `length` entries of a dimension from `start`.",
)
family.composite("narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)")
family.composite(
    "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    variants="method",
    doc="A view of self expanded to another tensor's shape.",
)
family.composite(
    "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    variants="method",
    doc="A view of self with another tensor's shape.",
)
family.composite(
    "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
    variants="method",
    doc="Itself where it has the layout already, else a copy that has.",
)
family.composite(
    "_debug_has_internal_overlap(Tensor self) -> int", variants="function",
    doc="Whether indices share elements: 0 if none do, 1 if all of a dimension do, 2 where strides do not tell at a glance.",
)  # fmt: skip
