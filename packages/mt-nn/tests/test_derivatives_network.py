"""Derivatives of convolutions, pooling, normalization, losses and attention against finite differences."""

from __future__ import annotations

import pytest

import mt_core as torch
import mt_nn.functional as F
from mt_autograd.gradcheck import gradcheck, gradgradcheck

LABELS = torch.tensor([0, 2, 1])
SHARES = torch.full((3, 4), 0.3, dtype=torch.float64)
WEIGHTS = torch.tensor([0.5, 2.0, 1.0, 3.0], dtype=torch.float64)

CASES = {
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), [(2, 2, 6), (3, 2, 3), (3,)]),
    "conv2d_groups": (lambda x, w: F.conv2d(x, w, padding="same", groups=2), [(1, 4, 4, 3), (2, 2, 2, 3)]),
    "conv3d": (lambda x, w: F.conv3d(x, w, dilation=2), [(1, 1, 3, 4, 3), (2, 1, 2, 1, 2)]),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, None, 2, 0, 1), [(1, 2, 3, 2), (2, 1, 2, 3)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False), [(1, 2, 5, 6)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1, dilation=2), [(1, 2, 7, 6)]),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2, ceil_mode=True), [(2, 5)]),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), [(1, 2, 5, 7)]),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 3), [(2, 2, 7)]),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"), [(1, 1, 4, 3)]),
    "bicubic": (lambda x: F.interpolate(x, (5, 4), mode="bicubic", align_corners=True), [(1, 1, 3, 3)]),
    "grid_sample": (lambda x, g: F.grid_sample(x, 0.3 * g, align_corners=False), [(1, 2, 4, 4), (1, 3, 2, 2)]),
    "unfold": (lambda x: F.unfold(x, 2, padding=1), [(1, 2, 3, 3)]),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(3, 4), (4,), (4,)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), [(3, 4), (4,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 4, 3), (4,), (4,)]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [(4, 3, 2), (3,), (3,)]),
    "instance_norm": (lambda x: F.instance_norm(x), [(2, 3, 4)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, LABELS, WEIGHTS, ignore_index=1, label_smoothing=0.1), [(3, 4)]),
    "cross_entropy_soft": (lambda x, t: F.cross_entropy(x, t.softmax(1)), [(3, 4), (3, 4)]),
    "nll_loss": (lambda x: F.nll_loss(x.log_softmax(1), LABELS, ignore_index=1, reduction="sum"), [(3, 4)]),
    "binary_cross_entropy": (lambda x: F.binary_cross_entropy(x.sigmoid(), SHARES), [(3, 4)]),
    "with_logits": (lambda x, t: F.binary_cross_entropy_with_logits(x, t.sigmoid()), [(3, 4), (3, 4)]),
    "mse_loss": (F.mse_loss, [(3, 4), (3, 4)]),
    "smooth_l1_loss": (F.smooth_l1_loss, [(3, 4), (3, 4)]),
    "huber_loss": (lambda x, t: F.huber_loss(x, t, delta=0.7), [(3, 4), (3, 4)]),
    "kl_div": (lambda x, t: F.kl_div(x, t, log_target=True, reduction="batchmean"), [(3, 4), (3, 4)]),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, LABELS, p=2), [(3, 4)]),
    "triplet_margin_loss": (lambda a, p, n: F.triplet_margin_loss(a, p, n, swap=True), [(3, 4), (3, 4), (3, 4)]),
    "cosine_embedding_loss": (lambda a, b: F.cosine_embedding_loss(a, b, torch.tensor([1, -1, 1])), [(3, 4), (3, 4)]),
    "poisson_nll_loss": (lambda x, t: F.poisson_nll_loss(x, t), [(3, 4), (3, 4)]),
    "cosine_similarity": (F.cosine_similarity, [(3, 4), (3, 4)]),
    "attention": (F.scaled_dot_product_attention, [(2, 3, 4), (2, 5, 4), (2, 5, 4)]),
    "attention_causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [(2, 3, 4)] * 3),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    function, shapes = CASES[name]
    torch.manual_seed(len(shapes) + sum(map(sum, shapes)))
    inputs = tuple(torch.randn(shape, dtype=torch.float64).requires_grad_() for shape in shapes)
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@pytest.mark.parametrize(
    ("x", "w", "transposed"),
    [((2, 0, 9), (12, 0, 3), False), ((0, 0, 9, 9), (8, 0, 3, 3), False), ((0, 4, 9), (4, 3, 3), True)],
    ids=["no channel", "no sample and no channel", "no sample"],
)
def test_what_convolves_nothing_has_gradients_of_zeros(
    x: tuple[int, ...], w: tuple[int, ...], transposed: bool
) -> None:
    groups = 2 if transposed else 1
    outputs = w[1] * groups if transposed else w[0]
    convolve = getattr(F, f"conv_transpose{len(x) - 2}d" if transposed else f"conv{len(x) - 2}d")
    inputs = [torch.randn(shape).requires_grad_() for shape in (x, w, (outputs,))]
    y = convolve(*inputs, groups=groups)
    y.sum().backward()
    assert [tuple(t.grad.shape) for t in inputs] == [x, w, (outputs,)]
    assert not any(t.grad.any() for t in inputs)
    with pytest.raises(RuntimeError, match=r"zero channel inputs are supported, but got input shape: \[2, 3, 1, 0\]"):
        F.conv1d(torch.ones(2, 3, 0), torch.ones(4, 3, 3), padding=2)
