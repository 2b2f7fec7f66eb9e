"""Normalization: declarations."""

from __future__ import annotations

from ._checks import FLOATS, Supported
from ._declare import Family

family = Family("norm")

family.plain(
    "native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    variants="function", doc="Layer normalization with the mean and the reciprocal standard deviation it used (Ba et al. 2016).",
)  # fmt: skip
family.plain(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, "
    "Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)", variants="",
    dtypes=Supported("LayerNormBackwardKernelImpl", FLOATS),
)  # fmt: skip
family.composite(
    "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, "
    "bool cudnn_enable=True) -> Tensor", variants="function",
    doc="(x - mean) / sqrt(var + eps) * weight + bias over the trailing dimensions `normalized_shape`; var is biased.",
)  # fmt: skip
family.composite(
    "rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", variants="function",
    doc="x / sqrt(mean(x^2) + eps) * weight over the trailing dimensions (Zhang and Sennrich 2019); eps defaults to the dtype's.",
)  # fmt: skip
family.composite(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)", variants="function",
    doc="`rms_norm`, and the reciprocal of the root mean square that it used.",
)  # fmt: skip
family.plain(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) -> (Tensor, Tensor, Tensor)", dtypes=Supported("GroupNormKernelImpl", FLOATS),
    variants="function", doc="Group normalization with the mean and reciprocal standard deviation of each group (Wu and He 2018).",
)  # fmt: skip
family.plain(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C, int HxW, int group, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)", variants="", dtypes=Supported("GroupNormBackwardKernelImpl", FLOATS),
)  # fmt: skip
family.composite(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    variants="function", doc="Normalization over groups of channels of (N, C, *).",
)  # fmt: skip
family.plain(
    "_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? mean, Tensor? variance, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    variants="function",
    doc=(
        "(x - mean) / sqrt(variance + eps) * weight + bias over the channels of (N, C, *), with given statistics or, without, those "
        "of the batch; then these (empty where they were given) and the reciprocal standard deviation."
    ),
)  # fmt: skip
family.plain(
    "_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, bool training, bool[3] output_mask) "
    "-> (Tensor, Tensor, Tensor)", variants="",
)  # fmt: skip
family.composite(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)", variants="function",
    doc="Batch normalization with the mean and reciprocal standard deviation of the batch (empty in evaluation).",
)  # fmt: skip
family.composite(
    "batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum) -> (Tensor, Tensor)",
    dtypes=Supported("batch_norm_update_stats_cpu", FLOATS), variants="function",
    doc="Mean and biased variance of each channel of (N, C, *); running statistics are brought up to date.",
)  # fmt: skip
family.composite(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps, bool cudnn_enabled) -> Tensor", variants="function",
    doc="Normalization over all but the channel dimension of (N, C, *) (Ioffe and Szegedy 2015); updates the running statistics in training.",
)  # fmt: skip
family.composite(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, "
    "float momentum, float eps, bool cudnn_enabled) -> Tensor", variants="function",
    doc="Normalization of each channel of each sample by itself.",
)  # fmt: skip
family.composite(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, "
    "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)", variants="function",
    doc="As `native_batch_norm`, with a schema that says which statistics are written; the second form has none.",
)  # fmt: skip
family.composite(
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
    "float eps) -> (Tensor, Tensor, Tensor)", variants="function",
)  # fmt: skip
family.composite(
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)", variants="function",
    doc="As `native_batch_norm` in evaluation.",
)  # fmt: skip
family.composite(
    "_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)", variants="",
    doc="As `native_batch_norm` in training, and bytes in which other devices keep what their backward needs: none here.",
)  # fmt: skip
