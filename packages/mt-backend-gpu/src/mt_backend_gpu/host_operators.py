"""Which operators are computed on the host; ``docs/cuda.md`` lists them too."""

from __future__ import annotations

__all__ = ["ON_HOST"]

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
    "random": ("_dirichlet_grad", "_standard_gamma_grad"),
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
