"""Subclasses and modes see every call; plain tensors pay nothing for them."""

from __future__ import annotations

from typing import Any

import pytest

import mt_core
from mt_core.dispatch.registry import find_overload
from mt_core.keys import TORCH_FUNCTION
from mt_core.overrides import TorchFunctionMode
from mt_core.state import tls
from mt_core.subclasses import disabled_torch_function


class Logged(mt_core.Tensor):
    """Writes down the names of what is called on it."""

    names: list[str] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.names.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


class Parameterlike(mt_core.Tensor):
    """A subclass that overrides nothing, as ``Parameter``."""

    __torch_function__ = disabled_torch_function


class Names(TorchFunctionMode):
    def __init__(self) -> None:
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


@pytest.fixture
def logged() -> Logged:
    Logged.names = []
    return mt_core.ones(2, 3).as_subclass(Logged)


def test_the_key_bit_tells_a_subclass(logged: Logged) -> None:
    assert logged._keys & TORCH_FUNCTION
    assert not mt_core.ones(2)._keys & TORCH_FUNCTION
    assert not mt_core.ones(2).as_subclass(Parameterlike)._keys & TORCH_FUNCTION


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x + x, "add"),
        (lambda x: x + 1, "add"),
        (lambda x: mt_core.ones(2, 3) + x, "add"),
        (lambda x: x.exp(), "exp"),
        (lambda x: mt_core.exp(x), "exp"),
        (lambda x: mt_core.matmul(mt_core.ones(4, 2), x), "matmul"),
        (lambda x: x.sum(1), "sum"),
        (lambda x: mt_core.cat([mt_core.ones(1, 3), x]), "cat"),
        (lambda x: x.t(), "t"),
        (lambda x: x.add_(1), "add_"),
        (lambda x: mt_core.where(mt_core.ones(3) > 0, mt_core.ones(3), x), "where"),
    ],
)
def test_a_subclass_sees_operators_methods_and_functions(logged: Logged, call: Any, name: str) -> None:
    result = call(logged)
    assert any(seen.strip("_") in (name.strip("_"), f"r{name}") for seen in Logged.names), Logged.names
    assert type(result) is Logged


def test_a_subclass_may_refuse(logged: Logged) -> None:
    class Refusing(mt_core.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.exp'.*\\n.*\n.*Refusing"):
        mt_core.exp(mt_core.ones(2).as_subclass(Refusing))


def test_the_subclass_goes_first() -> None:
    class Later(Logged):
        names: list[str] = []

    Logged.names, Later.names = [], []
    mt_core.add(mt_core.ones(2).as_subclass(Logged), mt_core.ones(2).as_subclass(Later))
    assert Later.names and not Logged.names


def test_a_subclass_without_override_keeps_the_fast_path() -> None:
    x = mt_core.ones(2)
    plain = x._keys
    assert x.as_subclass(Parameterlike)._keys == plain


def test_a_mode_sees_every_call_and_only_inside() -> None:
    x = mt_core.ones(2, 3)
    with Names() as mode:
        y = (x + x).exp()
        mt_core.sum(y)
    x * x
    assert mode.names == ["add", "exp", "sum"]


def test_modes_nest_innermost_first() -> None:
    x = mt_core.ones(2)
    with Names() as outer, Names() as inner:
        x.exp()
    assert inner.names == ["exp"] and outer.names == ["exp"]


def test_a_mode_ends_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), Names():
        raise ZeroDivisionError
    assert not tls.function_modes and tls.mode == 0


def test_plain_tensors_pay_nothing(logged: Logged) -> None:
    x, cache = mt_core.ones(2, 3), find_overload("exp").cache
    x.exp()
    plain, before = cache[x._keys | tls.mode], dict(cache)
    logged.exp()
    with Names():
        x.exp()
    assert cache[x._keys | tls.mode] is plain
    x.exp()
    added = set(cache) - set(before)
    assert all(key & TORCH_FUNCTION or key >> 25 for key in added), (
        "only calls with the bit, or in a mode, have entries of their own"
    )
