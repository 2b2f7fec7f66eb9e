"""``vmap`` of what networks are made of: which arguments have lanes, and what is refused."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mt_core.api import _functions as ops
from mt_core.construct import tensor
from mt_core.dispatch.registry import find_overload
from mt_core.tensor import Tensor
from mt_core.transforms.vmapping import vmap

LANES = 3


def made(*shape: int, seed: int = 0) -> Tensor:
    return tensor(np.random.RandomState(seed).uniform(-2, 2, shape))


def one_by_one(function: Callable[..., Tensor], dims: tuple[int | None, ...], args: list[Tensor]) -> Tensor:
    lanes = ([a if d is None else a.select(d, i) for a, d in zip(args, dims, strict=True)] for i in range(LANES))
    return ops.stack([function(*lane) for lane in lanes])


def assert_same_lanes(function: Callable[..., Tensor], *shapes: tuple[int, ...]) -> None:
    """Each choice of arguments that have lanes, first or last, gives what the lanes give one by one."""
    for dims in itertools.product((None, 0, -1), repeat=len(shapes)):
        if all(dim is None for dim in dims):
            continue
        sizes = [s if d is None else (LANES, *s) if d == 0 else (*s, LANES) for s, d in zip(shapes, dims, strict=True)]
        args = [made(*size, seed=i) for i, size in enumerate(sizes)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = vmap(function, in_dims=dims)(*args)
        np.testing.assert_allclose(found.numpy(), one_by_one(function, dims, args).numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_share_any_of_their_arguments(transposed: bool, groups: int) -> None:
    weight = (4, 6 // groups, 3, 2) if transposed else (6, 4 // groups, 3, 2)

    def convolved(x: Tensor, w: Tensor, b: Tensor) -> Any:
        options = [2, 1], [1, 0], [1, 1], transposed, [0, 0], groups
        return find_overload("convolution").call(x, w, b, *options)

    assert_same_lanes(convolved, (2, 4, 7, 5), weight, (6,))


@pytest.mark.parametrize("rows", [(5, 4), (4,), (2, 5, 4), (0, 4)])
def test_linear_layers_share_any_of_their_arguments(rows: tuple[int, ...]) -> None:
    assert_same_lanes(lambda x, w, b: ops.linear(x, w, b), rows, (6, 4), (6,))
    assert_same_lanes(lambda x, w: ops.linear(x, w), rows, (6, 4))


@pytest.mark.parametrize(
    "shapes",
    [((4,), (4,)), ((2, 4), (4,)), ((4,), (4, 3)), ((2, 4), (4, 3)), ((5, 2, 4), (4, 3)), ((2, 4), (5, 4, 3)),
     ((5, 2, 4), (4,)), ((4,), (5, 4, 3)), ((6, 5, 2, 4), (5, 4, 3)), ((5, 2, 4), (6, 1, 4, 3))],
)  # fmt: skip
def test_products_of_all_ranks_share_any_factor(shapes: tuple[tuple[int, ...], ...]) -> None:
    assert_same_lanes(ops.matmul, *shapes)


@pytest.mark.parametrize("beta", [0, 1, 0.5])
@pytest.mark.parametrize("first", [(), (3,), (2, 3), (1, 3)])
def test_a_sum_with_a_product_shares_any_of_its_arguments(beta: float, first: tuple[int, ...]) -> None:
    assert_same_lanes(lambda s, a, b: ops.addmm(s, a, b, beta=beta, alpha=2.0), first, (2, 4), (4, 3))
    assert_same_lanes(lambda s, a, b: ops.baddbmm(s, a, b, beta=beta, alpha=2.0), first, (5, 2, 4), (5, 4, 3))


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_losses_of_classes_are_reduced_in_each_lane(reduction: int) -> None:
    labels = tensor([[0, 3, 1], [2, 2, 2], [3, 0, 3]])
    weight = made(4).abs()

    def loss(x: Tensor, target: Tensor) -> Tensor:
        return ops.cross_entropy_loss(x, target, weight, reduction, 2)

    x = made(LANES, 3, 4)
    for dims in ((0, 0), (0, None), (None, 0)):
        args = [x if dims[0] == 0 else x[0], labels if dims[1] == 0 else labels[0]]
        expected = one_by_one(loss, dims, args)
        np.testing.assert_allclose(vmap(loss, in_dims=dims)(*args).numpy(), expected.numpy(), rtol=1e-9)


def test_labels_out_of_range_are_refused_in_any_lane() -> None:
    def loss(x: Tensor, target: Tensor) -> Tensor:
        return ops.nll_loss(x, target, None, 1, -100)

    with pytest.raises(IndexError, match="Target 4 is out of bounds"):
        vmap(loss)(made(2, 3, 4), tensor([[0, 1, 2], [0, 4, 1]]))


def test_running_statistics_that_lanes_share_are_not_moved() -> None:
    def normalized(x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
        return ops.batch_norm(x, None, None, mean, var, True, 0.1, 1e-5, False)

    mean, var = made(4), made(4).abs()
    with pytest.raises(RuntimeError, match="^Batch norm got a batched tensor as input while the running_mean"):
        vmap(normalized, in_dims=(0, None, None))(made(LANES, 2, 4), mean, var)
    means, variances = made(LANES, 4), made(LANES, 4).abs()
    expected = [t.clone() for t in (means, variances)]
    x = made(LANES, 2, 4)
    result = vmap(normalized)(x, means, variances)
    for i in range(LANES):
        lane = normalized(x[i], expected[0][i], expected[1][i])
        np.testing.assert_allclose(result[i].numpy(), lane.numpy(), rtol=1e-9)
    np.testing.assert_allclose(means.numpy(), expected[0].numpy(), rtol=1e-9)
    np.testing.assert_allclose(variances.numpy(), expected[1].numpy(), rtol=1e-9)


def test_singular_matrices_are_refused_in_any_lane() -> None:
    matrices = ops.stack([ops.eye(3), ops.zeros((3, 3))])
    with pytest.raises(RuntimeError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 1 is zero"):
        vmap(ops.linalg_inv)(matrices)


def test_what_a_lane_has_too_few_dimensions_for_is_refused_as_of_one_lane() -> None:
    with pytest.raises(RuntimeError, match="Got incorrect dims for mm"):
        vmap(ops.mm)(made(LANES, 4), made(LANES, 4, 3))
    with pytest.raises(RuntimeError, match="Got wrong shapes for dot"):
        vmap(ops.dot)(made(LANES, 4, 4), made(LANES, 4, 4))
