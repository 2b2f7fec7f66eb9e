"""Reading and writing elements by index: declarations."""

from __future__ import annotations

from ._declare import Family

ops = Family("indexing")

ops.plain(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    variants="",
    doc="Elements at broadcast integer indices (or masks) of some dimensions; None keeps a dimension.",
)
ops.plain(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    inplace=True,
    doc="Write (or add) values at broadcast integer indices or masks.",
)
ops.plain(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    out=True,
    doc="The given indices of one dimension, in order.",
    exact_out=True,
)
ops.plain(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    out=True,
    doc="out[i][j] = self[index[i][j]][j] for dim 0: one element per element of `index`.",
    exact_out=True,
)
ops.composite(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    out=True,
    doc="Elements at `indices` along a dimension, the others broadcast; without `dim`, of the flattened input.",
)
ops.plain(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    inplace=True,
    out="src_out",
    doc="self[index[i][j]][j] = src[i][j] for dim 0.",
    exact_out=True,
)
ops.plain(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    inplace=True,
    out="value_out",
    exact_out=True,
)
ops.composite(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    inplace=True,
    out="reduce_out",
    exact_out=True,
)
ops.composite(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    inplace=True,
    out="value_reduce_out",
    exact_out=True,
)
ops.plain(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    inplace=True,
    out=True,
    doc="As `scatter`, adding.",
    exact_out=True,
)
ops.plain(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
    "Tensor",
    inplace=True,
    out="two_out",
    doc="As `scatter`, combining by sum, prod, mean, amax or amin.",
    exact_out=True,
)
ops.plain(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    inplace=True,
    out=True,
    doc="Slices of `source` times alpha added to the slices of self that `index` names.",
    exact_out=True,
)
ops.plain(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    inplace=True,
    out=True,
    exact_out=True,
    doc="A copy of self with rows of `source` along `dim` written at `index`.",
)
ops.plain(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    inplace=True,
    doc="A copy of self with one value at `index` along `dim`.",
)
ops.composite("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", inplace=True)
ops.plain(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    inplace=True,
    out=True,
    doc="A copy of self with rows of `source` along `dim` combined into those at `index` by `reduce`.",
)
ops.plain(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    inplace=True,
    doc="`value` where the bool mask is true, broadcast.",
)
ops.plain("masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", inplace=True)
ops.plain(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    out=True,
    doc="1-d tensor of the elements where the mask is true.",
    exact_out=True,
)
ops.plain(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    inplace=True,
    doc="Elements of `source`, in order, where the mask is true.",
)
ops.plain(
    "take(Tensor self, Tensor index) -> Tensor",
    out=True,
    doc="Elements at indices into the flattened tensor.",
    exact_out=True,
)
ops.plain(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    inplace=True,
    doc="A copy of self with `source` at indices of the flattened tensor; added up with `accumulate`.",
)
ops.plain(
    "nonzero(Tensor self) -> Tensor",
    out=True,
    doc="(count, ndim) int64 indices of nonzero elements, row-major.",
    exact_out=True,
)
ops.composite("argwhere(Tensor self) -> Tensor", doc="Indices of the elements that are not zero, one row each.")
ops.plain("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")
ops.plain(
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
    doc="How many elements along `dim` are not zero, int64.",
)
ops.plain(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) "
    "-> Tensor",
    variants="function",
    doc="Rows of `weight` at integer indices: (n, d), (*) -> (*, d).",
)
ops.plain(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool "
    "scale_grad_by_freq) -> Tensor",
    variants="function",
    doc="Gradient of `embedding` for its weight: rows of grad_output added up by index.",
)
ops.composite(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    variants="function",
    namespace="torch._C._nn",
    doc="int64 vectors with a 1 at each index.",
)
ops.composite(
    "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
    out=True,
    doc="A copy of self with `src` written at one index of a dimension.",
)
ops.composite(
    "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    out=True,
    doc="A copy of self with `src` written to a slice of a dimension.",
)
ops.composite(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    out=True,
    doc="A copy of self with `src` written to a diagonal.",
)
ops.composite(
    "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
    out=True,
    doc="A copy of self with `src` written where `as_strided` would view.",
)
ops.composite(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor"
)
ops.composite("repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor")
ops.composite(
    "repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor",
    variants="function",
    doc="Index i, repeats[i] times each; of a tensor, its elements.",
)
ops.composite(
    "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor",
    out=True,
    doc="As `nonzero`, cut or filled up to `size` rows.",
)
