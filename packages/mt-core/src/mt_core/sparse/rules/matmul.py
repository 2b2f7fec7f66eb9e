"""Matrix products, whose gradients are those of ordinary matrices; ``torch.sparse.mm`` has sparse ones."""

from __future__ import annotations

from typing import Any

from ...api import _functions as ops
from ...decomp.sparse_products import product
from ..layer import rule
from ..tensors import Compressed, is_sparse


@rule("mm")
def mm(self: Any, mat2: Any) -> Any:
    return product(self, mat2)


@rule("addmm")
def addmm(self: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if is_sparse(self) and not (is_sparse(mat1) and is_sparse(mat2)):
        raise RuntimeError("addmm: a sparse self is for two sparse matrices; sspaddmm takes a dense mat2")
    made = product(mat1, mat2) if is_sparse(mat1) or is_sparse(mat2) else mat1.mm(mat2)
    if is_sparse(made) and not is_sparse(self):
        made = made.to_dense()
    scaled = made if alpha == 1 else made * alpha
    return scaled + self * beta if beta else scaled


@rule("mv")
def mv(self: Any, vec: Any) -> Any:
    if self.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(
            f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {self.dim()} Tensor Dim: {vec.dim()}"
        )
    return product(self, vec.unsqueeze(1)).squeeze(1)


@rule("addmv")
def addmv(self: Any, mat: Any, vec: Any, beta: Any, alpha: Any) -> Any:
    made = mv(mat, vec)
    scaled = made if alpha == 1 else made * alpha
    return scaled + self * beta if beta else scaled


@rule("bmm")
def bmm(self: Any, mat2: Any) -> Any:
    """Sparse by dense, one matrix after the other."""
    if is_sparse(mat2) or isinstance(getattr(self, "_array", None), Compressed):
        raise NotImplementedError("bmm: expected a left side of coordinates and a dense right side")
    if self.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("bmm_sparse: Tensor 'self' and 'mat2' must have 3 dims")
    if self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            "bmm_sparse: 'self.size(0)' and 'mat2.size(0)', and 'self.size(2)' and 'mat2.size(1)', must match"
        )
    matrices = [product(self.select(0, i), mat2.select(0, i)) for i in range(self.shape[0])]
    if not matrices:
        return mat2.new_zeros((0, self.shape[1], mat2.shape[2]))
    return ops.stack(matrices)
