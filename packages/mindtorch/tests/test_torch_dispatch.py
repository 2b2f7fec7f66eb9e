"""``__torch_dispatch__`` of modes and classes: who is handed what, and what happens around it."""

from __future__ import annotations

import contextlib
import copy
import doctest
import json
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    return_and_correct_aliasing,
    transform_subclass,
)
from mindtorch.utils._pytree import tree_map

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

from dispatched_programs import PROGRAMS, operators_of  # noqa: E402

#: Programs that reach other operators here, and why.
DIFFERENT = {
    "linear": "transposed weights are views of other kinds",
    "einsum": "products are found without unsqueezing",
    "batch_norm": "no reserve is made",
    "inv(": "errors are checked by the operator itself",
    "x[0] = 3.0": "numbers are written as numbers",
    "x[1:, 2]": "an open end is no number",
    "backward": "saved results are not detached, and formulas differ",
    "Linear": "formulas differ",
}
RECORDED = json.loads((SNAPSHOTS / "dispatched.json").read_text())


@pytest.mark.parametrize("program", [p for p in PROGRAMS if not any(word in p for word in DIFFERENT)])
def test_modes_are_handed_the_operators_that_pytorch_hands_them(program: str) -> None:
    assert operators_of(program, torch, TorchDispatchMode) == RECORDED[program]


def test_the_list_of_differences_is_not_too_long() -> None:
    different = [p for p in PROGRAMS if operators_of(p, torch, TorchDispatchMode) != RECORDED[p]]
    assert len(different) <= 14
    assert all(any(word in p for word in DIFFERENT) for p in different)


class Wrapper(torch.Tensor):
    """Has no memory; its handler works on `elem`."""

    @staticmethod
    def __new__(cls, elem: Any) -> Any:
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.size(), elem.stride(), elem.storage_offset(), dtype=elem.dtype, device=elem.device,
            requires_grad=elem.requires_grad,
        )  # fmt: skip
        made.elem = elem.detach() if elem.requires_grad else elem
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __tensor_flatten__(self) -> Any:
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(parts: Any, context: Any, size: Any, stride: Any) -> Any:
        return Wrapper(parts["elem"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        SEEN.append(str(func))

        def unwrap(value: Any) -> Any:
            return value.elem if isinstance(value, Wrapper) else value

        def wrap(value: Any) -> Any:
            return Wrapper(value) if isinstance(value, torch.Tensor) else value

        kwargs = kwargs or {}
        out = tree_map(wrap, func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs)))
        return return_and_correct_aliasing(func, args, kwargs, out)


SEEN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


def test_operators_on_a_wrapper_reach_its_handler_and_are_recorded_above() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    wrapped = Wrapper(x)
    loss = torch.nn.functional.linear(wrapped, Wrapper(torch.ones(2, 4))).exp().sum()
    assert isinstance(loss, Wrapper)
    assert loss.grad_fn.name() == "SumBackward0"
    loss.backward()
    assert [seen for seen in SEEN if "detach" not in seen][:4] == [
        "aten.t.default", "aten.mm.default", "aten.exp.default", "aten.sum.default",
    ]  # fmt: skip
    assert isinstance(wrapped.grad, Wrapper)
    (expected,) = torch.autograd.grad(torch.nn.functional.linear(x, torch.ones(2, 4)).exp().sum(), x)
    torch.testing.assert_close(wrapped.grad.elem, expected)


def test_what_handlers_call_is_not_recorded() -> None:
    x = torch.ones(2, requires_grad=True)
    inner = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            inner.append((x * 2).requires_grad)
            assert torch.is_grad_enabled()
            return func(*args, **(kwargs or {}))

    with Mode():
        assert (x + 1).requires_grad
    assert inner == [False]


def test_writes_and_views_of_wrappers_are_those_of_tensors() -> None:
    x = Wrapper(torch.zeros(2, 3))
    view = x[0]
    assert view._base is x
    assert x._version == 0
    view.add_(1)
    assert x._version == view._version == 1
    assert x.elem.tolist() == [[1, 1, 1], [0, 0, 0]]
    assert view.untyped_storage()._cdata == x.untyped_storage()._cdata
    out = Wrapper(torch.empty(2, 3))
    assert torch.add(x, x, out=out) is out
    assert out.elem.sum().item() == 6


def test_lists_and_several_results() -> None:
    x = Wrapper(torch.arange(6.0).reshape(2, 3))
    assert [part.elem.tolist() for part in x.unbind()] == [[0, 1, 2], [3, 4, 5]]
    largest = x.max(1)
    assert type(largest).__name__ == "max"
    assert largest.indices.elem.tolist() == [2, 2]
    assert torch.cat([x, torch.ones(1, 3)]).elem.shape == (3, 3)


