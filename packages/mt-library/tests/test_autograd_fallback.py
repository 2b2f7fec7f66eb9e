"""Gradients of operators without a kernel for autograd: they are warned of, and pass where the kernel records them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mt_core as mt
from mt_autograd import grad, no_grad
from mt_core import Tensor
from mt_library import Library, autograd_fallback, ops

_WORDS = "fallback_tests::{}: an autograd kernel was not registered"


@pytest.fixture
def library() -> Iterator[Library]:
    own = Library("fallback_tests", "DEF")
    yield own
    autograd_fallback.set_mode("warn")
    own._destroy()


def defined(library: Library, schema: str, kernel: Callable[..., Any]) -> Any:
    """The operator of a schema with one kernel, for the CPU."""
    name = library.define(schema)
    library.impl(name, kernel, "CPU")
    return getattr(ops.fallback_tests, name.rpartition("::")[2])


def needing() -> Tensor:
    return mt.arange(3.0, requires_grad=True)


def outside(*tensors: Tensor) -> Any:
    """Their sum, computed without a history."""
    return sum((tensor.detach() for tensor in tensors), mt.zeros(3))


def test_a_result_without_history_gets_a_node_that_warns_and_passes_nothing(library: Library) -> None:
    add = defined(library, "add(Tensor a, Tensor b) -> Tensor", outside)
    x = needing()
    result = add(mt.ones(3), x)
    assert result.requires_grad and result.grad_fn.name() == "torch::autograd::WarnNotImplemented"
    with pytest.warns(UserWarning, match=_WORDS.format("add")):
        result.sum().backward()
    assert x.grad is None


def test_what_a_kernel_records_is_right_and_warned_of(library: Library) -> None:
    double = defined(library, "double(Tensor a) -> Tensor", lambda a: a * 2)
    x = needing()
    with pytest.warns(UserWarning, match=_WORDS.format("double")):
        double(x).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_each_tensor_of_a_list_has_its_place_in_one_node(library: Library) -> None:
    both = defined(library, "both(Tensor[] a) -> Tensor[]", lambda a: [outside(*a), outside(*a).double()])
    x = needing()
    first, second = both([x, mt.ones(3)])
    assert first.grad_fn is second.grad_fn
    assert (first.output_nr, second.output_nr) == (0, 1)
    with pytest.warns(UserWarning, match=_WORDS.format("both")):
        assert grad(second.sum(), x, allow_unused=True) == (None,)


def test_integers_and_written_tensors_get_no_node(library: Library) -> None:
    count = defined(library, "count(Tensor a) -> Tensor", lambda a: mt.ones(3, dtype=mt.int64))

    def fill(a: Tensor, b: Tensor) -> Tensor:
        a.detach().add_(b.detach())
        return a

    written = defined(library, "fill(Tensor(a!) a, Tensor b) -> Tensor(a!)", fill)
    assert not count(needing()).requires_grad
    assert not written(mt.zeros(3), needing()).requires_grad


@pytest.mark.parametrize("silent", ["mode", "no_grad", "inputs"])
def test_nothing_is_added_where_no_gradient_is_asked_for(library: Library, silent: str) -> None:
    add = defined(library, "add(Tensor a, Tensor b) -> Tensor", outside)
    x = needing() if silent != "inputs" else mt.ones(3)
    if silent == "mode":
        autograd_fallback.set_mode("nothing")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if silent == "no_grad":
            with no_grad():
                result = add(x, x)
        else:
            result = add(x, x)
    assert not result.requires_grad


def test_the_base_of_a_written_view_is_watched(library: Library) -> None:
    def fill(a: Tensor) -> Tensor:
        with no_grad():
            a.sin_()
        return a

    sine = defined(library, "sine(Tensor(a!) a) -> Tensor(a!)", fill)
    base = needing().clone()
    sine(base[0])
    with pytest.warns(UserWarning, match=_WORDS.format("sine")):
        base.sum().backward()


def test_other_modes_are_refused() -> None:
    with pytest.raises(RuntimeError, match="NYI: mode='error'"):
        autograd_fallback.set_mode("error")
    with pytest.raises(RuntimeError, match="Unsupported AutogradFallbackMode: loud"):
        autograd_fallback.set_mode("loud")
    assert autograd_fallback.get_mode() == "warn"


def test_registrations_go_with_what_holds_them() -> None:
    own = Library("fallback_tests", "DEF")
    add = defined(own, "add(Tensor a, Tensor b) -> Tensor", outside)
    del own.m
    with pytest.raises(Exception, match="add"):
        add(mt.ones(3), mt.ones(3))
    again = Library("fallback_tests", "DEF")
    again._destroy()
