"""Loss functions written in other operators.

Those with a derivative of their own stand in for kernels, below autograd; others have the derivatives of their parts.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..api import _functions as ops
from ..autograd_state import no_grad
from ..block import placed_on
from ..checks.dtypes import require_number, require_same_dtype
from ..dispatch.registry import overload
from ..dispatch.registry import register_composite as composite
from ..dtypes import scalar_type_name
from ..hollow import has_elements, is_hollow, seen_through
from ..layout import broadcast_shapes
from ..promotion import result_type_of
from ..state import tls
from ..tensor import new_tensor
from ._numbers import divided, times

_NONE, _MEAN, _SUM = range(3)

_log_softmax = overload("log_softmax.int", "activation").cache
_nll_forward = overload("nll_loss_forward", "loss").cache


def reduced(loss: Any, reduction: int) -> Any:
    """The loss per element, its mean or its sum."""
    if reduction == _MEAN:
        return loss.mean()
    return loss.sum() if reduction == _SUM else loss


def _reduced_in_place(loss: Any, reduction: int) -> Any:
    """`reduced`, as PyTorch stores it where it computes into one tensor: what is left lies in the elements' storage."""
    result = reduced(loss, reduction)
    if reduction not in (_MEAN, _SUM) or not loss.numel() or loss.is_meta or is_hollow(loss) or loss.requires_grad:
        return result
    backend = loss._backend
    memory = backend.owner(loss._array)
    array = backend.as_strided(memory, (), (), 0, loss._dtype)
    backend.copy(array, result._array)
    return placed_on(memory, backend, new_tensor(array, loss._dtype, result._keys))


def _of_one_dtype(self: Any, target: Any) -> tuple[Any, Any]:
    """Both in the dtype that they promote to."""
    if self._dtype is not target._dtype:
        common = result_type_of((self, target))
        self, target = self.to(common), target.to(common)
    return self, target


@composite("mse_loss", explicit=True)
def mse_loss(self: Any, target: Any, reduction: int) -> Any:
    """self (*), target (*), broadcast -> (), or the common shape unreduced."""
    self, target = _of_one_dtype(self, target)
    difference = self - target
    return _reduced_in_place(difference * difference, reduction)


@composite("l1_loss")
def l1_loss(self: Any, target: Any, reduction: int) -> Any:
    """self (*), target (*), broadcast -> (), or the common shape unreduced."""
    return reduced((self - target).abs(), reduction)


@composite("smooth_l1_loss", explicit=True)
def smooth_l1_loss(self: Any, target: Any, reduction: int, beta: float) -> Any:
    """self (*), target (*), broadcast -> (), or the common shape unreduced."""
    self, target = _of_one_dtype(self, target)
    difference = self - target
    distance = difference.abs()
    if beta == 0:
        return _reduced_in_place(distance, reduction)
    loss = ops.where(distance < beta, 0.5 * difference * difference / beta, distance - 0.5 * beta)
    return _reduced_in_place(loss, reduction)


@composite("huber_loss", explicit=True)
def huber_loss(self: Any, target: Any, reduction: int, delta: float) -> Any:
    """self (*), target (*), broadcast -> (), or the common shape unreduced."""
    d = self._dtype
    self, target = _of_one_dtype(self, target)
    difference = self - target
    distance = difference.abs()
    loss = ops.where(distance < delta, 0.5 * difference * difference, delta * (distance - 0.5 * delta))
    return reduced(loss, reduction).to(d)


def _require_cast(found: dtypes.dtype, result: dtypes.dtype) -> None:
    """Losses that PyTorch writes into a tensor like one argument refuse what that does not hold."""
    if not dtypes.can_cast(found, result):
        names = dtypes.scalar_type_name(found), dtypes.scalar_type_name(result)
        raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")


def _require_shape_of_result(self: Any, *others: Any) -> None:
    """Losses that PyTorch writes into a tensor like the first argument refuse others that are larger."""
    shape = broadcast_shapes([tuple(self.shape), *(tuple(other.shape) for other in others if other is not None)])
    if tuple(shape) != tuple(self.shape):
        raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}")


def _times(factor: Any, other: Any) -> Any:
    """The product, where PyTorch multiplies in place."""
    product = factor * other
    _require_shape_of_result(factor, other)
    _require_cast(product._dtype, factor._dtype)
    return product.to(factor._dtype)


