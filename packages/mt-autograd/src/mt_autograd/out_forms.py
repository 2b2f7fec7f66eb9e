"""What the ``out=`` forms of operators do with arguments that require grad: most refuse, each under a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.dispatch.registry import Overload, find_overload

__all__ = [
    "PARTS_BY_ARGUMENTS",
    "is_copied",
    "is_refused_late",
    "is_underivable",
    "is_unrecorded",
    "refused_by",
    "refused_leaf_of",
    "resizes_always",
    "way_by_call",
]

#: What PyTorch carries out by the recorded operator and a recorded copy.
_COPIED = frozenset(
    """
    inner linalg_cond linalg_matrix_norm linalg_norm linalg_pinv linalg_pinv.atol_rtol_float linalg_pinv.rcond_tensor
    linalg_tensorinv linalg_tensorsolve nanquantile nanquantile.scalar nuclear_norm nuclear_norm.dim quantile
    quantile.scalar special_ndtr linalg_cond.p_str linalg_matrix_norm.str_ord linalg_norm.ord_str
    """.split()
)
#: What it carries out whole, without a derivative of the form: the result requires grad, and backward ends there.
_UNDERIVABLE = frozenset(
    """
    alias_copy as_strided_copy conj_physical detach_copy diag diagonal_copy expand_copy fft_fftfreq fft_ihfft
    fft_rfftfreq
    floor_divide heaviside histogram.bin_ct histogram.bins_tensor linalg_eigvals linalg_ldl_factor linalg_ldl_factor_ex
    linalg_ldl_solve
    log_softmax.int permute_copy scatter.reduce scatter.value_reduce select_copy.int slice_copy.Tensor slice_scatter
    softmax.int squeeze_copy squeeze_copy.dim squeeze_copy.dims t_copy transpose_copy.int unfold_copy unsqueeze_copy
    view_as_complex_copy view_as_real_copy view_copy
    bitwise_and.Tensor bitwise_left_shift.Tensor bitwise_not bitwise_or.Tensor bitwise_right_shift.Tensor
    bitwise_xor.Tensor gcd lcm
    """.split()
)
#: What is refused when ``out`` has its shape.
_REFUSED_LATE = frozenset(["kron", "linalg_multi_dot"])
#: What gives integers that nothing is recorded of.
_UNRECORDED = frozenset(["bucketize", "linalg_matrix_rank", "isin.Scalar_Tensor", "isin.Tensor_Scalar"])
#: Factories that make ``out`` of their size whatever it is; no variable that requires grad can be resized so.
_RESIZING = frozenset(["empty", "randn"])
#: Operator -> the part that refuses a leaf for ``out``.
_LEAF_PARTS = {"diag": "diagonal_copy"}

#: Operator -> the first of its parts that has a derivative: PyTorch carries the ``out=`` form out by that part's.
_PARTS = {
    "fft_ihfft2": "_fft_c2c", "fft_ihfftn": "_fft_c2c", "fft_rfft": "_fft_r2c", "fft_rfft2": "_fft_r2c",
    "fft_rfftn": "_fft_r2c", "column_stack": "cat", "diff": "sub", "dstack": "cat", "float_power": "pow",
    "frobenius_norm": "norm", "hstack": "cat", "inverse": "linalg_inv_ex", "kron": "mul",
    "linalg_cholesky": "linalg_cholesky_ex", "linalg_det": "_linalg_det", "linalg_eigh": "_linalg_eigh",
    "linalg_eigvalsh": "_linalg_eigh", "linalg_inv": "linalg_inv_ex", "linalg_lu_factor": "linalg_lu_factor_ex",
    "linalg_multi_dot": "mm", "linalg_slogdet": "_linalg_slogdet", "linalg_solve": "_linalg_solve_ex",
    "linalg_solve_ex": "_linalg_solve_ex", "linalg_svd": "_linalg_svd", "linalg_svdvals": "_linalg_svd",
    "linalg_vecdot": "sum", "log_sigmoid": "log_sigmoid_forward", "lu_solve": "linalg_lu_solve", "msort": "sort",
    "nanmean": "nansum", "orgqr": "linalg_householder_product", "outer": "mul", "qr": "linalg_qr",
    "row_stack": "cat", "slogdet": "_linalg_slogdet", "special_expit": "sigmoid", "square": "pow", "svd": "_linalg_svd",
    "take_along_dim": "gather", "vstack": "cat",
    "concat": "cat", "concatenate": "cat", "special_round": "round", "linalg_matmul": "matmul",
    "cross": "linalg_cross", "ger": "mul",
    "chain_matmul": "mm", "det": "_linalg_det", "fft_fft2": "_fft_c2c",
    "fft_ifft2": "_fft_c2c", "fft_fftn": "_fft_c2c", "fft_ifftn": "_fft_c2c", "fft_irfft": "_fft_c2r",
    "fft_irfft2": "_fft_c2r", "fft_irfftn": "_fft_c2r", "fft_hfft": "_fft_c2r", "fft_hfft2": "_fft_c2r",
    "fft_hfftn": "_fft_c2r",
}  # fmt: skip
#: The same for overloads that have parts of their own.
_PARTS_OF_OVERLOADS = {"max.other": "maximum", "min.other": "minimum"}


def _of_power(args: tuple[Any, ...]) -> str:
    """A power of 0 is no function of the matrix, and one of 1 a copy."""
    n = args[1]
    return ("unrecorded", "copied")[n] if n in (0, 1) else "linalg_inv_ex" if n == -1 else "matmul"


#: Operator -> what decides for a call: "unrecorded", "copied", "underivable", or the part that refuses.
_BY_CALL: dict[str, Callable[[tuple[Any, ...]], str]] = {
    "linalg_matrix_power": _of_power,
    "matrix_power": _of_power,
    "fft_fft": lambda args: "_fft_c2c" if args[0].is_complex() else "_fft_r2c",
    "fft_ifft": lambda args: "_fft_c2c" if args[0].is_complex() else "underivable",
}


def way_by_call(overload: Overload) -> Callable[[tuple[Any, ...]], str] | None:
    """What tells of a call what becomes of it, where the operator alone does not."""
    return _BY_CALL.get(overload.packet_name)


def is_copied(overload: Overload) -> bool:
    """Whether the form is the recorded operator, and a copy of its result, which is recorded too."""
    return overload.declaration.functional in _COPIED


def is_refused_late(overload: Overload) -> bool:
    """Whether the form has given ``out`` its shape when a part of it refuses."""
    return overload.declaration.functional in _REFUSED_LATE


def is_underivable(overload: Overload) -> bool:
    """Whether the form's result requires grad, without a derivative; that of a factory is always so."""
    return overload.declaration.kind == "factory" or overload.declaration.functional in _UNDERIVABLE


