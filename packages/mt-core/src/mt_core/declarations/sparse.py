"""Tensors of sparse layouts: making them, what they consist of, and operators that ordinary tensors have not.

What other operators do to them stands in `mt_core.sparse.rules`.
"""

from __future__ import annotations

from ._declare import Family

family = Family("sparse")

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory={}"
_WITH_DIMS = "_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size"
_EMBEDDING = "embedding_sparse_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx"
_BY_ROWS_BACKWARD = "_sparse_mm_reduce_impl_backward(Tensor self, Tensor grad_out, Tensor weight"
_LATER, _SET = _OPTIONS.format("None"), _OPTIONS.format("False")

# Making them: ``torch.sparse_coo_tensor`` and its kin are written by hand (`mt_core.sparse.construct`).

for _text, _doc in (
    (f"sparse_coo_tensor.size(int[] size, *, {_SET})", "No coordinates, all dimensions sparse."),
    (
        f"sparse_coo_tensor.indices(Tensor indices, Tensor values, *, {_LATER}, bool? is_coalesced=None)",
        "`values` at `indices` (sparse_dim, nnz), of the least size that holds them.",
    ),
    (
        f"sparse_coo_tensor.indices_size(Tensor indices, Tensor values, int[] size, *, {_LATER}, bool? is_coalesced=None)",
        "`values` (nnz, *dense) at `indices` (sparse_dim, nnz), of a size.",
    ),
    (
        f"_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, {_LATER}, bool? is_coalesced=None)",
        "As `sparse_coo_tensor`; nothing is checked.",
    ),
    (
        f"_sparse_coo_tensor_with_dims(int sparse_dim, int dense_dim, int[] size, *, {_SET})",
        "No coordinates, of a number of sparse dimensions.",
    ),
    (
        f"{_WITH_DIMS}, Tensor indices, Tensor values, *, {_SET}, bool? is_coalesced=None)",
        "As `sparse_coo_tensor`, with the number of sparse dimensions; what its gradient is recorded of.",
    ),
    (
        f"_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, *, {_LATER})",
        "Compressed rows or columns, by `layout`; nothing is checked.",
    ),
    (
        f"sparse_compressed_tensor.comp_plain_value_size(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, *, {_SET})",
        "Compressed rows or columns, by `layout`.",
    ),
    (
        f"sparse_compressed_tensor.comp_plain_value(Tensor compressed_indices, Tensor plain_indices, Tensor values, *, {_SET})",
        "As with a size, of the least that holds the indices.",
    ),
    (
        f"sparse_csr_tensor.crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, {_SET})",
        "Compressed rows.",
    ),
    (
        f"sparse_csr_tensor.crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, {_SET})",
        "As with a size, of the least that holds the indices.",
    ),
    (
        f"sparse_csc_tensor.ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, {_SET})",
        "Compressed columns.",
    ),
    (
        f"sparse_csc_tensor.ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, {_SET})",
        "As with a size, of the least that holds the indices.",
    ),
):
    family.composite(f"{_text} -> Tensor", variants="", doc=_doc)

# What they consist of

for _text, _doc in (
    ("sparse_dim(Tensor self) -> int", "How many dimensions have indices."),
    ("_dimI(Tensor self) -> int", "Second name of `sparse_dim`, of coordinates alone."),
    ("dense_dim(Tensor self) -> int", "How many dimensions each value has."),
    ("_dimV(Tensor self) -> int", "Second name of `dense_dim`, of coordinates alone."),
    ("_nnz(Tensor self) -> int", "How many values there are."),
    ("is_coalesced(Tensor self) -> bool", "Whether coordinates are sorted, and none comes twice."),
    ("_indices(Tensor(a) self) -> Tensor(a)", "The coordinates (sparse_dim, nnz), sorted or not; no gradient flows."),
    ("_values(Tensor(a) self) -> Tensor(a)", "The values, sorted or not; no gradient flows."),
    ("indices(Tensor(a) self) -> Tensor(a)", "The coordinates (sparse_dim, nnz) of a coalesced tensor."),
    ("values(Tensor(a) self) -> Tensor(a)", "The values (nnz, *dense) of a coalesced or compressed tensor."),
    ("crow_indices(Tensor(a) self) -> Tensor(a)", "Where each compressed row begins."),
    ("col_indices(Tensor(a) self) -> Tensor(a)", "The columns of the values of compressed rows."),
    ("ccol_indices(Tensor(a) self) -> Tensor(a)", "Where each compressed column begins."),
    ("row_indices(Tensor(a) self) -> Tensor(a)", "The rows of the values of compressed columns."),
    ("coalesce(Tensor(a) self) -> Tensor(a)", "Sorted coordinates, the values of equal ones added up."),
    ("_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)", "Say whether coordinates are sorted."),
    ("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor", "As an ordinary tensor."),
    ("to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", "As coordinates of the first dimensions."),
    (
        "to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
        "In a sparse layout, coordinates unless said.",
    ),
    ("to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor", "As compressed rows."),
    ("to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor", "As compressed columns."),
    ("sparse_mask(Tensor self, Tensor mask) -> Tensor", "The elements at the indices of a sparse tensor."),
    (
        "sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
        "Give coordinates another size in place.",
    ),
    (
        "sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
        "Give coordinates another size in place, and drop them.",
    ),
):
    family.composite(_text, variants="method", doc=_doc)