def _number_less(number: float, tensor: Any) -> Any:
    """number - tensor in the tensor's dtype, which the number takes first, as in PyTorch's own C++ programs."""
    if tensor.dtype.is_floating_point:
        return -tensor + number  # rounded as number - tensor is, and each of the two has a short path
    return ops.full((), number, dtype=tensor.dtype, device=tensor.device) - tensor


@composite("nll_loss")
def nll_loss(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """self (N, C) or (C,), target (N,) or (), weight (C,) -> (), or the target's shape unreduced."""
    return ops.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]


def _class_last(self: Any) -> Any:
    """(n, c, d1, d2 ...) as (n, d1, d2 ..., c)."""
    return self.movedim(1, -1)


@composite("nll_loss2d")
def nll_loss2d(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """self (N, C, H, W), target (N, H, W), weight (C,) -> (), or the target's shape unreduced."""
    if target.dim() != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.dim()}"
        )
    if self.dim() != 4:
        raise RuntimeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.dim()}"
        )
    if tuple(target.shape) != (self.shape[0], *self.shape[2:]):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")
    if weight is not None and tuple(weight.shape) != (self.shape[1],):
        raise RuntimeError("weight tensor should be defined either for all or no classes")
    rows = _class_last(self).reshape(target.numel(), self.shape[1])
    loss = nll_loss(rows, target.reshape(-1), weight, reduction, ignore_index)
    return ops._unsafe_view(loss, tuple(target.shape)) if reduction == _NONE else loss


