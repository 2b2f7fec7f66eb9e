"""Reading and writing elements by index: declarations."""

from __future__ import annotations

from typing import Any

from ..dtypes import ALL_DTYPES, float8_e8m0fnu, int32, int64
from ._checks import BOOL, COMPLEX, COMPLEX_HALF, FLOATS, INTEGERS, UNSIGNED, USUAL, Supported
from ._declare import Family

family = Family("indexing")

family.plain(
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    variants="",
    doc="Elements at broadcast integer indices (or masks) of some dimensions; None keeps a dimension.",
)
#: What is warned of, with the operator and what else writes so.
_EXPANDED = (
    "Use of {} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
    "applies to advanced indexing e.g. tensor[{}"
)
family.plain(
    "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    inplace=True,
    inplace_variants="method function",
    on_expanded=_EXPANDED.format("index_put_", "indices] = tensor"),
    doc="Write (or add) values at broadcast integer indices or masks.",
    dtypes=Supported("index_put", frozenset(ALL_DTYPES) - UNSIGNED - {float8_e8m0fnu}),
)
family.plain(
    "index_select(Tensor self, int dim, Tensor index) -> Tensor",
    out=True,
    apart="self index",
    apart_first=True,
    doc="The given indices of one dimension, in order.",
    exact_out="index_select(): self and result must have the same scalar type",
    dtypes=Supported(lambda args: None if args[0].dim() > 1 else "index_select", frozenset(ALL_DTYPES) - UNSIGNED),
)
family.plain(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    out=True,
    apart="self",
    not_in_part="index",
    doc="out[i][j] = self[index[i][j]][j] for dim 0: one element per element of `index`.",
    exact_out=True,
    shaped_as="index",
    dtypes=Supported("scatter_gather_tensor_cpu", USUAL, idle="empty"),
)
family.composite(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    out=True,
    exact_out=True,
    apart="self",
    doc="Elements at `indices` along a dimension, the others broadcast; without `dim`, of the flattened input.",
    dtypes=Supported("scatter_gather_tensor_cpu", USUAL, idle="empty"),
)
family.plain(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    inplace=True,
    out="src_out",
    apart="index src",
    not_in_part="self",
    doc="self[index[i][j]][j] = src[i][j] for dim 0.",
    exact_out=True,
    dtypes=Supported("scatter_gather_tensor_cpu", USUAL, idle="empty"),
)
family.plain(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    inplace=True,
    out="value_out",
    apart="index",
    not_in_part="self",
    exact_out=True,
    dtypes=Supported("scatter_gather_scalar_cpu", USUAL, idle="empty"),
)
family.composite(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    inplace=True,
    out="reduce_out",
    apart="index src",
    not_in_part="self",
    exact_out=True,
    dtypes=Supported("scatter_gather_tensor_cpu", USUAL, idle="empty"),
)
family.composite(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    inplace=True,
    out="value_reduce_out",
    apart="index",
    not_in_part="self",
    exact_out=True,
    dtypes=Supported("scatter_gather_scalar_cpu", USUAL, idle="empty"),
)
family.plain(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    inplace=True,
    out=True,
    apart="index src",
    not_in_part="self",
    doc="As `scatter`, adding.",
    exact_out=True,
    dtypes=Supported("scatter_gather_tensor_cpu", USUAL, idle="empty"),
)


def _combining_kernel(args: tuple[Any, ...]) -> str | None:
    """Which kernel of PyTorch's `scatter_reduce` lacks the dtype; booleans and complex numbers lack some reductions."""
    d, reduce, include_self = args[0].dtype, *args[4:]
    kernel = "scatter_gather_tensor_cpu" + ("" if reduce in ("sum", "prod") else f"_reduce_{reduce}")
    if d in BOOL:
        return kernel if reduce == "mean" else None
    if d in COMPLEX:
        return kernel if reduce in ("amax", "amin") else None
    return kernel if include_self else "scatter_reduce_exclude_input_init"


family.plain(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
    "Tensor",
    inplace=True,
    out="two_out",
    apart="index src",
    not_in_part="self",
    doc="As `scatter`, combining by sum, prod, mean, amax or amin.",
    exact_out=True,
    dtypes=Supported(_combining_kernel, INTEGERS | FLOATS, idle="empty"),
)


def _adding_kernel(args: tuple[Any, ...]) -> str:
    """Which of its kernels PyTorch adds with."""
    self, dim, index, _, alpha = args
    if self.dim() <= 1:
        return "index_add_"
    outermost = dim % self.dim() in (0, self.dim() - 1)
    return "scatter_gather_tensor_cpu" if outermost and alpha == 1 and index.dtype is int64 else "add_stub"


family.plain(
    "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
    inplace=True,
    out=True,
    apart="index source",
    not_in_part="self",
    doc="Slices of `source` times alpha added to the slices of self that `index` names.",
    exact_out=True,
    dtypes=Supported(_adding_kernel, USUAL | COMPLEX_HALF, idle="empty"),
)
family.plain(
    "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    inplace=True,
    out=True,
    apart="index source",
    not_in_part="self",
    apart_first=True,
    exact_out=True,
    doc="A copy of self with rows of `source` along `dim` written at `index`.",
    dtypes=Supported("index_copy_cpu", USUAL | COMPLEX_HALF),
)
family.plain(
    "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    inplace=True,
    apart="index",
    on_expanded=_EXPANDED.format("index_fill_", "mask] = scalar"),
    doc="A copy of self with one value at `index` along `dim`.",
    dtypes=Supported("index_fill_cpu", USUAL | COMPLEX_HALF),
)
family.plain(
    "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
    inplace=True,
    apart="index",
    on_expanded=_EXPANDED.format("index_fill_", "mask] = scalar"),
    dtypes=Supported("index_fill_cpu", USUAL | COMPLEX_HALF),
)


