"""Loss functions: declarations. `reduction` is 0 for none, 1 for mean, 2 for sum."""

from __future__ import annotations

from typing import Any

from ..dtypes import can_cast, scalar_type_name
from ..promotion import ARITHMETIC
from ._checks import BOOL, COMPLEX, FLOATS, INTEGERS, Refusal, Supported
from ._declare import Family

family = Family("loss")

_NN: dict[str, Any] = {"variants": "function", "namespace": "torch._C._nn"}
_TOP: dict[str, Any] = {"variants": "function"}


def _check_beta(args: tuple[Any, ...], common: Any) -> None:
    if not args[3] >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")


def _check_delta(args: tuple[Any, ...], common: Any) -> None:
    if not args[3] > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if not can_cast(common, args[0].dtype):  # PyTorch writes into a tensor like the first argument
        names = scalar_type_name(common), scalar_type_name(args[0].dtype)
        raise RuntimeError(f"result type {names[0]} can't be cast to the desired output type {names[1]}")


family.composite(
    "mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    dtypes=Supported("mse_cpu", FLOATS),
    promotion=ARITHMETIC,
    **_NN,
    doc="(self - target)^2, reduced.",
)
family.composite(
    "l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", **_NN, doc="|self - target|, reduced."
)
family.composite(
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.) -> Tensor",
    dtypes=Supported("smooth_l1_cpu", FLOATS, also=_check_beta),
    promotion=ARITHMETIC,
    **_NN,
    doc="Quadratic below a distance of beta, linear above (Girshick 2015).",
)
family.composite(
    "huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.) -> Tensor",
    dtypes=Supported("huber_cpu", FLOATS, also=_check_delta),
    promotion=ARITHMETIC,
    **_NN,
    doc="Quadratic below a distance of delta, linear above (Huber 1964).",
)
family.plain(
    "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor "
    "output, Tensor total_weight)",
    dtypes=Supported("nll_loss_out_frame", FLOATS),
    variants="function",
    namespace="internal",
    doc="Negative log likelihood of class indices: log probabilities (n, c) or (c), targets (n) or ().",
)
family.plain(
    "nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int "
    "ignore_index, Tensor total_weight) -> Tensor",
    variants="",
    dtypes=Supported("nll_loss_backward_out_frame", FLOATS),
)
for _name, _dtypes in (
    ("nll_loss", None),
    ("nll_loss2d", Supported("nll_loss2d_forward_out_frame", FLOATS)),
    ("nll_loss_nd", None),
):
    family.composite(
        f"{_name}(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, int ignore_index=-100) -> Tensor",
        doc="Negative log likelihood of target classes, from log-probabilities (N, C, *).",
        dtypes=_dtypes,
        **_NN,
    )
family.composite(
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, int ignore_index=-100, "
    "float label_smoothing=0.0) -> Tensor",
    **_NN,
    doc="Negative log of the softmax along the class dimension, of class indices or class probabilities.",
)
family.composite(
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor",
    dtypes=Supported("binary_cross_entropy", FLOATS),
    **_NN,
    doc="-(t log x + (1 - t) log(1 - x)), logarithms not below -100.",
)
family.composite(
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
    "reduction=Mean) -> Tensor",
    **_TOP,
    doc="Binary cross entropy of sigmoid(self), computed without overflow.",
)
family.composite(
    "kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor",
    dtypes=Supported(
        "kl_div",
        FLOATS,
        Refusal(BOOL | INTEGERS, "kl_div: Integral inputs not supported."),
        Refusal(COMPLEX, "kl_div: Complex inputs not supported."),
    ),
    **_TOP,
    doc="target * (log target - self), reduced; self holds log probabilities.",
)
family.composite(
    "soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    dtypes=Supported(
        "soft_margin_loss",
        FLOATS | COMPLEX | BOOL,
        Refusal(INTEGERS, "result type Float can't be cast to the desired output type {}"),
    ),
    **_NN,
    doc="log(1 + exp(-target * self)), reduced.",
)
family.composite(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
    "reduction=Mean) -> Tensor",
    **_NN,
    doc="Hinge loss over classes: max(0, margin - self[target] + self[i]) ** p.",
)
family.composite(
    "multilabel_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor",
    **_NN,
    doc="Hinge loss of every target class against every other; targets end at -1.",
)
family.composite(
    "hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=Mean) -> Tensor",
    **_TOP,
    doc="self for target 1, max(0, margin - self) for target -1.",
)
family.composite(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
    **_TOP,
    doc="max(0, -target * (input1 - input2) + margin).",
)
family.composite(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    **_TOP,
    doc="Inner product along a dimension over the product of norms, each at least eps.",
)
family.composite(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=Mean) -> Tensor",
    **_TOP,
    doc="1 - cosine for pairs with target 1, max(0, cosine - margin) for target -1.",
)
family.composite(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor",
    **_TOP,
    doc="p-norm of x1 - x2 + eps along the last dimension.",
)
family.composite(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float "
    "eps=1e-06, bool swap=False, int reduction=Mean) -> Tensor",
    **_TOP,
    doc="max(0, d(anchor, positive) - d(anchor, negative) + margin), d being `pairwise_distance`.",
)
family.composite(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
    **_TOP,
    doc="Negative log likelihood of Poisson counts; `full` adds Stirling's term.",
)
family.unary(
    "_bounded_log",
    variants="",
    inplace=False,
    out=False,
    doc="log(x), not below -100; its slope is 1 / x, x not below 1e-12.",
)
