"""`swap_tensors`, and ``torch.__future__``: modules that exchange or overwrite their parameters."""

from __future__ import annotations

import weakref

import pytest

import mt_core as mt
from mt_core.swapping import swap_tensors
from mt_nn import Linear, Parameter
from mt_nn import _conversion_settings as settings


@pytest.fixture
def swapping():
    settings.set_swap_module_params_on_conversion(True)
    yield
    settings.set_swap_module_params_on_conversion(False)


@pytest.fixture
def overwriting():
    settings.set_overwrite_module_params_on_conversion(True)
    yield
    settings.set_overwrite_module_params_on_conversion(False)


class _Slotted(mt.Tensor):
    __slots__ = ("mark",)


def test_each_becomes_the_other() -> None:
    first, second = Parameter(mt.ones(2)), mt.zeros(3, dtype=mt.float64)
    first.grad = mt.full((2,), 7.0)
    first.mark, second.other = 1, 2
    memory = first.data_ptr(), second.data_ptr()
    assert swap_tensors(first, second) is None
    assert (type(first), type(second)) == (mt.Tensor, Parameter)
    assert (first.shape, first.dtype, first.requires_grad, first.grad) == ((3,), mt.float64, False, None)
    assert second.requires_grad and second.grad.tolist() == [7, 7]
    assert (first.__dict__, second.__dict__) == ({"other": 2}, {"mark": 1})
    assert (second.data_ptr(), first.data_ptr()) == memory
    swap_tensors(first, second)
    assert type(first) is Parameter and first.tolist() == [1, 1]


def test_views_stay_with_their_memory() -> None:
    base, other = mt.ones(2), mt.zeros(2)
    view = base[:1]
    swap_tensors(base, other)
    view.fill_(5)
    assert other.tolist() == [5, 1] and base.tolist() == [0, 0]
    assert view._base is other
    other.add_(1)
    assert view.tolist() == [6] and view._version == other._version
    other.untyped_storage().resize_(64)
    other.fill_(9)
    assert view.tolist() == [9]


def test_a_base_and_its_view_change_places() -> None:
    base = mt.arange(3.0)
    view = base[1:]
    swap_tensors(base, view)
    assert base._base is view and view._base is None
    assert (view.tolist(), base.tolist()) == ([0, 1, 2], [1, 2])


def test_a_graph_that_saved_one_does_not_use_the_other() -> None:
    weight, other = mt.ones(2, requires_grad=True), mt.full((2,), 5.0, requires_grad=True)
    loss = (weight * weight).sum()
    swap_tensors(weight, other)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_cannot_be_swapped_is_refused() -> None:
    first, second = mt.ones(2), mt.ones(2)
    reference = weakref.ref(second)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref associated with it"):
        swap_tensors(first, second)
    del reference
    with pytest.raises(RuntimeError, match="different slots"):
        swap_tensors(first.as_subclass(_Slotted), second)
    retained = mt.ones(2, requires_grad=True) * 2
    retained.retain_grad()
    with pytest.raises(RuntimeError, match="retain the gradient"):
        swap_tensors(retained, second)


def test_slots_of_subclasses_are_exchanged() -> None:
    first, second = mt.ones(2).as_subclass(_Slotted), mt.zeros(2).as_subclass(_Slotted)
    first.mark = 1
    swap_tensors(first, second)
    assert second.mark == 1 and not hasattr(first, "mark")


def test_conversions_swap(swapping) -> None:
    module = Linear(2, 2)
    weight = module.weight
    module(mt.ones(1, 2)).sum().backward()
    gradient = weight.grad
    module.double()
    assert module.weight is weight and weight.dtype is mt.float64
    assert weight.grad is gradient and gradient.dtype is mt.float64
    module.to("meta")
    assert module.weight is weight and weight.is_meta and type(weight) is Parameter


@pytest.mark.parametrize("assign", [False, True])
def test_loading_swaps(swapping, assign: bool) -> None:
    module = Linear(2, 2)
    weight, memory = module.weight, module.weight.data_ptr()
    state = {name: value + 1 for name, value in module.state_dict().items()}
    module.load_state_dict(state, assign=assign)
    assert module.weight is weight and type(weight) is Parameter and weight.requires_grad
    assert weight.data_ptr() == (state["weight"].data_ptr() if assign else memory)
    assert mt.equal(weight.detach(), state["weight"])


def test_module_load_must_not_return_an_argument(swapping) -> None:
    class Returns(mt.Tensor):
        def module_load(self, other, assign=False):
            return other

    module = Linear(2, 2)
    module.register_buffer("extra", mt.ones(2).as_subclass(Returns))
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        module.load_state_dict(module.state_dict())


def test_conversions_overwrite(overwriting) -> None:
    module = Linear(2, 2)
    weight = module.weight
    module(mt.ones(1, 2)).sum().backward()
    gradient = weight.grad
    module.double()
    assert module.weight is not weight and weight.dtype is mt.float32
    assert weight.grad is gradient and gradient.dtype is mt.float32
    assert module.weight.grad.dtype is mt.float64