for _text, _doc in (
    ("_coalesce(Tensor self) -> Tensor", "What `coalesce` does to a tensor that is not."),
    ("_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor", "What `to_dense` records."),
    ("_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor", "What `to_sparse` records."),
    (
        "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
        "What `to_sparse` records.",
    ),
    ("_to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor", "What `to_sparse_csr` records."),
    ("_to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor", "What `to_sparse_csc` records."),
    ("to_dense_backward(Tensor grad, Tensor input, bool? masked_grad=None) -> Tensor", "The gradient of `to_dense`."),
    (
        f"{_EMBEDDING}, bool scale_grad_by_freq) -> Tensor",
        "The gradient of a table of rows, as coordinates of its rows.",
    ),
):
    family.composite(_text, variants="", doc=_doc)

# Sums, products, softmax

family.composite("smm(Tensor self, Tensor mat2) -> Tensor", doc="Matrix product, sparse by dense, as coordinates.")
family.composite(
    "hspmm(Tensor mat1, Tensor mat2) -> Tensor", variants="function",
    doc="Matrix product, sparse by dense, as coordinates of the rows that are not zero.",
)  # fmt: skip
family.composite(
    "sspaddmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    doc="``beta * self + alpha * mat1 @ mat2`` of a sparse `self` and `mat1` and a dense `mat2`, as coordinates.",
)
for _text, _doc in (
    ("_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", "Matrix product of which one side, or both, is sparse."),
    (
        "_sparse_mm.reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor",
        "As a matrix product, each row's products combined by sum, mean, amax or amin.",
    ),
    (
        "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        "``beta * self + alpha * mat1 @ mat2`` with a sparse `mat1`.",
    ),
    ("_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor", "Matrix product of two sparse matrices."),
    (
        "_sparse_mm_reduce_impl(Tensor self, Tensor other, str reduce) -> (Tensor, Tensor)",
        "A product by rows, and which values won.",
    ),
    (
        f"{_BY_ROWS_BACKWARD}, str reduce, Tensor arg_out, bool[2] output_mask) -> (Tensor, Tensor)",
        "The gradients of `_sparse_mm_reduce_impl`.",
    ),
    (
        "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        "``alpha * mat1 @ mat2`` at the indices of `self`, and ``beta * self``.",
    ),
    ("_sparse_sum(Tensor self) -> Tensor", "The sum of all values."),
    ("_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor", "The sum of all values, in a dtype."),
    ("_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor", "Sums over dimensions."),
    ("_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor", "Sums, in a dtype."),
    ("_sparse_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", "Softmax of what has indices."),
    ("_sparse_log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", "Its logarithm."),
    ("_sparse_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", "What `_sparse_softmax.int` records."),
    (
        "_sparse_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
        "What `_sparse_log_softmax.int` records.",
    ),
    (
        "_sparse_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor",
        "The gradient of `_sparse_softmax`.",
    ),
    (
        "_sparse_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor",
        "The gradient of `_sparse_log_softmax`.",
    ),
    ("_sparse_sum_backward(Tensor grad, Tensor self, int[] dim) -> Tensor", "The gradient of `_sparse_sum.dim`."),
):
    family.composite(_text, variants="", doc=_doc)