def is_unrecorded(overload: Overload) -> bool:
    """Whether the form takes what requires grad, and gives what does not."""
    functional = overload.declaration.functional
    return functional is not None and not _UNRECORDED.isdisjoint((functional, overload.packet_name))


def resizes_always(overload: Overload) -> bool:
    """Whether the form makes ``out`` of its size without a look at the size that it has."""
    return overload.packet_name in _RESIZING


def refused_leaf_of(overload: Overload) -> str:
    """The name under which an underivable form refuses a leaf for ``out``."""
    return _LEAF_PARTS.get(overload.packet_name, overload.packet_name)


def _of_matrix_power(self: Any, n: int, out: Any) -> str:
    return "linalg_inv_ex" if n == -1 else "matmul"


#: Operators of which the arguments tell what part refuses.
PARTS_BY_ARGUMENTS: dict[str, Callable[..., str]] = {
    "fft_fft": lambda self, *rest: "_fft_c2c" if self.is_complex() else "_fft_r2c",
    "linalg_matrix_power": _of_matrix_power,
    "matrix_power": _of_matrix_power,
}


def refused_by(overload: Overload) -> str:
    """The name of the operator, of what it is a second name of, or of the part that refuses."""
    functional = overload if overload.declaration.functional is None else find_overload(overload.declaration.functional)
    while functional.declaration.alias_of is not None:
        functional = find_overload(functional.declaration.alias_of)
    if functional.packet_name in PARTS_BY_ARGUMENTS:
        return functional.packet_name
    own = _PARTS_OF_OVERLOADS.get(functional.name)
    return own or _PARTS.get(functional.packet_name, functional.packet_name)
