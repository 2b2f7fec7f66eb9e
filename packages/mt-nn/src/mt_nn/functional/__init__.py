"""Functions of neural networks: the counterparts of the modules that keep no state."""

from collections.abc import Iterable
from typing import Any

import mt_core as mt
from mt_core.overrides import handle_torch_function as handle_torch_function
from mt_core.overrides import has_torch_function as has_torch_function
from mt_core.overrides import has_torch_function_unary as has_torch_function_unary
from mt_core.overrides import has_torch_function_variadic as has_torch_function_variadic
from mt_core.overriding import overridable as _overridable

from .. import _reduction as _Reduction  # noqa: F401 - read as torch.nn.functional._Reduction
from .. import grad as grad
from .activation import (
    _get_softmax_dim as _get_softmax_dim,
)
from .activation import (
    celu,
    elu,
    glu,
    gumbel_softmax,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    log_softmax,
    mish,
    relu,
    relu6,
    rrelu,
    selu,
    sigmoid,
    silu,
    softmax,
    softmin,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from .attention import (
    _canonical_mask as _canonical_mask,
)
from .attention import (
    _in_projection as _in_projection,
)
from .attention import (
    _in_projection_packed as _in_projection_packed,
)
from .attention import (
    _mha_shape_check as _mha_shape_check,
)
from .attention import (
    _none_or_dtype as _none_or_dtype,
)
from .attention import (
    multi_head_attention_forward,
)
from .conv import (
    fold,
    unfold,
)
from .distance import (
    normalize,
)
from .dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from .embedding import (
    _no_grad_embedding_renorm_ as _no_grad_embedding_renorm_,
)
from .embedding import (
    embedding,
    embedding_bag,
)
from .loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    ctc_loss,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    linear_cross_entropy,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from .loss_margin import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .norm import (
    _verify_batch_size as _verify_batch_size,
)
from .norm import (
    _verify_spatial_size as _verify_spatial_size,
)
from .norm import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from .padding import (
    pad,
)
from .pool import (
    _unpool_output_size as _unpool_output_size,
)
from .pool import (
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from .vision import (
    GRID_SAMPLE_INTERPOLATION_MODES as GRID_SAMPLE_INTERPOLATION_MODES,
)
from .vision import (
    GRID_SAMPLE_PADDING_MODES as GRID_SAMPLE_PADDING_MODES,
)
from .vision import (
    affine_grid,
    grid_sample,
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)

#: Name here -> name of the operator that it is, unchanged.
_OPERATORS = {
    name: name
    for name in (
        "adaptive_avg_pool1d",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "bilinear",
        "celu_",
        "channel_shuffle",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_tbc",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "cosine_similarity",
        "elu_",
        "gelu",
        "hardshrink",
        "hardtanh_",
        "leaky_relu_",
        "linear",
        "native_channel_shuffle",
        "one_hot",
        "pairwise_distance",
        "pdist",
        "pixel_shuffle",
        "pixel_unshuffle",
        "prelu",
        "relu_",
        "rrelu_",
        "scaled_dot_product_attention",
        "selu_",
        "softplus",
        "softshrink",
        "threshold_",
    )
} | {"logsigmoid": "log_sigmoid"}

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "ctc_loss",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "elu",
    "elu_",
    "embedding",
    "embedding_bag",
    "feature_alpha_dropout",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss",
    "gelu",
    "glu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "leaky_relu_",
    "linear",
    "linear_cross_entropy",
    "local_response_norm",
    "log_softmax",
    "logsigmoid",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "margin_ranking_loss",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "mish",
    "mse_loss",
    "multi_head_attention_forward",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "native_channel_shuffle",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]

#: Written in other functions of this module, which overrides are told of.
_NOT_TOLD = ("sigmoid", "tanh", "upsample", "upsample_bilinear", "upsample_nearest")


def _must_ask(values: Iterable[Any]) -> bool:
    """Whether overrides are asked: by a name of this module, which tracers exchange to look into functions."""
    return has_torch_function(values)


for _name, _function in [(name, value) for name, value in globals().items() if name in __all__]:
    _function.__module__ = __name__  # pickles name a function by the module that users import it from
    if _name not in _NOT_TOLD:
        globals()[_name] = _overridable(_function, _must_ask)
del _name, _function
_threshold = threshold  # what PyTorch calls it where it is defined


def __getattr__(name: str) -> Any:
    """An operator, which belongs to the core, when it is first asked for."""
    operator = _OPERATORS.get(name)
    if operator is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(mt, operator)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
