"""PyTorch's names for static quantization and for training with it: they can be imported, and raise when called."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_nn.modules import Identity

from ..._unsupported import unsupported_class, unsupported_function
from . import observer
from .qconfig import QConfig

__all__ = ["stand_in"]

_REMEDY = "There are quantize_dynamic for linear layers, and observers."

_FUNCTIONS = frozenset(
    """
    add_quant_dequant convert convert_dynamic_jit convert_jit
    default_affine_fixed_qparams_fake_quant default_affine_fixed_qparams_observer default_debug_observer
    default_dynamic_fake_quant default_embedding_fake_quant default_embedding_fake_quant_4bit default_eval_fn
    default_fake_quant default_fixed_qparams_range_0to1_fake_quant default_fixed_qparams_range_0to1_observer
    default_fixed_qparams_range_neg1to1_fake_quant default_fixed_qparams_range_neg1to1_observer
    default_float_qparams_observer default_float_qparams_observer_4bit default_fused_act_fake_quant
    default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant default_histogram_fake_quant
    default_histogram_observer default_per_channel_weight_fake_quant default_reuse_input_observer
    default_symmetric_fixed_qparams_fake_quant default_symmetric_fixed_qparams_observer
    default_weight_fake_quant disable_fake_quant disable_observer enable_fake_quant enable_observer
    fuse_conv_bn fuse_conv_bn_jit fuse_conv_bn_relu fuse_convtranspose_bn fuse_linear_bn fuse_modules
    fuse_modules_qat fused_per_channel_wt_fake_quant_range_neg_127_to_127
    fused_wt_fake_quant_range_neg_127_to_127 get_block_size get_default_compare_output_module_list
    get_default_custom_config_dict get_default_dynamic_quant_module_mappings
    get_default_dynamic_sparse_quant_module_mappings get_default_float_to_quantized_operator_mappings
    get_default_qat_module_mappings get_default_qat_qconfig get_default_qat_qconfig_dict
    get_default_qat_qconfig_mapping get_default_qconfig get_default_qconfig_dict get_default_qconfig_mapping
    get_default_qconfig_propagation_list get_default_static_quant_module_mappings
    get_default_static_quant_reference_module_mappings get_default_static_sparse_quant_module_mappings
    get_dynamic_quant_module_class get_embedding_qat_module_mappings
    get_embedding_static_quant_module_mappings get_fuser_method get_fuser_method_new get_observer_state_dict
    get_quantized_operator get_static_quant_module_class load_observer_state_dict no_observer_set
    per_channel_weight_observer_range_neg_127_to_127 prepare prepare_dynamic_jit prepare_jit prepare_qat
    propagate_qconfig_ qconfig_equals quantize quantize_dynamic_jit quantize_jit quantize_qat script_qconfig
    script_qconfig_dict swap_module weight_observer_range_neg_127_to_127
    """.split()
)
_CLASSES = frozenset(
    """
    AffineQuantizedObserverBase FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize FixedQParamsObserver
    FusedMovingAvgObsFakeQuantize Granularity HistogramObserver PerAxis PerBlock PerGroup PerRow PerTensor
    PerToken QConfigDynamic QConfigMapping RecordingObserver ReuseInputObserver
    """.split()
)

#: Configurations -> what observes inputs and weights; they are there, and what they name is refused when it is called.
_CONFIGURATIONS = {
    "default_activation_only_qconfig": ("default_fake_quant", "Identity"),
    "default_debug_qconfig": ("default_debug_observer", "default_weight_observer"),
    "default_dynamic_qat_qconfig": ("default_dynamic_fake_quant", "default_weight_fake_quant"),
    "default_embedding_qat_qconfig": ("float32", "default_embedding_fake_quant"),
    "default_embedding_qat_qconfig_4bit": ("float32", "default_embedding_fake_quant_4bit"),
    "default_per_channel_symmetric_qnnpack_qat_qconfig": (
        "FusedMovingAvgObsFakeQuantize", "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
    ),
    "default_per_channel_symmetric_qnnpack_qconfig": (
        "HistogramObserver", "per_channel_weight_observer_range_neg_127_to_127",
    ),
    "default_qat_qconfig": ("default_fake_quant", "default_weight_fake_quant"),
    "default_qat_qconfig_v2": ("default_fused_act_fake_quant", "default_fused_wt_fake_quant"),
    "default_quint8_weight_qconfig": ("HistogramObserver", "MinMaxObserver"),
    "default_reuse_input_qconfig": ("default_reuse_input_observer", "NoopObserver"),
    "default_symmetric_qnnpack_qat_qconfig": (
        "FusedMovingAvgObsFakeQuantize", "fused_wt_fake_quant_range_neg_127_to_127",
    ),
    "default_symmetric_qnnpack_qconfig": ("HistogramObserver", "weight_observer_range_neg_127_to_127"),
    "default_weight_only_qconfig": ("Identity", "default_weight_fake_quant"),
    "float_qparams_weight_only_qconfig": ("default_placeholder_observer", "default_float_qparams_observer"),
    "float_qparams_weight_only_qconfig_4bit": ("default_placeholder_observer", "default_float_qparams_observer_4bit"),
}  # fmt: skip


def _part(name: str) -> Any:
    if name == "Identity":
        return Identity
    if name == "float32":
        return observer.NoopObserver.with_args(dtype=mt.float32)
    return getattr(observer, name, None) or stand_in(name)


def stand_in(name: str) -> Any:
    """What raises when it is called, for one of PyTorch's names; None for other names."""
    if name in _FUNCTIONS:
        return unsupported_function(f"torch.ao.quantization.{name}", _REMEDY)
    if name in _CLASSES:
        return unsupported_class(f"torch.ao.quantization.{name}", _REMEDY)
    if name in _CONFIGURATIONS:
        return QConfig(*map(_part, _CONFIGURATIONS[name]))
    return None
