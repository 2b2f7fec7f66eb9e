"""Loss functions that compare an input with a target element by element or by class.

Every loss takes `reduction`: ``"none"`` returns all terms, ``"mean"`` their mean, ``"sum"`` their sum. The arguments
`size_average` and `reduce` are its former spelling.
"""

import math
import warnings
from typing import TYPE_CHECKING

import mt_core as mt
from mt_core import Tensor

from .. import _reduction as _Reduction

if TYPE_CHECKING:
    from ..modules.linear_cross_entropy_options import LinearCrossEntropyOptions

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "mse_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
]


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of the target classes.

    Parameters
    ----------
    input
        Log probabilities, shape (N, C, *) or (C,).
    target
        Class indices, shape (N, *) or ().
    weight
        A factor for each class, shape (C,); the mean is a weighted one.
    size_average
        Former spelling of `reduction`.
    ignore_index
        A target value that counts for nothing.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    return mt.nll_loss_nd(input, target, weight, _Reduction.get_enum(reduction), ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy between logits and target classes.

    Parameters
    ----------
    input
        Logits, shape (N, C, *) or (C,).
    target
        Class indices of shape (N, *) or (), or class probabilities of the input's shape.
    weight
        A factor for each class, shape (C,).
    size_average
        Former spelling of `reduction`.
    ignore_index
        A class index that counts for nothing.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    label_smoothing
        How much of each target is spread evenly over all classes, from 0 to 1.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    return mt.cross_entropy_loss(input, target, weight, _Reduction.get_enum(reduction), ignore_index, label_smoothing)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: "LinearCrossEntropyOptions | None" = None,
) -> Tensor:
    """`cross_entropy` of a linear map's output.

    Parameters
    ----------
    input
        Shape (N, in) or (in,).
    linear_weight
        Weight of the map, shape (C, *, in), where ``*`` are further dimensions of the logits.
    target
        Class indices of shape (N, *) or (), or class probabilities of shape (N, C, *) or (C,).
    linear_bias
        Bias of the map, shape (C, *).
    weight
        A factor for each class, shape (C,).
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    ignore_index
        A class index that counts for nothing; -100 by default, and only for class indices.
    label_smoothing
        As in `cross_entropy`.
    options
        A wish to work in chunks. The result is the same; memory is not saved yet.
    """
    if options is not None:
        warnings.warn(
            "linear_cross_entropy: computing in chunks is not implemented; falling back to the reference "
            "implementation, which keeps all logits.",
            stacklevel=3,
        )
    _check_linear(input, linear_weight, linear_bias)
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    logits_shape = linear_weight.shape[:-1]
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = mt.linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), bias)
    if len(logits_shape) > 1:
        logits = logits.unflatten(-1, logits_shape)
    ignore_index = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.dim()}")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {input.shape[-1]} and "
            f"{weight.shape[-1]}, respectively"
        )
    logits_shape = tuple(weight.shape[:-1])
    if bias is not None and bias.shape != logits_shape:
        raise RuntimeError(f"expected linear_bias shape {logits_shape}, got {tuple(bias.shape)}")
    if len(logits_shape) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, "
            f"(N, {weight.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The connectionist temporal classification loss (Graves et al. 2006).

    Parameters
    ----------
    log_probs
        Log probabilities, shape (T, N, C) or (T, C).
    targets
        Class indices, shape (N, S), or all of them one after another.
    input_lengths
        How many of the T steps belong to each sample, shape (N,) or ().
    target_lengths
        How many of the S targets belong to each sample, shape (N,) or ().
    blank
        The class that stands for no output.
    reduction
        ``"none"``, ``"mean"`` (each loss divided by its target length first) or ``"sum"``.
    zero_infinity
        Whether infinite losses, of inputs too short for their targets, become zero.
    """
    return mt.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _Reduction.get_enum(reduction), zero_infinity
    )


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts under Poisson distributions.

    Parameters
    ----------
    input
        The rates or, with `log_input`, their logarithms.
    target
        The counts.
    log_input
        Whether `input` holds logarithms.
    full
        Whether to add Stirling's approximation of log(target!).
    size_average
        Former spelling of `reduction`.
    eps
        Added to a rate before its logarithm is taken.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    return mt.poisson_nll_loss(input, target, log_input, full, eps, _Reduction.get_enum(reduction))


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of values under Gaussian distributions.

    Parameters
    ----------
    input
        The means.
    target
        The values.
    var
        The variances: of the input's shape, or with a last dimension missing or of size 1, or one number.
    full
        Whether to add the constant term.
    eps
        What variances are at least taken to be.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    """
    var = _matching_variance(input, var)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if mt.any(var < 0):
        raise ValueError("var has negative entry/entries")
    var = var.clone()
    with mt.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (mt.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction)


