"""Sample inputs: losses."""

from __future__ import annotations

from collections.abc import Callable

from ... import dtypes
from ..sample import Sample, TensorMaker, call, cases, constants, domain, unary

Tensors = Callable[[TensorMaker], tuple[object, ...]]


def reduced(names: str, make_tensors: Tensors, **kwargs: object) -> None:
    """``f(*tensors, reduction=)`` for no reduction, mean and sum."""

    def builder(reduction: int) -> Callable[[TensorMaker], Sample]:
        return lambda make: call(*make_tensors(make), reduction=reduction, **kwargs)

    cases(names, *map(builder, (0, 1, 2)))


CLASSES = ([1, 0, 3], dtypes.int64)
SIGNS = ([1.0, -1.0, 1.0],)

reduced("mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss", lambda t: (t(2, 3), t(2, 3)))
reduced("kl_div", lambda t: (t(2, 3), t(2, 3, low=0.1, high=1)))
reduced("kl_div", lambda t: (t(2, 3), t(2, 3)), log_target=True)
reduced("nll_loss nll_loss_nd cross_entropy_loss multi_margin_loss", lambda t: (t(3, 4), t.of(*CLASSES)))
reduced("nll_loss nll_loss_nd cross_entropy_loss", lambda t: (t(3, 4), t.of(*CLASSES), t(4, low=0.5)))
reduced("nll_loss2d nll_loss_nd cross_entropy_loss", lambda t: (t(2, 4, 3, 3), t.ints(2, 3, 3, high=4)))
cases(
    "cross_entropy_loss",
    lambda t: call(t(3, 4), t(3, 4, low=0, high=1)),
    lambda t: call(t(3, 4), t.of(*CLASSES), label_smoothing=0.1),
)
cases(
    "nll_loss_forward",
    lambda t: call(t(3, 4), t.of(*CLASSES), None, 1, -100),
    lambda t: call(t(3, 4), t.of(*CLASSES), t(4), 0, 0),
)
cases("nll_loss_backward", lambda t: call(t(), t(3, 4), t.of(*CLASSES), None, 1, -100, t(low=1)))
reduced("binary_cross_entropy", lambda t: (t(2, 3, low=0.1, high=0.9), t(2, 3, low=0, high=1), t(2, 3)))
reduced("binary_cross_entropy_with_logits", lambda t: (t(2, 3), t(2, 3, low=0, high=1), t(2, 3), t(3, low=0.5)))
reduced("multilabel_margin_loss", lambda t: (t(2, 3), t.of([[1, 0, -1], [2, -1, 0]], dtypes.int64)))
reduced("hinge_embedding_loss", lambda t: (t(3), t.of(*SIGNS)))
reduced("margin_ranking_loss", lambda t: (t(3), t(3), t.of(*SIGNS)))
reduced("cosine_embedding_loss", lambda t: (t(3, 4), t(3, 4), t.of(*SIGNS)))
reduced("triplet_margin_loss", lambda t: (t(3, 4), t(3, 4), t(3, 4)))
cases("cosine_similarity", lambda t: call(t(2, 3), t(2, 3)), lambda t: call(t(2, 3), t(1, 3), 0))
cases("pairwise_distance", lambda t: call(t(2, 3), t(2, 3)), lambda t: call(t(2, 3), t(3), 1.0, keepdim=True))
cases(
    "poisson_nll_loss",
    lambda t: call(t(2, 3), t(2, 3, low=0.5), True, True, 1e-8, 1),
    lambda t: call(t(2, 3, low=0.5), t(2, 3), False, False, 1e-8, 0),
)
unary("_bounded_log", low=0.0, high=1.0, dtypes=(dtypes.float32, dtypes.float64, dtypes.bfloat16))
LABELS = ([[1, 2, 1], [3, 1, 2]], dtypes.int64)
cases(
    "ctc_loss.IntList",
    lambda t: call(t(6, 2, 4), t.of(*LABELS), [6, 5], [3, 2]),
    lambda t: call(t(6, 2, 4), t.of(*LABELS), [6, 6], [3, 3], 0, 0),
)
cases(
    "ctc_loss.Tensor", lambda t: call(t(6, 2, 4), t.of(*LABELS), t.of([6, 5], dtypes.int64), t.of([3, 2], dtypes.int64))
)

