"""Functions at the points where they are not smooth: what their first and second derivatives are there is a convention.

Finite differences cannot tell it, so it is recorded (``make_kinks.py``).
"""

from __future__ import annotations

import re
from typing import Any

#: The points where pieces of some function below meet, and what lies next to them.
POINTS = [-6.0, -3.0, -2.0, -1.0, -0.5, -0.25, -0.0, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 6.0, float("inf"), -float("inf")]

#: Functions of `x`, whose elements are the points, and of `y`, which is 0 everywhere but for a 0.5 and a 1.
ELEMENTWISE = """
relu(x)
relu6(x)
hardtanh(x)
hardtanh(x, -0.5, 2.0)
hardswish(x)
hardsigmoid(x)
hardshrink(x, 0.5)
softshrink(x, 0.5)
threshold(x, 0.5, 7.0)
leaky_relu(x, 0.1)
elu(x)
elu(x, 2.0, 1.5, 0.5)
celu(x, 2.0)
selu(x)
softplus(x)
softplus(x, 2.0, 2.0)
softplus(x, 1.0, 0.5)
log_sigmoid(x)
silu(x)
mish(x)
gelu(x)
gelu(x, approximate='tanh')
prelu(x, weight)
prelu(x, x[9:10])
rrelu(x, 0.1, 0.4)
abs(x)
sign(x)
sgn(x)
frac(x)
clamp(x, -1.0, 2.0)
clamp(x, -1.0)
clamp(x, None, 2.0)
clamp(x, x, x)
clamp_min(x, y)
clamp_max(x, y)
maximum(x, x.detach())
minimum(x.detach(), x)
maximum(x, x)
fmax(x, x)
fmin(x, y)
copysign(x, y)
copysign(x, 0.0)
heaviside(x.detach(), x)
fmod(x, 0.5)
fmod(x, 1.0)
remainder(x, 0.5)
remainder(x, 1.0)
floor_divide(x, 0.5)
sqrt(x)
rsqrt(x)
reciprocal(x)
log(x)
log2(x)
log10(x)
log1p(x)
pow(x, 0)
pow(x, 1)
pow(x, 2)
pow(x, 3)
pow(x, 0.5)
pow(x, 1.5)
pow(x, -1)
pow(x, y)
pow(y, x)
pow(2.0, x)
pow(0.0, x)
float_power(x, 2)
atan2(x, y)
atan2(y, x)
hypot(x, y)
hypot(x, x)
xlogy(x, y)
xlogy(y, x)
special_xlog1py(y, x)
special_entr(x)
sinc(x)
logit(x, 0.25)
logit(x)
asin(x)
acos(x)
acosh(x)
atanh(x)
erfinv(x)
lgamma(x)
special_i0(x)
special_i0e(x)
special_ndtri(x)
nan_to_num(x)
nan_to_num(x, 1.0, 2.0, 3.0)
logaddexp(x, x)
logaddexp(x, y)
where(x > 0, x, x * 2)
div(x, y)
div(y, x)
div(x, 0.5, rounding_mode='floor')
smooth_l1_loss(x, y, 0)
smooth_l1_loss(x, y, 0, 0.5)
smooth_l1_loss(y, x, 0, 2.0)
huber_loss(x, y, 0)
huber_loss(x, y, 0, 0.5)
huber_loss(y, x, 0, 2.0)
l1_loss(x, y, 0)
mse_loss(x, y, 0)
soft_margin_loss(x, ones, 0)
hinge_embedding_loss(x, ones, 1.0, 0)
hinge_embedding_loss(x, -ones, 2.0, 0)
margin_ranking_loss(x, y, ones, 0.5, 0)
binary_cross_entropy(x.sigmoid(), y, None, 0)
binary_cross_entropy_with_logits(x, y, None, None, 0)
kl_div(x, y, 0)
poisson_nll_loss(x, y, False, True, 1e-8, 0)
""".strip().splitlines()

