"""Products of matrices and vectors: declarations."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import Any

from .. import dtypes
from ..dtypes import dtype
from ._checks import COMPLEX, FLOAT8, FLOATS, INTEGERS, OutDtypes, Supported, never
from ._declare import Family

family = Family("matmul")

_FACTORS = INTEGERS | FLOATS | COMPLEX
#: What products of two matrices take besides: rounded once, like the half types.
_SMALL = FLOAT8 - {dtypes.float8_e8m0fnu}


def _of_something(kernel: str, accepted: frozenset[dtype] = _FACTORS) -> Supported:
    """A product of nothing is zero in every dtype."""

    def asked(args: tuple[Any, ...]) -> str | None:
        return kernel if all(tensor.numel() for tensor in args) else None

    return Supported(asked, accepted)


def _of_some(kernel: str, accepted: frozenset[dtype]) -> Supported:
    """What is added to a product without elements is not looked at either."""

    def asked(args: tuple[Any, ...]) -> str | None:
        *rows, _ = args[1].shape
        columns = args[2].shape[-1:] if args[2].dim() > 1 else ()
        return kernel if math.prod([*rows, *columns]) else None

    return Supported(asked, accepted)


family.plain(
    "mm(Tensor self, Tensor mat2) -> Tensor",
    dtypes=_of_something("addmm_impl_cpu_", _FACTORS | _SMALL),
    out=True,
    doc="Matrix product (n, k) @ (k, m) -> (n, m).",
    exact_out=True,
)
family.plain(
    "bmm(Tensor self, Tensor mat2) -> Tensor",
    dtypes=_of_something("bmm"),
    out=True,
    doc="Batched matrix product (b, n, k) @ (b, k, m) -> (b, n, m).",
    exact_out=True,
)
family.plain(
    "mv(Tensor self, Tensor vec) -> Tensor",
    dtypes=_of_something("addmv_impl_cpu"),
    out=True,
    doc="Matrix times vector (n, k) @ (k) -> (n).",
    exact_out=True,
)
#: Vectors have no kernel that PyTorch generates checks for.
_DOT_OUT: dict[str, Any] = {
    "exact_out": "result dtype {out} does not match input dtype {expected}",
    "resizes_first": True,
}


def _resizes_first(self: Any, other: Any) -> tuple[int, ...] | None:
    """Products of matrices with matrices or vectors check ``out`` first, all other ones give it the result's shape."""
    a, b = tuple(self.shape), tuple(other.shape)
    if not a or not b or sorted((len(a), len(b))) in ([1, 2], [2, 2]):
        return None
    batches = list(zip_longest(reversed(a[:-2]), reversed(b[:-2]), fillvalue=1))
    if any(n != m and 1 not in (n, m) for n, m in batches):
        return None  # which is refused before
    batch = [m if n == 1 else n for n, m in reversed(batches)]
    return (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


family.plain(
    "dot(Tensor self, Tensor tensor) -> Tensor",
    dtypes=Supported("dot", _FACTORS),
    out=True,
    **_DOT_OUT,
    doc="Inner product of two vectors of one length.",
)
family.plain(
    "vdot(Tensor self, Tensor other) -> Tensor",
    dtypes=Supported("dot", _FACTORS),
    out=True,
    **_DOT_OUT,
    doc="`dot` with the first vector conjugated.",
)
family.composite(
    "matmul(Tensor self, Tensor other) -> Tensor",
    out=True,
    doc="Matrix product with batch dimensions broadcast; vectors count as a row on the left and a column on the right.",
    exact_out=True,
    resizes_first=_resizes_first,
)
family.composite("outer(Tensor self, Tensor vec2) -> Tensor", out=True, doc="(n), (m) -> (n, m) of all products.")
family.composite("ger(Tensor self, Tensor vec2) -> Tensor", out=True, doc="Second name of `outer`.")
family.plain(
    "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    old_orders=("beta self alpha mat1 mat2", "beta self mat1 mat2"),
    dtypes=_of_some("addmm_impl_cpu_", _FACTORS | _SMALL),
    inplace=True,
    out=True,
    doc="beta * self + alpha * (mat1 @ mat2), self broadcast.",
    exact_out=True,
)
family.composite(
    "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor",
    variants="function method", dtypes=Supported("addmm_impl_cpu_", _FACTORS), out=True,
    doc="`relu` of `addmm`, or its `gelu`.",
)  # fmt: skip
family.plain(
    "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    old_orders=("beta self alpha mat vec", "beta self mat vec"),
    dtypes=_of_some("addmv_impl_cpu", _FACTORS),
    inplace=True,
    inplace_variants="method function",
    out=True,
    exact_out=True,
    doc="beta * self + alpha * (mat @ vec).",
)
family.plain(
    "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    old_orders=("beta self alpha batch1 batch2", "beta self batch1 batch2"),
    dtypes=_of_some("baddbmm", _FACTORS),
    inplace=True,
    out=True,
    doc="beta * self + alpha * bmm(batch1, batch2), self broadcast.",
    exact_out=True,
)
family.composite(
    "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    old_orders=("beta self alpha batch1 batch2", "beta self batch1 batch2"),
    inplace=True,
    out=True,
    out_check=OutDtypes("self and mat2 must have the same dtype, but got {out} and {expected}", never),
    doc="beta * self + alpha * the sum of the products batch1[i] @ batch2[i].",
)
family.composite(
    "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    old_orders=("beta self alpha vec1 vec2", "beta self vec1 vec2"),
    inplace=True,
    out=True,
    doc="beta * self + alpha * outer(vec1, vec2).",
)
family.plain(
    "_linear_of_rows(Tensor bias, Tensor input, Tensor weight) -> Tensor",
    dtypes=Supported("addmm_impl_cpu_", _FACTORS | _SMALL),
    variants="",
    doc="`linear` of a matrix: (m), (n, k), (m, k) -> (n, m).",
)
family.composite(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    variants="function",
    namespace="torch._C._nn",
    out=True,
    exact_out=True,
    doc="input @ weight.T + bias over the last dimension: (*, k), (m, k), (m) -> (*, m).",
)
family.composite(
    "inner(Tensor self, Tensor other) -> Tensor",
    exact_out="tensordot: Expected the output tensor to have dtype {expected}, but got an output tensor with dtype {out}",
    out=True,
    doc="Inner products over the last dimensions: (*a, k), (*b, k) -> (*a, *b).",
)
family.composite(
    "kron(Tensor self, Tensor other) -> Tensor",
    out=True,
    doc="Kronecker product: blocks of `other`, each times an element of self.",
)
family.plain(
    "_int_mm(Tensor self, Tensor mat2) -> Tensor",
    variants="function",
    out=True,
    exact_out="int_mm_out_cpu: Expected result dtype to be of type kInt but got {cpp_out}",
    doc="Product of int8 matrices (n, k) @ (k, m) -> (n, m), summed in int32; the first may be uint8.",
)