constants("nll_loss nll_loss_nd nll_loss2d nll_loss_forward cross_entropy_loss multi_margin_loss", "weight")
constants("nll_loss_backward", "weight", "total_weight")
constants("binary_cross_entropy binary_cross_entropy_with_logits", "weight", "pos_weight")
constants("soft_margin_loss", "target")
# The derivative is that along probabilities that sum to 1.
domain("ctc_loss.IntList ctc_loss.Tensor", lambda log_probs, *rest: [log_probs.log_softmax(-1), *rest])

# Arguments away from their defaults.
reduced("smooth_l1_loss", lambda t: (t(2, 3), t(2, 3)), beta=2.5)
reduced("huber_loss", lambda t: (t(2, 3), t(2, 3)), delta=0.4)
reduced("hinge_embedding_loss", lambda t: (t(3), t.of(*SIGNS)), margin=0.4)
reduced("margin_ranking_loss", lambda t: (t(3), t(3), t.of(*SIGNS)), margin=0.7)
reduced("cosine_embedding_loss", lambda t: (t(3, 4), t(3, 4), t.of(*SIGNS)), margin=0.3)
reduced("triplet_margin_loss", lambda t: (t(3, 4), t(3, 4), t(3, 4)), margin=2.0, p=1.0, eps=0.01, swap=True)
cases("cosine_similarity", lambda t: call(t(2, 3, low=-0.1, high=0.1), t(2, 3), eps=1.0))
cases("pairwise_distance", lambda t: call(t(2, 3), t(2, 3), 3.0, 0.1))
cases(
    "poisson_nll_loss",
    lambda t: call(t(2, 3, low=0.5), t(2, 3, low=0, high=4), False, True, 0.1, 2),
    lambda t: call(t(2, 3), t(2, 3, low=0.5), True, False, 1e-8, 0),
)
reduced("multi_margin_loss", lambda t: (t(3, 4), t.of(*CLASSES), 2, 0.5, t(4, low=0.5)))
reduced("nll_loss nll_loss_nd cross_entropy_loss", lambda t: (t(3, 4), t.of(*CLASSES), t(4, low=0.5)), ignore_index=0)
reduced("nll_loss2d nll_loss_nd", lambda t: (t(2, 4, 3, 3), t.ints(2, 3, 3, high=4), t(4, low=0.5)), ignore_index=2)
reduced(
    "cross_entropy_loss",
    lambda t: (t(3, 4), t.of(*CLASSES), t(4, low=0.5)),
    ignore_index=0,
    label_smoothing=0.3,
)
reduced("cross_entropy_loss", lambda t: (t(2, 4, 3), t(2, 4, 3, low=0, high=1), t(4, low=0.5)), label_smoothing=0.2)
cases(
    "nll_loss_backward",
    lambda t: call(t(3), t(3, 4), t.of(*CLASSES), t(4, low=0.5), 0, 3, t(low=1)),
    lambda t: call(t(), t(3, 4), t.of(*CLASSES), t(4, low=0.5), 2, 0, t(low=1)),
)
cases(
    "nll_loss_forward",
    lambda t: call(t(3, 4), t.of(*CLASSES), t(4, low=0.5), 2, 1),
    lambda t: call(t(3, 4), t.of(*CLASSES), t(4, low=0.5), 1, 3),
)
cases(
    "ctc_loss.IntList",
    lambda t: call(t(4, 2, 4), t.of([[1, 2, 1], [3, 3, 3]], dtypes.int64), [4, 4], [2, 3], 0, 0, True),
    lambda t: call(t(6, 2, 4), t.of([[1, 2, 1], [0, 1, 2]], dtypes.int64), [5, 6], [3, 1], 3, 2),
)
cases(
    "ctc_loss.Tensor",
    lambda t: call(
        t(6, 2, 4), t.of([1, 2, 1, 0], dtypes.int64), t.of([6, 5], dtypes.int64), t.of([3, 1], dtypes.int64), 3, 0, True
    ),
)
reduced("binary_cross_entropy", lambda t: (t(2, 3, low=0, high=1), t(2, 3, low=0, high=1)))
reduced("binary_cross_entropy_with_logits", lambda t: (t(2, 3), t(2, 3, low=0, high=1)))