def _spatial(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """`nll_loss2d` of points that lie in any number of dimensions, made one of two."""
    if self.dim() == 4:
        return ops.nll_loss2d(self, target, weight, reduction, ignore_index)
    _check_spatial(self, target)
    count = target.numel() // target.shape[0] if target.shape[0] else 0
    image, labels = self.reshape((*self.shape[:2], 1, count)), target.reshape((target.shape[0], 1, count))
    loss = ops.nll_loss2d(image, labels, weight, reduction, ignore_index)
    return loss.view(tuple(target.shape)) if reduction == _NONE else loss


def _check_spatial(self: Any, target: Any) -> None:
    shape = (self.shape[0], *self.shape[2:])
    if tuple(target.shape) != shape:
        if self.shape[0] != target.shape[0]:
            raise ValueError(
                f"Expected input batch_size ({self.shape[0]}) to match target batch_size ({target.shape[0]})."
            )
        raise RuntimeError(f"Expected target size {list(shape)}, got {list(target.shape)}")


@composite("nll_loss_nd")
def nll_loss_nd(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    """self (N, C, *) or (C,), target (N, *) or (), weight (C,) -> (), or the target's shape unreduced."""
    if self.dim() < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {self.dim()})")
    if self.dim() != 1 and (target.dim() < 1 or self.shape[0] != target.shape[0]):
        got = target.shape[0] if target.dim() else 0
        raise ValueError(f"Expected input batch_size ({self.shape[0]}) to match target batch_size ({got}).")
    if self.dim() <= 2:
        return nll_loss(self, target, weight, reduction, ignore_index)
    return _spatial(self, target, weight, reduction, ignore_index)


@composite("cross_entropy_loss")
def cross_entropy_loss(
    self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, label_smoothing: float
) -> Any:
    """self (N, C, *) or (C,), target (N, *) of classes or like self of shares, weight (C,) -> (), or (N, *)."""
    if label_smoothing < 0 or label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    shape, places = self._array.shape, target._array.shape
    if not label_smoothing and len(shape) == 2 and len(places) == 1 and shape[0] == places[0]:
        # The most frequent call, without what the others are told apart by.
        logs = _log_softmax[self._keys | tls.mode](self, 1, None)
        keys = logs._keys | target._keys | tls.mode
        return _nll_forward[keys if weight is None else keys | weight._keys](
            logs, target, weight, reduction, ignore_index
        )[0]
    class_dim = 0 if self.dim() == 1 else 1
    if tuple(self.shape) == tuple(target.shape):
        if not target.dtype.is_floating_point:
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got "
                f"{dtypes.scalar_type_name(target.dtype)}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _probability_loss(self, target, weight, reduction, label_smoothing, class_dim)
    logs = ops.log_softmax(self, class_dim, dtype=None)
    if label_smoothing == 0:
        return nll_loss_nd(logs, target, weight, reduction, ignore_index)
    return _smoothed_loss(logs, target, weight, reduction, ignore_index, label_smoothing, class_dim)


def _along_classes(weight: Any, logs: Any, class_dim: int) -> Any:
    return weight.view([-1 if i == class_dim else 1 for i in range(logs.dim())])


def _probability_loss(
    self: Any, target: Any, weight: Any, reduction: int, label_smoothing: float, class_dim: int
) -> Any:
    classes = self.size(class_dim)
    logs = ops.log_softmax(self, class_dim, dtype=None)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        logs = logs * _along_classes(weight, logs, class_dim)
    loss = logs * target
    if reduction == _NONE:
        return -loss.sum(class_dim)
    total = -loss.sum()
    if reduction == _SUM:
        return total
    return divided(total, self.numel() // max(classes, 1)) if self.numel() else times(total, math.nan)


def _smoothed_loss(
    logs: Any, target: Any, weight: Any, reduction: int, ignore_index: int, label_smoothing: float, class_dim: int
) -> Any:
    plain = nll_loss_nd(logs, target, weight, reduction, ignore_index)
    classes = logs.shape[class_dim]
    weighted = logs if weight is None else logs * _along_classes(weight, logs, class_dim)
    ignored = target == ignore_index
    smooth = (-weighted.sum(class_dim)).masked_fill(ignored, 0)
    if reduction == _MEAN:
        if weight is None:
            total = (~ignored).sum()
        else:
            total = (
                weight.gather(0, target.masked_fill(ignored, 0).reshape(-1)).masked_fill(ignored.reshape(-1), 0).sum()
            )
        smooth = smooth.sum() / total
    elif reduction == _SUM:
        smooth = smooth.sum()
    return (1 - label_smoothing) * plain + (label_smoothing / classes) * smooth


@composite("binary_cross_entropy", explicit=True)
def binary_cross_entropy(self: Any, target: Any, weight: Any, reduction: int) -> Any:
    """self (*), target (*), weight broadcast to it -> (), or (*) unreduced."""
    if self._dtype is not target._dtype:
        raise RuntimeError(
            f"Found dtype {dtypes.scalar_type_name(target._dtype)} but expected {dtypes.scalar_type_name(self._dtype)}"
        )
    _require_shape_of_result(self, target, weight)
    if weight is not None:
        _require_cast(result_type_of((self, weight)), self._dtype)
    if self.numel() and has_elements(self) and has_elements(target):
        _require_probabilities(self, target)
    loss = (target - 1) * ops._bounded_log(_number_less(1, self)) - target * ops._bounded_log(self)
    return _reduced_in_place(loss if weight is None else (loss * weight).to(self._dtype), reduction)


def _require_probabilities(self: Any, target: Any) -> None:
    """Refuse what is not between 0 and 1, NaN too: the first place, and there the input before the target."""
    wrong = [~((t >= 0) & (t <= 1)) for t in (self.detach(), target.detach())]
    either = wrong[0] | wrong[1]
    if not bool(seen_through(either).any()):
        return
    wrong = [seen_through(places & either).reshape(-1) for places in wrong]
    first = [int(places.to(dtypes.uint8).argmax()) if bool(places.any()) else places.numel() for places in wrong]
    name = "input" if first[0] <= first[1] else "target"
    raise RuntimeError(f"all elements of {name} should be between 0 and 1")


@composite("binary_cross_entropy_with_logits", explicit=True)
def binary_cross_entropy_with_logits(self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    """self broadcast to target (*), weight and pos_weight too -> (), or (*) unreduced."""
    logs = ops.log_sigmoid(self)
    rest = _number_less(1, target)
    if pos_weight is not None:
        logs = _times(logs, (pos_weight - 1) * target + 1)
    rest = _times(rest, self)
    _require_shape_of_result(rest, logs)
    _require_cast(result_type_of((rest, logs)), rest._dtype)
    loss = (rest - logs).to(rest._dtype)
    return reduced(loss if weight is None else _times(loss, weight), reduction)


@composite("kl_div")
def kl_div(self: Any, target: Any, reduction: int, log_target: bool) -> Any:
    """self (*) of logarithms, target (*), broadcast -> (), or the common shape unreduced."""
    if self.is_complex() or target.is_complex():
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if any(t.dtype.is_integral or t.dtype is dtypes.bool for t in (self, target)):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    loss = target.exp() * (target - self) if log_target else ops.xlogy(target, target) - target * self
    return reduced(loss, reduction)


@composite("soft_margin_loss", explicit=True)
def soft_margin_loss(self: Any, target: Any, reduction: int) -> Any:
    """self (*), target (*) of no more elements -> (), or (*) unreduced."""
    _require_shape_of_result(self, target)
    product = -self * target
    _require_cast(product._dtype if product._dtype.category > 1 else dtypes.get_default_dtype(), self._dtype)
    return _reduced_in_place(product.to(self._dtype).exp().log1p(), reduction)


@composite("hinge_embedding_loss")
def hinge_embedding_loss(self: Any, target: Any, margin: float, reduction: int) -> Any:
    """self (*), target (*), broadcast -> (), or the common shape unreduced."""
    if reduction == 1 and not self.dtype.is_floating_point and not self.dtype.is_complex:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{scalar_type_name(self.dtype)}"
        )
    zeros = ops.zeros_like(self)
    taken = int(margin) if self.dtype.is_integral else margin
    far = ops.where(target != 1, _number_less(taken, self).clamp_min(0), zeros)
    near = ops.where(target != -1, self, zeros)
    return reduced(far + near, reduction)


@composite("margin_ranking_loss")
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float, reduction: int) -> Any:
    """input1 (*), input2 (*), target (*), broadcast -> (), or the common shape unreduced."""
    return reduced((-target * (input1 - input2) + margin).clamp_min_(0), reduction)


@composite("multi_margin_loss")
def multi_margin_loss(self: Any, target: Any, p: Any, margin: Any, weight: Any, reduction: int) -> Any:
    """self (N, C) or (C,), target (N,) or (), weight (C,) -> (), or (N,) unreduced."""
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    rows = self if self.dim() == 2 else self.reshape(1, -1)
    labels = target.reshape(-1)
    if self.dim() > 2 or not rows.shape[1]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    if target.dim() > 1 or labels.shape[0] != rows.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples "
            "(batch size). "
            f"Expected target size [{rows.shape[0]}], but got {list(target.shape)}. Input has shape {list(self.shape)}."
        )
    if weight is not None and tuple(weight.shape) != (rows.shape[1],):
        raise RuntimeError(f"inconsistent weight size, expected {rows.shape[1]} but got {list(weight.shape)}")
    _require_native(self, "multi_margin_loss_cpu_kernel")
    _require_labels(target)
    if has_elements(target) and bool(seen_through((labels < 0) | (labels >= rows.shape[1])).any()):
        raise RuntimeError("target out of range")
    require_same_dtype(self, weight)
    require_number(self.dtype, margin)
    own = rows.gather(1, labels.unsqueeze(1))
    terms = _above_zero(margin - own + rows)
    if p == 2:
        terms = terms * terms
    if weight is not None:
        terms = terms * weight.gather(0, labels).unsqueeze(1)
    others = terms.scatter(1, labels.unsqueeze(1), 0).sum(1) / rows.shape[1]
    return reduced(others if self.dim() == 2 or target.dim() else ops._unsafe_view(others, ()), reduction)


