"""How often PyTorch writes to results while it makes them of inference tensors, outside of inference mode.

Such tensors lack the key under which operators count versions: what their kernels write to is counted as any
other write, so that a new tensor has a version.
"""

from __future__ import annotations

__all__ = ["INFERENCE_WRITES"]

#: The version of each result, or of all -> operators. The most frequent one, where a dtype decides.
_OPERATORS = {
    "1": """
        _to_copy _unique2 abs adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d addmm alias_copy all all.dim all.dims
        amax amin aminmax any any.dim any.dims as_strided_copy baddbmm bernoulli bernoulli.p bincount binomial
        channel_shuffle cholesky_inverse clone col2im complex cummax cummin deg2rad det detach_copy
        diagonal_copy dot expand_copy fft_fft fft_ifft fft_ihfft
        fft_rfft fill.Scalar fill.Tensor frexp.Tensor frobenius_norm.dim geqrf hardtanh im2col index_copy
        isin.Scalar_Tensor isin.Tensor_Scalar isin.Tensor_Tensor isreal kthvalue linalg_det linalg_eig
        linalg_householder_product linalg_ldl_solve linalg_lstsq linalg_lu_solve linalg_slogdet
        linalg_solve_ex logical_and logical_not logical_or logical_xor logsumexp max max_pool3d
        max_pool3d_with_indices median.dim min multi_margin_loss multilabel_margin_loss mv mvlgamma nan_to_num
        nanmedian.dim nansum native_channel_shuffle native_dropout new_full new_ones new_zeros nonzero
        nonzero_static norm_except_dim normal.Tensor_float pdist permute_copy pixel_shuffle pixel_unshuffle
        poisson polar pow.Scalar prod prod.dim_int rad2deg reflection_pad2d renorm repeat rot90 scatter.reduce
        scatter.src scatter.value scatter.value_reduce scatter_add select_copy.int slice_copy.Tensor
        soft_margin_loss sort sort.stable split_copy.Tensor split_with_sizes_copy squeeze_copy
        squeeze_copy.dim squeeze_copy.dims sum sum.dim_IntList t_copy transpose_copy.int triangular_solve
        unbind_copy.int unfold_copy unsqueeze_copy upsample_bilinear2d upsample_nearest2d vdot
        view_as_complex_copy view_as_real_copy view_copy
    """,
    "2": """
        as_strided_scatter binary_cross_entropy cholesky_solve constant_pad_nd diag_embed diagonal_scatter
        fft_rfft2 fft_rfftn histc index_add index_fill.int_Scalar
        index_fill.int_Tensor index_put index_reduce linalg_eigvals linalg_matrix_exp masked_fill.Scalar
        masked_fill.Tensor masked_scatter max.dim max_unpool2d max_unpool3d mean mean.dim min.dim mode
        multinomial normal.Tensor_Tensor normal.float_Tensor put select_scatter slice_scatter smooth_l1_loss
    """,
    "3": """
        cholesky linalg_solve_triangular ormqr scatter_reduce.two
    """,
    "4": """
        addbmm conv_tbc
    """,
    "8": """
        bilinear
    """,
    "0,1": """
        linalg_eigh lstm_cell
    """,
    "1,0": """
        linalg_cholesky_ex
    """,
    "1,2": """
        linalg_qr
    """,
    "2,1": """
        histogram.bin_ct histogram.bins_tensor
    """,
    "3,1": """
        linalg_inv_ex
    """,
    "1,0,0": """
        linalg_ldl_factor_ex linalg_lu_factor_ex
    """,
    "1,1,2": """
        linalg_lu
    """,
    "2,1,1": """
        histogramdd histogramdd.int_bins
    """,
    "2,2,1": """
        lu_unpack
    """,
}

#: Operator -> the versions of its results, one for all where they are alike.
INFERENCE_WRITES: dict[str, tuple[int, ...]] = {
    name: tuple(map(int, versions.split(","))) for versions, names in _OPERATORS.items() for name in names.split()
}
