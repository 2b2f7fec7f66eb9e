"""Operators that are computed on the host: their arguments are copied there, and the results back.

They are named one by one, here and in ``docs/cuda.md``: none comes here by itself. The kernels are the CPU backend's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy

from mt_core.dispatch.lookup import backend_for
from mt_core.dispatch.registry import KERNELS, find_overload
from mt_core.keys import CPU

from .registry import enter

__all__ = ["ON_HOST", "register_on_host"]

#: Families of polynomials, whose functions are given by recurrences over the largest degree.
_POLYNOMIALS = tuple(
    f"special_{name}{overload}"
    for name in (
        "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
        "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
        "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
        "legendre_polynomial_p",
    )
    for overload in ("", ".x_scalar", ".n_scalar")
)  # fmt: skip

#: Family -> operators.
ON_HOST: dict[str, tuple[str, ...]] = {
    "linalg": (
        "_linalg_det", "geqrf", "linalg_cholesky_ex", "linalg_eig", "linalg_eigh", "linalg_eigvals", "linalg_inv_ex",
        "linalg_ldl_factor_ex", "linalg_ldl_solve", "linalg_lstsq", "linalg_lu_factor_ex", "linalg_matrix_exp",
        "linalg_pinv.atol_rtol_tensor", "linalg_qr", "linalg_slogdet", "linalg_solve_ex", "linalg_solve_triangular",
        "linalg_svd", "lu_unpack",
    ),
    "reduction": (
        "histogram.bin_ct", "histogram.bins_tensor", "_histogramdd_bin_edges", "_histogramdd_from_bin_tensors", "histc",
    ),
    "sort": ("_unique2", "unique_dim", "unique_consecutive", "mode", "searchsorted.Tensor"),
    "special": (
        *_POLYNOMIALS, "special_zeta", "special_zeta.self_scalar", "special_zeta.other_scalar", "igamma", "igammac",
        "polygamma", "i0", "special_i0e", "special_i1", "special_i1e", "special_bessel_j0", "special_bessel_j1",
        "special_bessel_y0", "special_bessel_y1", "special_modified_bessel_i0", "special_modified_bessel_i1",
        "special_modified_bessel_k0", "special_modified_bessel_k1", "special_scaled_modified_bessel_k0",
        "special_scaled_modified_bessel_k1", "special_spherical_bessel_j0", "special_airy_ai",
    ),
}  # fmt: skip


def register_on_host(family: str) -> None:
    """Register the CPU's kernels of a family's operators that are computed there."""
    if family not in ON_HOST:
        return
    backend_for(CPU).load(family)
    for name in ON_HOST[family]:
        assert find_overload(name).family == family, f"{name} is no operator of {family}"
        for kernel in reversed(KERNELS[CPU][name]):  # what is registered later stands in front
            if kernel.own:
                enter(
                    (name,), _lifted(kernel.function), False, accepts=kernel.accepts, half=kernel.half,
                    recorded=kernel.recorded,
                )  # fmt: skip


def _lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of the host as one that takes and gives arrays of the device."""

    def run(*args: Any) -> Any:
        with numpy.errstate(all="ignore"):
            return _mapped(_to_device, function(*_mapped(_to_host, args)))

    run.__name__ = f"{getattr(function, '__name__', 'kernel')}_on_host"
    return run


def _to_host(value: Any) -> Any:
    return value.get() if isinstance(value, cupy.ndarray) else value


def _to_device(value: Any) -> Any:
    return cupy.asarray(value) if isinstance(value, (numpy.ndarray, numpy.generic)) else value


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)([_mapped(change, item) for item in value])
    return change(value)
