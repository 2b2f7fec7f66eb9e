"""``__torch_function__`` is told what was called, and with what, as PyTorch tells it."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch as torch
import mindtorch.nn.functional as F
from mindtorch import _C, overrides
from mt_core.overriding import Overridden

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))
from override_calls import CALLS, found_at, shown, what_is_told  # noqa: E402

SNAPSHOT = json.loads((SNAPSHOTS / "overrides.json").read_text())

#: Calls of which overrides are told otherwise than in PyTorch, and why.
GAPS = {
    "list(x)": "how many dimensions there are is not asked again",
    "x.__array__()": "the second parameter of NumPy 2's protocol is a parameter here",
    "x.dim_order()": "the one option is told too",
    "p.__setitem__(0,d)": "what the override returns is returned",
    "p.__setitem__(d,1)": "what the override returns is returned",
    "F.upsample(img,scale_factor=2)": "does not go through the public interpolate",
    "torch.stft(x[0],1)": "written as an operator, so told as written",
    "torch.split(p,d)": "PyTorch does not ask about sizes, and ends in an internal function",
    "p.split(d)": "PyTorch does not ask about sizes, and ends in an internal function",
    "p.unique(dim=d)": "PyTorch does not ask about the dimension, and ends in an internal function",
}


def differences(call: str) -> list[str]:
    wanted, (kind, told) = SNAPSHOT[call], what_is_told(torch, call)
    found = [] if kind == wanted["result"] else [f"result {kind}, not {wanted['result']}"]
    if len(told) != len(wanted["told"]):
        return [*found, f"told of {[f.__name__ for f, *_ in told]}, not of {[w['function'] for w in wanted['told']]}"]
    for (function, types, args, kwargs), entry in zip(told, wanted["told"], strict=True):
        if not any(_same(function, path) for path in entry["function"]):
            found.append(f"told of {function}, not of {entry['function']}")
        for what, value in (("types", types), ("args", args), ("kwargs", kwargs)):
            if shown(torch, value) != entry[what]:
                found.append(f"{what} {shown(torch, value)}, not {entry[what]}")
    return found


def _same(function: Any, path: str) -> bool:
    try:
        return found_at(torch, path) == function
    except AttributeError:
        return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_overrides_are_told_what_was_called(call: str) -> None:
    found = differences(call)
    assert bool(found) == (call in GAPS), found or "known to differ, and does not"


# The module


class Logging(overrides.TorchFunctionMode):
    def __init__(self) -> None:
        self.told: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.told.append(func)
        return func(*args, **(kwargs or {}))


def test_modes_are_told_of_everything() -> None:
    x = torch.ones(2, 2)
    with Logging() as mode:
        torch.add(x, x)
        x.shape  # noqa: B018
        x.dim()
        F.softmax(x, -1)
        torch.zeros(3)
        torch.tensor([1])
    wanted = [torch.add, torch.Tensor.shape.__get__, torch.Tensor.dim, F.softmax, torch.zeros, torch.tensor]
    assert mode.told == wanted


def test_subclasses_may_be_switched_off_and_modes_stay() -> None:
    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("asked")

    x = torch.ones(2).as_subclass(Refusing)
    with _C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor
        with Logging() as mode:
            x.neg()
    assert mode.told == [torch.Tensor.neg]
    with Logging() as mode, _C.DisableTorchFunction():
        x.neg()
    assert mode.told == []
    with _C.DisableTorchFunctionSubclass(), overrides.enable_reentrant_dispatch(), pytest.raises(AssertionError):
        x.neg()


def test_the_stack_of_modes() -> None:
    with Logging() as outer, Logging() as inner:
        assert overrides._get_current_function_mode() is inner
        assert overrides._get_current_function_mode_stack() == [outer, inner]
        with overrides._pop_mode_temporarily() as popped:
            assert popped is inner and _C._len_torch_function_stack() == 1
    assert overrides._get_current_function_mode() is None and _C._len_torch_function_stack() == 0


class Duck:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func, types, args, kwargs


def test_gradients_are_told_of_with_tuples() -> None:
    d = Duck()
    function, types, args, kwargs = torch.autograd.grad(d, d, create_graph=True)
    assert function is torch.autograd.grad and types == (Duck,) and args == ((d,), (d,))
    assert kwargs["create_graph"] is True and kwargs["materialize_grads"] is False and len(kwargs) == 7


def test_functions_of_ones_own_may_be_overridden() -> None:
    def own(x: Any, scale: int = 1) -> Any:
        if overrides.has_torch_function_unary(x):
            return overrides.handle_torch_function(own, (x,), x, scale=scale)
        return x * scale

    wrapped = overrides.wrap_torch_function(lambda x: (x,))(lambda x: x)
    d = Duck()
    assert own(torch.ones(2)).sum() == 2 and own(d) == (own, (Duck,), (d,), {"scale": 1})
    assert wrapped(3) == 3 and wrapped(d)[0] is wrapped
    assert overrides.has_torch_function([3, d]) and not overrides.has_torch_function((3, torch.ones(1)))


def test_functions_are_found_by_name_and_by_kind() -> None:
    assert overrides.resolve_name(torch.add) == "torch.add"
    assert overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert overrides.resolve_name(F.relu) == "torch.nn.functional.relu" and overrides.resolve_name(len) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(torch.add)
    assert (
        overrides.is_tensor_like(torch.ones(1)) and overrides.is_tensor_like(Duck()) and not overrides.is_tensor_like(3)
    )


def test_every_overridable_function_has_a_testing_override() -> None:
    testing, ignored = overrides.get_testing_overrides(), overrides.get_ignored_functions()
    listed = [f for functions in overrides.get_overridable_functions().values() for f in functions]
    assert len(listed) > 1300 and not set(listed) - set(testing) and not ignored & set(testing)
    unlisted = {f.__name__ for f in set(testing) - set(listed)}
    assert {"_assert_async", "_native_batch_norm_legit", "_sym_tanh", "constant_"} <= unlisted and len(unlisted) == 22
    assert str(inspect.signature(testing[torch.add])) == "(input, other, *, alpha=1, out=None)"
    assert testing[torch.add](1, 2) == -1


@pytest.mark.parametrize("name", ["torch.Tensor", "torch.nn.functional", "torch", "torch.linalg"])
def test_every_public_function_is_told_of_as_itself(name: str) -> None:
    """Whatever is called with a value that overrides functions: it is told of, or refused in words."""
    told = 0
    for function in overrides.get_overridable_functions()[found_at(torch, name)]:
        arguments = [torch.ones(2, 2)] if name == "torch.Tensor" else []
        needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        try:
            result = function(*arguments, *[Duck() for _ in range(max(1, len(needed) - len(arguments)))])
        except Overridden as leaked:
            raise AssertionError(f"{name}: {function}") from leaked
        except Exception:  # noqa: BLE001 - a refusal in words is right
            continue
        if not (isinstance(result, tuple) and len(result) == 4 and callable(result[0])):
            continue
        told += 1
        if function.__name__ in ("ndimension", "nelement"):  # second names of others
            assert result[0] in (torch.Tensor.dim, torch.Tensor.numel)
            continue
        same_words = function.__name__.strip("_").lstrip("ri") in getattr(result[0], "__name__", "")
        assert result[0] is function or name == "torch.Tensor" and (same_words or function.__name__.startswith("__"))
    assert told > 30


def _scaled(a, b):
    """A function of a program that can be overridden."""
    if torch.overrides.has_torch_function((a, b)):
        return torch.overrides.handle_torch_function(_scaled, (a, b), a, b)
    return a * b + 1


def test_an_override_passes_on_to_what_it_overrides_and_sees_what_that_calls():
    seen = []

    class Seen(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args, kwargs=None):
            seen.append(func.__name__)
            return torch.overrides.redispatch_function(func, types, args, kwargs)

    x, y = Seen(torch.tensor([3.0])), Seen(torch.tensor([4.0]))
    assert _scaled(x, y).tolist() == [13.0]
    assert seen == ["_scaled", "mul"]
    seen.clear()
    assert type(torch.add(x, y, alpha=2)) is torch.Tensor
    assert seen == ["add"]
    assert x.shape == (1,) and seen == ["add", "__get__"]


def test_a_mode_that_stays_on_sees_all_that_a_redispatched_function_calls():
    seen = []

    class Seeing(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            with self:
                return torch.overrides.redispatch_function(func, types, args, kwargs)

    a = torch.ones(1)
    with Seeing():
        result = _scaled(a, a)
    assert result.tolist() == [2.0]
    assert seen == ["_scaled", "mul", "add"]


def test_one_question_is_passed_over_even_where_the_call_fails():
    seen = []

    class Seen(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args, kwargs=None):
            seen.append(func.__name__)
            return torch.overrides.redispatch_function(func, types, args, kwargs)

    def failing(a):
        raise KeyError("meant")

    x = Seen(torch.ones(1))
    with pytest.raises(KeyError):
        torch.overrides.redispatch_function(failing, (), (x,), None)
    x.neg()
    assert seen == ["neg"]
