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


def sources() -> list[tuple]:
    """Everything that a tensor may be set to, as arguments."""
    there = torch.ones(3)
    storage = there.untyped_storage()
    return [(there,), (storage,), (storage, 1, (2,)), ()]


@pytest.mark.parametrize("at", range(4))
def test_what_is_set_where_it_is_recorded_lets_no_gradient_pass(at: int) -> None:
    for recorded in (lambda x: x * 2, lambda x: (x * 2)[1:]):
        y = recorded(torch.arange(3.0, requires_grad=True))
        version = y._version
        assert y.set_(*sources()[at]) is y
        assert y.requires_grad and not y.is_leaf and y._version == version + 1
        assert (type(y.grad_fn).__name__, y.grad_fn.name()) == ("NotImplemented", "torch::autograd::NotImplemented")
        assert y.tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0], []][at]
        with pytest.raises(RuntimeError, match="^derivative for set_ is not implemented$"):
            (y * 3).sum().backward()


def test_what_is_set_to_a_tensor_that_requires_grad_requires_it_too() -> None:
    leaf, x = torch.arange(3.0, requires_grad=True), torch.zeros(2)
    assert x.set_(leaf).requires_grad and (x * 2).requires_grad
    with pytest.raises(RuntimeError, match="^derivative for set_ is not implemented$"):
        (x * 2).sum().backward()
    with torch.no_grad():
        assert not torch.zeros(2).set_(leaf).requires_grad


def test_views_of_what_was_set_stay_where_they_were() -> None:
    base = torch.arange(3.0, requires_grad=True) * 1
    view = base[1:]
    base.set_(torch.ones(1))
    assert view.tolist() == [1.0, 2.0] and base.tolist() == [1.0] and view.requires_grad
    with pytest.raises(RuntimeError, match="^derivative for set_ is not implemented$"):
        view.sum().backward()


def test_a_view_of_a_leaf_is_not_set() -> None:
    with pytest.raises(
        RuntimeError, match="^a view of a leaf Variable that requires grad is being used in an in-place"
    ):
        torch.arange(3.0, requires_grad=True)[1:].set_(torch.ones(2))


def test_a_set_that_is_refused_leaves_the_history() -> None:
    x = torch.arange(3.0, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match="Could not set tensor of type double to a tensor of type float"):
        y.set_(torch.ones(3, dtype=torch.float64))
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_the_value_before_is_what_backward_of_others_takes() -> None:
    x = torch.arange(3.0, requires_grad=True)
    y = x * x
    z = y * 2
    y.set_(torch.zeros(3))
    z.sum().backward()
    assert x.grad.tolist() == [0.0, 4.0, 8.0]


def test_inference_tensors_are_set_inside_of_inference_mode_only() -> None:
    with torch.inference_mode():
        x = torch.zeros(2)
        assert x.set_(torch.ones(3)).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RuntimeError, match="^Inplace update to inference tensor outside InferenceMode is not allowed"):
        x.set_(torch.ones(3))


def test_what_was_saved_for_backward_notices() -> None:
    x = torch.arange(6.0, requires_grad=True)
    y = x * x
    with torch.no_grad():
        x.set_(torch.ones(6))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    z = (x * 2).requires_grad_()
    w = z * z
    z.set_(torch.ones(6))
    with pytest.raises(RuntimeError, match="which is output 0 of torch::autograd::NotImplemented, is at version 1"):
        w.sum().backward()


def test_each_graph_of_a_leaf_hands_it_gradients_of_the_form_that_it_had() -> None:
    x = torch.ones(2, requires_grad=True)
    graphs = []
    for size in (2, 3, 4):
        x.data = torch.ones(size)
        graphs.append((size, (x * size).sum()))
    for size, loss in reversed(graphs):
        x.grad = None
        x.data = torch.ones(size)
        loss.backward()
        assert x.grad.tolist() == [float(size)] * size


def test_a_graph_that_outlives_too_many_forms_of_its_leaf_is_refused() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = (x * 2).sum()
    for i in range(70):
        x.data = torch.ones(3 + i % 2)
    with pytest.raises(RuntimeError):
        loss.backward()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 4