#: Functions of rows with ties, zeros and infinities.
ROWS = [
    [1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 2.0, 3.0, 4.0], [0.0, 2.0, 0.0, 4.0], [-1.0, 1.0, -1.0, 1.0],
    [2.0, 2.0, 2.0, 2.0], [float("inf"), 1.0, 2.0, float("inf")], [-float("inf"), -float("inf"), 0.0, 1.0],
    [3.0, 4.0, 0.0, 0.0],
]  # fmt: skip
REDUCTIONS = """
amax(x, -1)
amin(x, -1)
aminmax(x)[0]
max(x)
min(x)
max(x, -1)[0]
min(x, -1)[0]
median(x)
median(x, -1)[0]
nanmedian(x)
kthvalue(x, 2)[0]
mode(x)[0]
prod(x)
prod(x, -1)
cumprod(x, -1)
cummax(x, -1)[0]
cummin(x, -1)[0]
logsumexp(x, -1)
logcumsumexp(x, -1)
softmax(x, -1)
log_softmax(x, -1)
std(x, -1)
var(x, -1)
std(x)
norm(x)
norm(x, 1)
norm(x, 2, -1)
norm(x, 0, -1)
norm(x, 3, -1)
norm(x, 0.5, -1)
linalg_vector_norm(x, 1)
linalg_vector_norm(x, 2)
linalg_vector_norm(x, 3)
linalg_vector_norm(x, 0)
linalg_vector_norm(x, float('inf'), -1)
linalg_vector_norm(x, -float('inf'), -1)
dist(x, 2 * x, 2)
dist(x, x, 2)
dist(x, x, 1)
dist(x, x, 3)
dist(x, x + 1, float('inf'))
renorm(x[None], 2, 0, 1.0)
sort(x, -1, False)[0]
topk(x, 2)[0]
quantile(x, 0.5, -1)
nanmean(x, -1)
nansum(x, -1)
trapezoid(x)
cosine_similarity(x, 2 * x, 0)
pairwise_distance(x, x, 2.0, 0.0)
pairwise_distance(x, x, 1.0, 0.0)
cdist(x[None], x[None])
cdist(x[None], x[None], 1.0)
cdist(x[None], x[None], 3.0)
pdist(torch.stack([x, x, 2 * x]))
pdist(torch.stack([x, x, 2 * x]), 1.0)
max_pool1d(x[None], 2, 1)
adaptive_max_pool1d(x[None], 2)[0]
multi_margin_loss(x[None], one, 1, 1.0)
multi_margin_loss(x[None], one, 2, 1.0)
triplet_margin_loss(x[None], x[None], 2 * x[None])
cosine_embedding_loss(x[None], 2 * x[None], ones[:1])
cosine_embedding_loss(x[None], 2 * x[None], -ones[:1], 0.5)
multilabel_margin_loss(x, torch.tensor([1, 0, -1, 2]))
""".strip().splitlines()


def _slopes(torch: Any, f: Any, x: Any) -> list[Any]:
    """The derivative of the sum of what `f` returns, and of the sum of that; or the class of an error."""
    found = []
    value = None
    for _ in range(2):
        try:
            value = f(x) if value is None else value
            (value,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        except (RuntimeError, NotImplementedError) as error:
            return [*found, type(error).__name__]
        found.append(
            [_number(v) for v in (value.detach() + 0).reshape(-1).tolist()]
        )  # PyTorch's zeros may have no memory
    return found


def _number(value: float) -> Any:
    """As JSON can hold it."""
    return value if abs(value) < float("inf") else str(value)


def outcomes(torch: Any) -> dict[str, list[Any]]:
    """Expression -> derivatives, of all points at once, or of each row."""
    called = {name for words in ELEMENTWISE + REDUCTIONS for name in re.findall(r"(?<![.\w])(\w+)\(", words)}
    names = {name: _function(torch, name) for name in called - {"float"}}
    names.update(torch=torch)
    f64 = torch.float64
    points = torch.tensor(POINTS, dtype=f64)
    names["y"] = torch.tensor([0.0] * (len(POINTS) - 2) + [0.5, 1.0], dtype=f64)
    names["ones"], names["weight"] = torch.ones(len(POINTS), dtype=f64), torch.tensor([0.3], dtype=f64)
    names["one"] = torch.tensor([1])
    found = {}
    for words in ELEMENTWISE:
        found[words] = _slopes(torch, eval(f"lambda x: {words}", names), points.clone().requires_grad_())  # noqa: S307
    for words in REDUCTIONS:
        for row in ROWS:
            x = torch.tensor(row, dtype=f64, requires_grad=True)
            found[f"{words} of {row}"] = _slopes(torch, eval(f"lambda x: {words}", names), x)  # noqa: S307
    return found


def _function(torch: Any, name: str) -> Any:
    """A function by its name; PyTorch shows some as operators alone."""
    return getattr(torch, name, None) or getattr(torch.ops.aten, name)
