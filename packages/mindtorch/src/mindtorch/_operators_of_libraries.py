"""Operators at the top level that stand for one library's kernel; torch.nn.functional has what they compute.

PyTorch on the CPU refuses most of them as well: ``Could not run 'aten::cudnn_convolution' with arguments from the 'CPU'
backend``.
"""

from __future__ import annotations

from typing import Any

from mt_core import Tensor

from ._unsupported import unsupported_function

#: Library -> operators.
_OPERATORS = {
    "cuDNN": """cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu
        cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler""",
    "CUDA, of torch.nn.SyncBatchNorm": """batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
        batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats""",
    "MIOpen": """miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
        miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn""",
    "oneDNN": """mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d
        mkldnn_max_pool3d mkldnn_rnn_layer""",
    "FBGEMM": """choose_qparams_optimized fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
        fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight
        fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix""",
    "PyTorch for static quantization": """empty_quantized fused_moving_avg_obs_fake_quant quantized_batch_norm
        quantized_gru_cell quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d
        quantized_rnn_relu_cell quantized_rnn_tanh_cell""",
}
globals().update(
    {
        name: unsupported_function(f"torch.{name}", f"It is a kernel of {library}.")
        for library, names in _OPERATORS.items()
        for name in names.split()
    }
)

__all__ = [
    "cudnn_is_acceptable",
    *(name for names in _OPERATORS.values() for name in names.split()),
]


def cudnn_is_acceptable(input: Tensor) -> bool:
    """Whether cuDNN could compute with a tensor; it is not used on any device.

    Raises
    ------
    TypeError
        For what is no tensor.
    """
    _refuse_others("cudnn_is_acceptable", input)
    return False


def _refuse_others(name: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
