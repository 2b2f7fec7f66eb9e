"""Which operators autocast gives another dtype, by device type: names, of all overloads or of one.

Operators that are in no list compute in what they are given. What is made of other operators follows from these.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ACCELERATOR", "CPU", "PARTS_ARE_SEEN", "Lists", "lists_of"]


class Lists(NamedTuple):
    """What happens to the floating-point tensors of a call, float64 aside.

    Attributes
    ----------
    lower
        They become the dtype that autocast was asked for.
    full
        They become float32.
    result
        The operator's argument `dtype`, where it is not given, becomes float32.
    widest
        They become the widest among them.
    refused
        Operator -> what is said instead: it is not safe in half types.
    """

    lower: frozenset[str]
    full: frozenset[str]
    result: frozenset[str] = frozenset()
    widest: frozenset[str] = frozenset()
    refused: dict[str, str] = {}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CPU = Lists(
    lower=_names("""
        _addmm_activation _native_multi_head_attention addbmm addmm baddbmm bmm conv1d conv2d conv3d conv_tbc
        conv_transpose1d conv_transpose2d conv_transpose3d linalg_vecdot linear lstm.input matmul mm prelu
        scaled_dot_product_attention
    """),
    full=_names("""
        _lu_with_info adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy
        binary_cross_entropy_with_logits cdist cholesky cholesky_inverse cholesky_solve cosine_embedding_loss
        cross_entropy_loss ctc_loss fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft
        fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn fractional_max_pool2d fractional_max_pool3d geqrf
        grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss huber_loss inverse kl_div l1_loss
        linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh
        linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve
        linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve margin_ranking_loss max_pool3d
        max_unpool2d max_unpool3d mse_loss multi_margin_loss multilabel_margin_loss
        nanquantile nll_loss nll_loss2d nll_loss_nd orgqr ormqr pinverse poisson_nll_loss polar prod qr quantile
        reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d smooth_l1_loss
        soft_margin_loss stft svd trace triangular_solve triplet_margin_loss view_as_complex view_as_complex_copy
    """),
    widest=_names("cat index_copy stack"),
)

#: Operators of PyTorch's that are made of listed ones there too, though they are recorded as one.
PARTS_ARE_SEEN = _names("""
    affine_grid_generator chain_matmul corrcoef cov gru inner linalg_matrix_power linalg_multi_dot lstm
    matrix_power rnn_relu rnn_tanh
""")

_UNSAFE_LOSS = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)

#: CUDA, NPU and third parties' devices. What is Python here follows from its parts: ``einsum``, ``norm``, and
#: ``tensordot``, which is a product (PyTorch gives it the widest dtype).
ACCELERATOR = Lists(
    lower=_names("""
        addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
        conv_transpose3d convolution gru_cell linalg_multi_dot linalg_vecdot linear lstm_cell matmul mm mv prelu
        rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention
    """),
    full=_names("""
        acos asin binary_cross_entropy_with_logits cdist cosh cosine_embedding_loss cosine_similarity dist erfinv exp
        expm1 frobenius_norm group_norm hinge_embedding_loss huber_loss kl_div l1_loss layer_norm log log10 log1p log2
        logsumexp margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss native_layer_norm nll_loss
        nll_loss2d nuclear_norm pdist poisson_nll_loss pow reciprocal renorm rsqrt sinh smooth_l1_loss soft_margin_loss
        softplus tan triplet_margin_loss upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d
        upsample_nearest2d upsample_nearest3d upsample_trilinear3d _upsample_nearest_exact1d _upsample_nearest_exact2d
        _upsample_nearest_exact3d
    """),
    result=_names("""
        cumprod cumsum linalg_matrix_norm linalg_vector_norm log_softmax prod softmax sum
    """),
    widest=_names("""
        addcdiv addcmul atan2 bilinear cat cross dot grid_sampler index_put scatter_add stack vdot
    """),
    refused={"binary_cross_entropy": _UNSAFE_LOSS},
)


def lists_of(device_type: str) -> Lists:
    """The lists of a device type."""
    return CPU if device_type == "cpu" else ACCELERATOR