def test_members_that_read_elements() -> None:
    x = Wrapper(torch.tensor([2.5]))
    assert x.item() == 2.5
    assert bool(x > 0)
    assert SEEN == ["aten._local_scalar_dense.default", "aten.gt.Scalar", "aten._local_scalar_dense.default"]
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses\."):
        x.numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, got Wrapper"):
        x.tolist()


def test_parameters_of_wrappers_stay_wrappers() -> None:
    parameter = torch.nn.Parameter(Wrapper(torch.ones(3)))
    assert type(parameter) is Wrapper
    assert isinstance(parameter, torch.nn.Parameter)
    parameter.mul(2).sum().backward()
    assert parameter.grad.elem.tolist() == [2, 2, 2]
    assert isinstance(copy.deepcopy(parameter), Wrapper)


def test_modes_are_asked_innermost_first_and_are_off_while_they_work() -> None:
    order: list[str] = []

    class Mode(TorchDispatchMode):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert _get_current_dispatch_mode() is not self
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    outer, inner = Mode("outer"), Mode("inner")
    with outer, inner:
        assert _get_current_dispatch_mode_stack() == [outer, inner]
        torch.ones(2)
        with _disable_current_modes() as modes:
            assert modes == [outer, inner]
            torch.ones(2)
        worker = threading.Thread(target=lambda: torch.ones(2))
        worker.start()
        worker.join()
    assert order == ["inner", "outer"]
    torch.ones(2)
    assert order == ["inner", "outer"]


def test_a_mode_goes_when_its_body_raises() -> None:
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ArithmeticError(str(func))

    with pytest.raises(ArithmeticError, match=r"aten\.add\.Tensor"), Mode():
        torch.ones_like  # noqa: B018 - no call
        _ = ONE + 1
    assert (ONE + 1).item() == 2
    assert _get_current_dispatch_mode() is None


ONE = torch.ones(())