def _above_zero(excess: Any) -> Any:
    """0 in place of what is not above it, NaN among it; at 0 there is no slope."""
    return ops.where(excess > 0, excess, 0)


def _require_native(self: Any, kernel: str) -> None:
    if self.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(self.dtype)}'")


def _require_labels(target: Any) -> None:
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtypes.scalar_type_name(target.dtype)}")


def _require_places(target: Any, classes: int) -> None:
    """Refuse what names no class and does not end a list, -1; numbers of other dtypes are cut off before."""
    target = seen_through(target)
    limits = target.min().item(), target.max().item()
    if not all(map(math.isfinite, limits)):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    if int(limits[0]) < -1 or int(limits[1]) >= classes:
        raise RuntimeError("argument #2 'target' is out of range")


@composite("multilabel_margin_loss")
def multilabel_margin_loss(self: Any, target: Any, reduction: int) -> Any:
    """self (N, C) or (C,), target like it, ended by -1 -> (), or (N,) unreduced."""
    if self.dim() > 2 or self.dim() and not self.shape[-1]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    if tuple(self.shape) != tuple(target.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    if target.numel():
        if has_elements(target):
            _require_places(target, self.shape[-1] if self.dim() else 1)
        _require_native(self, "multilabel_margin_loss_forward_out_frame")
        _require_labels(target)
    else:  # no label is looked at
        target = target.to(dtypes.int64)
    if not self.dim():
        self, target, scalar = self.reshape(1, 1), target.reshape(1, 1), True
    else:
        scalar = self.dim() == 1
        self, target = (self.unsqueeze(0), target.unsqueeze(0)) if scalar else (self, target)
    # Labels count up to the first negative one.
    listed = (target < 0).to(dtypes.int64).cumsum(1) == 0
    labels = target.masked_fill(~listed, 0)
    is_label = ops.zeros_like(self, dtype=dtypes.int64).scatter_add(1, labels, listed.to(dtypes.int64)) > 0
    chosen = self.gather(1, labels)
    terms = _above_zero(1 - (chosen.unsqueeze(2) - self.unsqueeze(1)))
    counted = listed.unsqueeze(2) & ~is_label.unsqueeze(1)
    loss = ops.where(counted, terms, ops.zeros_like(terms)).sum((1, 2)) / self.shape[1]
    # PyTorch takes any number that means neither none nor the mean for the sum.
    reduction = reduction if reduction in (_NONE, _MEAN) else _SUM
    return reduced(ops._unsafe_view(loss, ()) if scalar else loss, reduction)


@composite("cosine_similarity")
def cosine_similarity(x1: Any, x2: Any, dim: int, eps: float) -> Any:
    """x1 (*, D, *), x2 (*, D, *), broadcast -> without `dim`."""
    common = result_type_of((x1, x2))
    if not common.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {dtypes.scalar_type_name(common)}"
        )
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    # Each is divided by its norm in its own dtype; integers have no norm.
    x1, x2 = (x if x._dtype.is_floating_point else x.to(common) for x in (x1, x2))
    shape = broadcast_shapes([tuple(x1.shape), tuple(x2.shape)])
    x1, x2 = (x if tuple(x.shape) == shape else x.expand(shape) for x in (x1, x2))
    return ((x1 / _norm_at_least(x1, dim, eps)) * (x2 / _norm_at_least(x2, dim, eps))).sum(dim)


