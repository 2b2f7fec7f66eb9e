"""`Tensor.grad_dtype`: what gradients are converted to when they arrive at a leaf."""

from __future__ import annotations

import pytest

import mt_autograd
import mt_core as mt

DTYPES = [mt.float64, mt.float16, mt.bfloat16, mt.float32]


def _leaf(dtype: object) -> mt.Tensor:
    leaf = mt.ones(2, requires_grad=True)
    leaf.grad_dtype = dtype
    return leaf


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_are_accumulated_in_it(dtype: mt.dtype) -> None:
    leaf = _leaf(dtype)
    (leaf * 2).sum().backward()
    (leaf * 3).sum().backward()
    assert leaf.grad_dtype is dtype
    assert leaf.grad.dtype is dtype and leaf.grad.tolist() == [5, 5]


@pytest.mark.parametrize("dtype", DTYPES)
def test_grad_gives_it_too(dtype: mt.dtype) -> None:
    leaf = _leaf(dtype)
    (gradient,) = mt_autograd.grad((leaf * 2).sum(), leaf)
    assert gradient.dtype is dtype


def test_none_takes_gradients_as_they_are() -> None:
    leaf = _leaf(None)
    assert leaf.grad_dtype is None
    leaf.grad = mt.ones(2, dtype=mt.float64)
    assert leaf.grad.dtype is mt.float64


def test_it_is_the_dtype_of_the_leaf_unless_set() -> None:
    leaf = mt.ones(2, requires_grad=True)
    assert leaf.grad_dtype is mt.float32
    leaf.data = mt.ones(2, dtype=mt.float64)
    assert leaf.grad_dtype is mt.float64
    assert mt.ones(2, dtype=mt.int64).grad_dtype is mt.int64


def test_assigned_gradients_must_have_it() -> None:
    leaf = _leaf(mt.float64)
    with pytest.raises(RuntimeError, match="dtype 'float' to a tensor with grad_dtype 'Double'"):
        leaf.grad = mt.ones(2)
    leaf.grad = mt.ones(2, dtype=mt.float64)


def test_it_is_not_changed_under_a_gradient() -> None:
    leaf = mt.ones(2, requires_grad=True)
    leaf.grad = mt.ones(2)
    with pytest.raises(RuntimeError, match="Cannot set grad_dtype to 'Double' because there is already a gradient"):
        leaf.grad_dtype = mt.float64
    leaf.grad_dtype = mt.float32


def test_only_leaves_have_one_and_only_dtypes_are_taken() -> None:
    with pytest.raises(RuntimeError, match="only be accessed on leaf tensors"):
        _ = (mt.ones(2, requires_grad=True) * 2).grad_dtype
    with pytest.raises(RuntimeError, match="must be a torch.dtype or None, but got int"):
        mt.ones(2, requires_grad=True).grad_dtype = 3
