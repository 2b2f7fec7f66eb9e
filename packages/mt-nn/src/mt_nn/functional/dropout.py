"""Dropout: randomly zeroing elements or whole channels during training."""

import warnings

import mt_core as mt
from mt_core import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p` and scale the others by 1 / (1 - p) (Hinton et al. 2012).

    Parameters
    ----------
    input
        Any shape.
    p
        Probability of an element to be zeroed.
    training
        Whether to do so at all; otherwise the input is returned.
    inplace
        Whether to change the input itself.
    """
    if p < 0.0 or p > 1.0:
        _check_probability(p)
    return mt.dropout_(input, p, training) if inplace else mt.dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps zero mean and unit variance, for use with `selu`; arguments as in `dropout`."""
    _check_probability(p)
    return mt.alpha_dropout_(input, p, training) if inplace else mt.alpha_dropout(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels (the second dimension); arguments as in `dropout`."""
    _check_probability(p)
    return mt.feature_alpha_dropout_(input, p, training) if inplace else mt.feature_alpha_dropout(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of an input of shape (N, C, L) or (C, L); arguments as in `dropout`."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
            "dimension (i.e. 2D or 3D inputs)."
        )
    return _channel_dropout(input, p, training, inplace, batched=ndim == 3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of an input of shape (N, C, H, W) or (N, C, L); arguments as in `dropout`."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (3, 4):
        _warn_of_dimensions("dropout2d", ndim, 2, "3D or 4D")
    if ndim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=3,
        )
    return mt.feature_dropout_(input, p, training) if inplace else mt.feature_dropout(input, p, training)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of an input of shape (N, C, D, H, W) or (C, D, H, W); arguments as in `dropout`."""
    _check_probability(p)
    ndim = input.dim()
    if ndim not in (4, 5):
        _warn_of_dimensions("dropout3d", ndim, 3, "4D or 5D")
    return _channel_dropout(input, p, training, inplace, batched=ndim == 5)


def _warn_of_dimensions(name: str, ndim: int, spatial: int, expected: str) -> None:
    warnings.warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future "
        "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
        f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
        f"dimension, and an optional batch dimension (i.e. {expected} inputs).",
        stacklevel=4,
    )


def _channel_dropout(input: Tensor, p: float, training: bool, inplace: bool, batched: bool) -> Tensor:
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = mt.feature_dropout_(input, p, training) if inplace else mt.feature_dropout(input, p, training)
    if not batched:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result