def test_not_implemented_goes_on_to_the_next_and_in_the_end_is_an_error() -> None:
    class Refusing(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    x = torch.Tensor._make_subclass(Refusing, torch.ones(2))
    assert (Wrapper(torch.ones(2)) is not None) and not SEEN
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\._ops\.aten\.add\.Tensor'; all "):
        x + 1


def test_what_is_inherited_is_the_operator_on_the_memory() -> None:
    class Counting(torch.Tensor):
        calls = 0

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            Counting.calls += 1
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = torch.Tensor._make_subclass(Counting, torch.tensor([1.0, 2.0]))
    assert (x * 2 + x).tolist() == [3, 6]
    assert Counting.calls == 2
    x.add_(1)
    assert x._version == 1


@pytest.mark.parametrize("wrong", [3, "text", [1]])
def test_a_handler_returns_what_the_schema_says(wrong: Any) -> None:
    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return wrong

    with pytest.raises(RuntimeError, match="Unable to cast .* to Tensor"), Mode():
        torch.neg(ONE)


def test_operators_are_the_objects_that_torch_ops_has() -> None:
    found = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            found.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        torch.ops.aten.gt.Scalar(ONE, 0)
        ONE + 1
        torch.ops.aten.zeros.default([2])
    assert found[0] is torch.ops.aten.gt.Scalar
    assert found[1] is torch.ops.aten.add.Tensor
    assert str(torch.ops.aten.gt.Scalar._schema) == "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor"


def test_a_wrapper_can_be_made_anew_of_its_parts() -> None:
    x = Wrapper(torch.ones(2, 2))
    doubled = transform_subclass(x, lambda name, part: part * 2)
    assert doubled.elem.sum().item() == 8


def test_wrappers_are_refused_what_they_cannot_have() -> None:
    class Plain(torch.Tensor):
        pass

    with pytest.raises(TypeError, match="Plain must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        torch.Tensor._make_wrapper_subclass(Wrapper, (2,), dtype=torch.int64, requires_grad=True)


def test_a_mode_is_no_class() -> None:
    class Mode(TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args)

    with pytest.raises(RuntimeError, match="as a classmethod is not supported"), Mode():
        torch.neg(ONE)
    assert _get_current_dispatch_mode() is None


class Doubling(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {})) * 2


def test_rules_of_operators_go_before_handlers_and_with_their_library() -> None:
    with torch.library._scoped_library("dispatched", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
        twice = torch.ops.dispatched.twice.default
        with Doubling():
            doubled = twice(ONE)
        assert doubled.item() == 4

        @torch.library.register_torch_dispatch("dispatched::twice", Doubling, lib=library)
        def rule(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert isinstance(mode, Doubling)
            return func(*args, **(kwargs or {})) * 10

        @torch.library.register_torch_dispatch("dispatched::twice", Wrapper, lib=library)
        def of_class(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert cls is Wrapper
            return func(args[0].elem)

        with Doubling():
            tenfold = twice(ONE)
        assert tenfold.item() == 20
        assert type(twice(Wrapper(ONE))) is torch.Tensor
        with pytest.raises(RuntimeError, match="already has a `__torch_dispatch__` rule registered"):
            torch.library.register_torch_dispatch("dispatched::twice", Doubling, rule, lib=library)


def test_operators_of_libraries_that_are_written_in_others_are_taken_apart() -> None:
    with torch.library._scoped_library("dispatched", "FRAGMENT") as library:
        library.define("thrice(Tensor x) -> Tensor")
        library.impl("thrice", lambda x: x + x + x, "CompositeImplicitAutograd")
        Wrapper(ONE)
        assert torch.ops.dispatched.thrice(Wrapper(ONE)).elem.item() == 3
        assert SEEN == ["aten.add.Tensor", "aten.add.Tensor"]
        assert torch.ops.dispatched.thrice.default.decompose(ONE).item() == 3
    assert torch.ops.aten.linear.default.decompose(torch.ones(1, 2), torch.ones(3, 2)).shape == (1, 3)
    assert torch.ops.aten.add.Tensor.decompose(ONE, ONE) is NotImplemented


def test_keys_have_pytorchs_names_and_numbers() -> None:
    key, keys = torch._C.DispatchKey, torch._C._dispatch_keys
    assert repr(key.CPU) == "<DispatchKey.CPU: 49>"
    assert repr(keys(ONE)) == "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    assert repr(keys(torch.ones(1, device="meta"))) == "DispatchKeySet(Meta, ADInplaceOrView, AutogradMeta)"
    assert keys(ONE).highestPriorityTypeId() is key.AutocastCPU
    assert keys(Wrapper(ONE)).has(key.Python)
    assert repr(keys(ONE) - keys(ONE)) == "DispatchKeySet()"
    with pytest.raises(RuntimeError, match="could not parse dispatch key: Nothing"):
        torch._C._dispatch_key_parse("Nothing")
    x = torch.ones(2, requires_grad=True)
    with torch._C._AutoDispatchBelowAutograd():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with Doubling():
        with torch._C._DisableTorchDispatch():
            assert (ONE + 1).item() == 2


def test_wrappers_are_printed_as_they_say_and_their_storage_has_no_address() -> None:
    class Shown(Wrapper):
        def __repr__(self) -> str:
            return super().__repr__(tensor_contents=f"<{self.elem}>")

    assert repr(Shown(torch.ones(2))) == "Shown(<tensor([1., 1.])>)"
    with pytest.raises(RuntimeError, match="got Wrapper"):
        repr(Wrapper(torch.ones(2)))
    storage = Wrapper(torch.ones(2)).untyped_storage()
    assert storage.nbytes() == 8
    for attempt in (
        storage.data_ptr,
        lambda: storage.resize_(0),
        lambda: storage.copy_(storage),
        lambda: storage.fill_(0),
    ):
        with pytest.raises(RuntimeError, match="on an invalid python storage"):
            attempt()


def test_the_page_about_it_runs() -> None:
    path = Path(__file__).parents[3] / "docs" / "dispatch-modes.md"
    if not path.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    blocks = re.findall(r"^```pycon\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    page = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, path.name, str(path), 0)
    assert doctest.DocTestRunner().run(page).failed == 0


def test_running_statistics_are_brought_up_to_date_once() -> None:
    """Also where the backward carries the operator out again, as it does for one that a mode was given whole."""

    class Through(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    x = torch.arange(24.0).reshape(4, 2, 3)
    for make in (torch.nn.BatchNorm1d, lambda size: torch.nn.InstanceNorm1d(size, track_running_stats=True)):
        alone, seen = make(2), make(2)
        gradients = []
        for net, mode in ((alone, contextlib.nullcontext()), (seen, Through())):
            given = x.clone().requires_grad_()
            with mode:
                net(given).pow(3).sum().backward()
            gradients.append(given.grad)
        torch.testing.assert_close(dict(seen.named_buffers()), dict(alone.named_buffers()))
        torch.testing.assert_close(*gradients)
