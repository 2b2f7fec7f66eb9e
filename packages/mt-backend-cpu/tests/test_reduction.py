"""Reductions, scans and histograms: accuracy, and what they have in common with simpler operators."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mt_core.testing.namespace import namespace

torch = namespace()


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("layout", ["rows", "columns", "steps"])
def test_long_sums_are_accurate_along_every_axis(dim: int, layout: str) -> None:
    values = np.random.default_rng(0).random((1_000_000, 2), np.float32)
    tensor = torch.from_numpy(values)
    if layout == "columns":
        tensor = tensor.t().contiguous().t()
    elif layout == "steps":
        tensor = torch.stack([tensor, tensor], -1)[..., 0]
    exact = values.astype(np.float64)
    for name in ("mean", "sum"):
        got = getattr(tensor, name)(dim).numpy()
        want = getattr(exact, name)(dim)
        np.testing.assert_allclose(got, want, rtol=1e-6)
    np.testing.assert_allclose(tensor.mean().item(), exact.mean(), rtol=1e-6)
    np.testing.assert_allclose(tensor.norm().item(), np.sqrt((exact**2).sum()), rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_add_up_in_single_precision(dtype: torch.dtype) -> None:
    assert torch.ones(4096, dtype=dtype).sum().item() == 4096
    assert torch.ones(3000, 2, dtype=dtype).mean(0).tolist() == [1, 1]


def test_running_sums_do_not_drift() -> None:
    values = torch.full((1_000_000,), 0.1)
    assert values.cumsum(0)[-1].item() == pytest.approx(float(np.float32(0.1)) * 1e6, rel=1e-6)


def test_complex_log_sums_are_logs_of_sums() -> None:
    z = torch.tensor([1 + 2j, -3 + 0.5j, 2 - 1j])
    assert torch.allclose(z.logcumsumexp(0).exp(), z.exp().cumsum(0), rtol=1e-5)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (3, 0)])
def test_tensors_without_elements_have_row_major_strides(shape: tuple[int, ...]) -> None:
    row_major = torch.empty(shape, device="meta").stride()
    empty = torch.empty(shape)
    for tensor in (empty, empty + 1, empty.clone(), empty.exp(), torch.cat([empty, empty[:, :0]], 1)):
        assert tensor.stride() == row_major or tensor.shape != shape


def test_histograms_count_every_element_once() -> None:
    values = torch.randn(1000, dtype=torch.float64)
    counts, edges = torch.histogram(values, 13)
    assert counts.sum() == 1000 and edges[0] == values.min() and edges[-1] == values.max()
    again, _ = torch.histogram(values, edges)
    assert torch.equal(counts, again)
    density, _ = torch.histogram(values, 13, density=True)
    assert (density * edges.diff()).sum().item() == pytest.approx(1)


def test_histograms_of_points_add_up_to_those_of_coordinates() -> None:
    points = torch.rand(500, 2)
    counts, edges = torch.histogramdd(points, [4, 6])
    for d in range(2):
        assert torch.equal(counts.sum(1 - d), torch.histogram(points[:, d].contiguous(), edges[d])[0])


def test_differences_are_exact_for_parabolas() -> None:
    x = torch.tensor([0.0, 0.5, 2, 3, 7], dtype=torch.float64)
    (slope,) = torch.gradient(x * x, spacing=[x], edge_order=2)
    assert torch.allclose(slope, 2 * x)
    even = torch.arange(5.0)
    assert torch.allclose(torch.gradient(even * even, spacing=1.0, edge_order=2)[0], 2 * even)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 2.5, math.inf])
def test_distances_are_norms_of_differences(p: float) -> None:
    a, b = torch.randn(2, 30, 4, dtype=torch.float64), torch.randn(5, 4, dtype=torch.float64)
    want = torch.linalg.vector_norm(a.unsqueeze(-2) - b, p, -1)
    assert torch.allclose(torch.cdist(a, b, p), want)
    assert torch.allclose(torch.cdist(a, b, p, "donot_use_mm_for_euclid_dist"), want)


@pytest.mark.parametrize("correction", [2, 3, 7])
def test_a_variance_without_freedom_is_not_a_number(correction: int) -> None:
    x = torch.tensor([[1.0, 2.0], [1.0, 2.0]])  # 0 / 0; farther from their mean they would be infinite
    assert torch.var(x, 0, correction=correction).isnan().all()
    assert torch.std(x[:, :1], 0, correction=correction).isnan().all()
    assert torch.var(torch.tensor([1.0]), 0, correction=1).isnan()
