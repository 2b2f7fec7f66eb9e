"""Loss functions with a margin, between inputs and labels or between inputs.

`reduction`, `size_average` and `reduce` are as in the other losses.
"""

from collections.abc import Callable

import mt_core as mt
from mt_core import Tensor

from .. import _reduction as _Reduction

__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin), where a target of 1 (-1) ranks the first (second) input higher."""
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return mt.margin_ranking_loss(input1, input2, target, margin, _Reduction.get_enum(reduction))


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    return mt.hinge_embedding_loss(input, target, margin, _Reduction.get_enum(reduction))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """A hinge loss of several classes per sample.

    Parameters
    ----------
    input
        Scores, shape (N, C) or (C,).
    target
        Class indices of the input's shape, those after the first -1 not counting.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    return mt.multilabel_margin_loss(input, target, _Reduction.get_enum(reduction))


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)), where the target is 1 or -1."""
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    return mt.soft_margin_loss(input, target, _Reduction.get_enum(reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross entropy of each, with logits.

    Parameters
    ----------
    input
        Logits, shape (N, C) or (C,).
    target
        0 or 1 for each class, of the input's shape.
    weight
        A factor for each class.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    terms = -(target * mt.log_sigmoid(input) + (1 - target) * mt.log_sigmoid(-input))
    if weight is not None:
        terms = terms * weight
    class_dim = input.dim() - 1
    loss = terms.sum(dim=class_dim) / input.size(class_dim)
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(reduction + " is not valid")


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1, of pairs of vectors (N, D) or (D,)."""
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    return mt.cosine_embedding_loss(input1, input2, target, margin, _Reduction.get_enum(reduction))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """A hinge loss between scores and the score of the target class.

    Parameters
    ----------
    input
        Scores, shape (N, C) or (C,).
    target
        Class indices, shape (N,) or ().
    p
        Power to which the hinges are raised, 1 or 2.
    margin
        By how much the target class should lead.
    weight
        A factor for each class, shape (C,).
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return mt.multi_margin_loss(input, target, p, margin, weight, _Reduction.get_enum(reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) (Balntas et al. 2016).

    Parameters
    ----------
    anchor
        Vectors, shape (N, D) or (D,).
    positive
        Vectors that should be near.
    negative
        Vectors that should be far.
    margin
        By how much farther.
    p
        Order of the distance's norm.
    eps
        Added to differences.
    swap
        Whether to use d(positive, negative) in place of d(anchor, negative) where it is smaller.
    size_average
        Former spelling of `reduction`.
    reduce
        Former spelling of `reduction`.
    reduction
        ``"none"``, ``"mean"`` or ``"sum"``.
    """
    reduction = _Reduction.resolve(reduction, size_average, reduce)
    _check_margin(margin)
    return mt.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, _Reduction.get_enum(reduction))


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance, by default `pairwise_distance`."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    _check_margin(margin)
    distance = mt.pairwise_distance if distance_function is None else distance_function
    _check_same_dimensions(anchor, positive, negative)
    positive_distance = distance(anchor, positive)
    negative_distance = distance(anchor, negative)
    if swap:
        negative_distance = mt.minimum(negative_distance, distance(positive, negative))
    loss = mt.clamp_min(margin + positive_distance - negative_distance, 0)
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def _check_same_dimensions(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    dims = anchor.ndim, positive.ndim, negative.ndim
    if len(set(dims)) != 1:
        raise RuntimeError(
            f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