def _reducing_kernel(args: tuple[Any, ...]) -> str | None:
    """Which kernel of PyTorch's `index_reduce` lacks the dtype: slices are combined by its elementwise operators."""
    self, reduce, include_self = args[0], *args[4:]
    if not include_self:
        return "index_reduce_func_exclude_input_init"
    if self.dim() <= 1:
        return "index_func_"
    if reduce == "prod":
        return None
    if reduce == "mean":
        if self.dtype in BOOL:
            return "div_floor_cpu"
        return None if self.dtype in COMPLEX else "div_cpu" if self.dtype in COMPLEX_HALF else "add_stub"
    return None if self.dtype in BOOL else "maximum_cpu" if reduce == "amax" else "minimum_cpu"


family.plain(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
    inplace=True,
    out=True,
    exact_out=True,
    apart="index source",
    not_in_part="self",
    apart_first=True,
    doc="A copy of self with rows of `source` along `dim` combined into those at `index` by `reduce`.",
    dtypes=Supported(_reducing_kernel, INTEGERS | FLOATS),
)
family.plain(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    inplace=True,
    not_in_part="mask",
    on_expanded=_EXPANDED.format("masked_fill_", "mask] = scalar"),
    doc="`value` where the bool mask is true, broadcast.",
    dtypes=Supported("masked_fill", USUAL | COMPLEX_HALF),
)
family.plain(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    inplace=True,
    not_in_part="mask",
    on_expanded=_EXPANDED.format("masked_fill_", "mask] = scalar"),
    dtypes=Supported("masked_fill", USUAL | COMPLEX_HALF),
)
family.plain(
    "masked_select(Tensor self, Tensor mask) -> Tensor",
    out=True,
    apart="self mask",
    apart_first=True,
    doc="1-d tensor of the elements where the mask is true.",
    exact_out="masked_select(): self and result must have the same scalar type",
)
family.plain(
    "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    inplace=True,
    doc="Elements of `source`, in order, where the mask is true.",
    dtypes=Supported("masked_scatter", USUAL),
)
family.plain(
    "take(Tensor self, Tensor index) -> Tensor",
    out=True,
    apart="self index",
    apart_first=True,
    doc="Elements at indices into the flattened tensor.",
    exact_out="take(): self and out expected to have the same dtype, but got self.dtype = {expected} and out.dtype = {out}",
    dtypes=Supported("take_cpu", USUAL, idle="empty"),
)
family.plain(
    "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
    inplace=True,
    apart="index source",
    doc="A copy of self with `source` at indices of the flattened tensor; added up with `accumulate`.",
    dtypes=Supported("take_put_cpu", USUAL, idle="empty"),
)
family.plain(
    "nonzero(Tensor self) -> Tensor",
    out=True,
    laid_out=True,
    apart="self",
    apart_first=True,
    doc="(count, ndim) int64 indices of nonzero elements, row-major.",
    exact_out="nonzero: Expected out tensor to have scalar type {expected} but got scalar type{out}",
    dtypes=Supported("nonzero_count_cpu", USUAL | COMPLEX_HALF),
)
family.composite(
    "argwhere(Tensor self) -> Tensor",
    doc="Indices of the elements that are not zero, one row each.",
    dtypes=Supported("nonzero_count_cpu", USUAL | COMPLEX_HALF),
)
family.plain("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")
family.plain(
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
    doc="How many elements along `dim` are not zero, int64.",
    dtypes=Supported("nonzero_count_cpu", USUAL | COMPLEX_HALF),
)
family.plain(
    "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) "
    "-> Tensor",
    variants="function",
    doc="Rows of `weight` at integer indices: (n, d), (*) -> (*, d).",
)
family.plain(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool "
    "scale_grad_by_freq) -> Tensor",
    variants="function",
    namespace="internal",
    doc="Gradient of `embedding` for its weight: rows of grad_output added up by index.",
    dtypes=Supported("add_stub", USUAL | COMPLEX_HALF),
)
family.composite(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    variants="function",
    namespace="torch._C._nn",
    writes=2,
    doc="int64 vectors with a 1 at each index.",
)
family.composite(
    "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
    out=True,
    out_is_internal=True,
    exact_out=True,
    resizes_first=True,
    doc="A copy of self with `src` written at one index of a dimension.",
)
family.composite(
    "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    out=True,
    exact_out=True,
    resizes_first=True,
    doc="A copy of self with `src` written to a slice of a dimension.",
)
family.composite(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    out=True,
    out_is_internal=True,
    exact_out=True,
    resizes_first=True,
    doc="A copy of self with `src` written to a diagonal.",
)
family.composite(
    "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
    out=True,
    out_is_internal=True,
    doc="A copy of self with `src` written where `as_strided` would view.",
)
family.composite(
    "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor"
)
family.composite(
    "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor"
)
family.composite(
    "repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor",
    dtypes=Supported("repeat_interleave_cpu", frozenset({int32, int64})),
    variants="function",
    doc="Index i, repeats[i] times each; of a tensor, its elements.",
)
family.composite(
    "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor",
    out=True,
    exact_out="nonzero_static: Expected out tensor to have scalar type {expected} but got scalar type{out}",
    doc="As `nonzero`, cut or filled up to `size` rows.",
    dtypes=Supported("nonzero_count_cpu", USUAL | COMPLEX_HALF),
)
family.composite(
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
    variants="function",
    doc="`self[indices]` where `mask` holds, `fill` elsewhere; there indices may be out of range.",
)
family.composite(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
    variants="function",
    doc="A copy to which values are added at indices where `mask` holds; elsewhere indices may be out of range.",
)