def _matching_variance(input: Tensor, var: Tensor | float) -> Tensor:
    """Variances so shaped that they broadcast to the input along its last dimension only."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        return var * mt.ones_like(input)
    if var.size() == input.size():
        return var
    if input.size()[:-1] == var.size():
        return mt.unsqueeze(var, -1)
    if input.ndim == var.ndim and sum(a != b for a, b in zip(input.size(), var.size(), strict=True)) == 1:
        if 1 in var.size():
            return var
    raise ValueError("var is of incorrect size")


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence of the target from the input.

    Parameters
    ----------
    input
        Log probabilities.
    target
        Probabilities or, with `log_target`, their logarithms.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"batchmean"`` (the sum divided by the batch size, which is the divergence as defined), ``"mean"``
        or ``"sum"``.
    log_target
        Whether `target` holds logarithms.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.",
            stacklevel=3,
        )
    if reduction != "batchmean":
        return mt.kl_div(input, target, _Reduction.get_enum(reduction), log_target=log_target)
    total = mt.kl_div(input, target, _Reduction.get_enum("sum"), log_target=log_target)
    return total / input.size()[0] if input.dim() != 0 else total


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The cross entropy between two binary distributions.

    Parameters
    ----------
    input
        Probabilities.
    target
        Probabilities, of the input's shape.
    weight
        A factor for each element, broadcast to the input's shape.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(mt.broadcast_shapes(target.size(), weight.size()))
    return mt.binary_cross_entropy(input, target, weight, _Reduction.get_enum(reduction))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, computed without losing precision.

    Parameters
    ----------
    input
        Logits.
    target
        Probabilities, of the input's shape.
    weight
        A factor for each element, broadcast to the input's shape.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    pos_weight
        A factor for the term of the positive class, broadcast to the target's shape.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    if not target.size() == input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return mt.binary_cross_entropy_with_logits(input, target, weight, pos_weight, _Reduction.get_enum(reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """0.5 d^2 / beta where the difference d is below `beta`, |d| - beta / 2 elsewhere.

    Parameters
    ----------
    input
        Any shape.
    target
        The input's shape.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    beta
        Where the quadratic part ends.
    """
    _warn_of_broadcast(input, target)
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    input, target = mt.broadcast_tensors(input, target)
    if beta == 0.0:
        return mt.l1_loss(input, target, _Reduction.get_enum(reduction))
    return mt.smooth_l1_loss(input, target, _Reduction.get_enum(reduction), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """0.5 d^2 where the difference d is below `delta`, delta * (|d| - delta / 2) elsewhere.

    Parameters
    ----------
    input
        Any shape.
    target
        The input's shape.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    delta
        Where the quadratic part ends.
    weight
        A factor for each element, of the input's shape; the mean is over the number of elements.
    """
    _warn_of_broadcast(input, target)
    input, target = mt.broadcast_tensors(input, target)
    if weight is None:
        return mt.huber_loss(input, target, _Reduction.get_enum(reduction), delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return _reduced(mt.huber_loss(input, target, 0, delta) * weight, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """|input - target|.

    Parameters
    ----------
    input
        Any shape.
    target
        The input's shape.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    weight
        A factor for each element, of the input's shape; the mean is a weighted one.
    """
    _warn_of_broadcast(input, target)
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    input, target = mt.broadcast_tensors(input, target)
    if weight is None:
        return mt.l1_loss(input, target, _Reduction.get_enum(reduction))
    return _weighted(mt.l1_loss(input, target, 0), input, weight, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """(input - target)^2.

    Parameters
    ----------
    input
        Any shape.
    target
        The input's shape.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    weight
        A factor for each element, of the input's shape; the mean is a weighted one.
    """
    _warn_of_broadcast(input, target)
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    input, target = mt.broadcast_tensors(input, target)
    if weight is None:
        return mt.mse_loss(input, target, _Reduction.get_enum(reduction))
    return _weighted(mt.mse_loss(input, target, 0), input, weight, reduction)


def _warn_of_broadcast(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )


def _weighted(terms: Tensor, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = terms * weight
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return mt.sum(weighted)
    if reduction == "mean":
        return mt.sum(weighted) / mt.sum(weight)
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def _reduced(terms: Tensor, reduction: str) -> Tensor:
    """Terms reduced as asked; any other word leaves them as they are."""
    if reduction == "mean":
        return terms.mean()
    if reduction == "sum":
        return terms.sum()
    return terms