def _norm_at_least(x: Any, dim: int, eps: float) -> Any:
    """The norm along a dimension, raised to `eps`; its gradient is that of the norm, also where it was raised."""
    norm = ops.linalg_vector_norm(x, 2, (dim,), True).clone()
    with no_grad():
        norm.clamp_min_(eps)
    return norm


@composite("cosine_embedding_loss")
def cosine_embedding_loss(input1: Any, input2: Any, target: Any, margin: float, reduction: int) -> Any:
    """input1 (N, D), input2 (N, D), target (N,), or without N -> (), or (N,) unreduced."""
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and (input1.dim() != 2 or input2.dim() != 2):
        raise RuntimeError(
            f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    if target.dim() == 0 and (input1.dim() != 1 or input2.dim() != 1):
        raise RuntimeError(
            f"0D target tensor expects 1D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    dim = target.dim()
    tiny = 1e-12
    product = (input1 * input2).sum(dim)
    squares = ((input1 * input1).sum(dim) + tiny) * ((input2 * input2).sum(dim) + tiny)
    cosine = product / squares.sqrt()
    zeros = ops.zeros_like(cosine)
    same = ops.where(target == 1, 1 - cosine, zeros)
    other = ops.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return reduced(same + other, reduction)


@composite("pairwise_distance")
def pairwise_distance(x1: Any, x2: Any, p: float, eps: float, keepdim: bool) -> Any:
    """x1 (*, D), x2 (*, D), broadcast -> (*), or (*, 1) with `keepdim`."""
    return ops._norm_over(x1 - x2 + eps, p, (max(x1.dim(), x2.dim()) - 1,), keepdim)


@composite("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float, p: float, eps: float, swap: bool, reduction: int
) -> Any:
    """anchor (*, D), positive (*, D), negative (*, D), broadcast -> (), or (*) unreduced."""
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    to_positive = pairwise_distance(anchor, positive, p, eps, False)
    to_negative = pairwise_distance(anchor, negative, p, eps, False)
    if swap:
        to_negative = ops.minimum(to_negative, pairwise_distance(positive, negative, p, eps, False))
    return reduced((margin + to_positive - to_negative).clamp_min(0), reduction)


@composite("poisson_nll_loss")
def poisson_nll_loss(input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    """input (*), target (*), broadcast -> (), or the common shape unreduced."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss.add_(stirling.masked_fill(target <= 1, 0))
    return reduced(loss, reduction)
