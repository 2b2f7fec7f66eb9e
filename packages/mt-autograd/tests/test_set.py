"""``Tensor.set_`` beside differentiation."""

from __future__ import annotations

import pytest

import mt_core as torch


def test_a_leaf_that_requires_grad_is_set_outside_of_recording_only() -> None:
    x = torch.arange(6.0, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"
    ):
        x.set_(torch.zeros(3))
    with torch.no_grad():
        x.set_(torch.ones(3))
    assert x.requires_grad
    assert x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_what_is_recorded_has_no_derivative_through_set() -> None:
    leaf = torch.arange(3.0, requires_grad=True)
    for recorded, source in (
        (leaf * 2, torch.zeros(3)),
        ((leaf * 2)[1:], torch.zeros(3)),
        (torch.zeros(3), leaf),
    ):
        with pytest.raises(NotImplementedError, match="derivative for set_ is not implemented"):
            recorded.set_(source)


def test_what_was_saved_for_backward_notices() -> None:
    x = torch.arange(6.0, requires_grad=True)
    y = x * x
    with torch.no_grad():
        x.set_(torch.ones(6))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
