"""Kernels of the device target Ascend: `ascend_calls`, as functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindspore
import numpy
from mindspore import mint
from mindspore.ops import auto_generate

import mt_core.dtypes
from mt_core.dispatch.kernel import Accepts
from mt_core.dispatch.registry import find_overload

from ..registry import Table
from .ascend_arguments import Call
from .ascend_calls import CALLS, INPLACE
from .common import theirs

__all__ = ["TABLE"]

TABLE = Table()


@functools.lru_cache(1024)
def primitive_of(name: str, settings: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    """A primitive that is made with these settings."""
    primitive: Callable[..., Any] = getattr(auto_generate, name)(**dict(settings))
    return primitive


def hashed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else taken(value)


def taken(value: Any) -> Any:
    """What MindSpore takes for a value: its own dtype for one of the core's."""
    return theirs(value) if isinstance(value, mt_core.dtypes.dtype) else value


def function_of(name: str, call: Call) -> Callable[..., Any]:
    """The kernel that calls a primitive."""
    names = [argument.name for argument in find_overload(name).schema.arguments]
    if not call.made_with and call.masked is None and call.result is None and not call.alike:
        primitive = getattr(auto_generate, call.primitive)()

        def plain(*args: Any) -> Any:
            return primitive(*map(taken, call.given(names, args)))

        return plain

    def run(*args: Any) -> Any:
        if call.alike:
            args = broadcast(args)
        settings = tuple((key, hashed(value)) for key, value in call.settings(names, args).items())
        made = primitive_of(call.primitive, settings)(*map(taken, call.given(names, args)))
        return call.results(made, names, args)

    return run


def broadcast(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments, the tensors among them in one shape."""
    shapes = {tuple(a.shape) for a in args if isinstance(a, mindspore.Tensor)}
    if len(shapes) < 2:
        return args
    shape = numpy.broadcast_shapes(*shapes)
    return tuple(mint.broadcast_to(a, shape).contiguous() if isinstance(a, mindspore.Tensor) else a for a in args)


def accepts_of(name: str, call: Call) -> Accepts | None:
    """For which arguments the kernel stands before what is there without it; None: for all."""
    if not call.conditions:
        return None
    names = [argument.name for argument in find_overload(name).schema.arguments]
    return Accepts(also=lambda *args: call.serves(names, args))


def writer_of(name: str, calls: tuple[Call, Call | None]) -> Callable[..., bool]:
    """What writes an operator's result into its first operand; False where no primitive does."""
    tensor = function_of(name, calls[0])
    number = None if calls[1] is None else function_of(name, calls[1])

    def write(*args: Any) -> bool:
        function = tensor
        if len(args) > 1 and calls[0].arguments[1:2] == ("other",) and args[1].__class__ in (int, float, bool):
            if number is None:
                return False
            function = number
        function(*args)
        return True

    return write


for _name, _call in CALLS.items():
    TABLE.functions({_name: function_of(_name, _call)}, numbers=_call.numbers, accepts=accepts_of(_name, _call))
for _name, _calls in INPLACE.items():
    TABLE.inplace[_name] = writer_of(_name, _calls)
