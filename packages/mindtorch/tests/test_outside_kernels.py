"""A kernel that somebody else registers is used for every operator, by every way of calling it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import mindtorch as torch
from mt_core.api import _functions
from mt_core.dispatch.lookup import composite_of
from mt_core.dispatch.registry import PACKETS, Overload, find_overload, forget_all, register_kernel, unregister_kernel
from mt_core.keys import CPU
from mt_core.testing.arguments import Arguments
from mt_core.testing.sample import TensorMaker, declared_operators, sample_functions

OPERATORS = [overload.name for overload in declared_operators()]


#: Python's own word for these calls another operator: ``split`` of sizes is ``split_with_sizes``, and ``x.where`` takes
#: the condition second.
OTHERWISE_IN_PYTHON = {"split.sizes", "where.self"}


class Entered(Exception):
    """The kernel was called."""


def refuse_all(*args: Any, **kwargs: Any) -> Any:
    raise Entered


@contextmanager
def outside_kernel(*names: str) -> Iterator[None]:
    """A kernel of our own in front of the backend's."""
    kernel = register_kernel(CPU, names, refuse_all, half="native")
    try:
        yield
    finally:
        for name in names:
            unregister_kernel(CPU, name, kernel)


def accepted_sample(overload: Overload) -> Callable[[], Any]:
    """A maker of a sample that the operator takes."""
    for generate in sample_functions(overload):
        count = len(list(generate(TensorMaker())))
        for position in range(count):

            def make(generate: Any = generate, position: int = position) -> Any:
                return list(generate(TensorMaker()))[position]

            try:
                with torch.no_grad(), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    overload.call(*Arguments(overload, make()).bound)
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
                continue
            return make
    pytest.skip(f"{overload.name} has no samples of its own that run on the CPU (out= forms have none)")
    raise AssertionError


def differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex)


@pytest.mark.parametrize("name", OPERATORS)
def test_it_is_entered(name: str) -> None:
    overload = find_overload(name)
    make = accepted_sample(overload)

    def call(*, grad: bool = False) -> None:
        arguments = Arguments(overload, make())
        bound = list(arguments.bound)
        if grad:
            # Of in-place forms the first argument stays a leaf without gradient, as PyTorch demands.
            writes = {i for i, a in enumerate(overload.schema.arguments) if a.writes}
            bound = [
                v.detach().requires_grad_() if differentiable(v) and i not in writes else v for i, v in enumerate(bound)
            ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            overload.call(*bound)

    with outside_kernel(name):
        for enter in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with enter(), pytest.raises(Entered):
                call()
        if overload.declaration.form != "out":
            with pytest.raises(Entered):
                call(grad=True)
    # And gone again.
    with torch.no_grad():
        call()


@pytest.mark.parametrize("name", OPERATORS)
def test_python_functions_and_methods_enter_it(name: str) -> None:
    """Registered before the first use: nothing is resolved yet. Python may choose another overload of the name."""
    overload = find_overload(name)
    declaration = overload.declaration
    if declaration.form == "out" or name in OTHERWISE_IN_PYTHON:
        return
    make = accepted_sample(overload)
    for_function, for_method, bound = make(), make(), Arguments(overload, make()).bound
    forget_all()
    with outside_kernel(*PACKETS[overload.packet_name].overload_names), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "function" in declaration.variants:
            with pytest.raises(Entered):
                getattr(_functions, overload.packet_name)(*for_function.args, **for_function.kwargs)
        if "method" in declaration.variants and isinstance(for_method.args[0], torch.Tensor):
            with pytest.raises(Entered):
                getattr(torch.Tensor, overload.packet_name)(*for_method.args, **for_method.kwargs)
        operator = getattr(getattr(torch.ops.aten, overload.packet_name), overload.overload_name)
        arguments = overload.schema.arguments
        positional = [v for v, a in zip(bound, arguments, strict=True) if not a.kwarg_only]
        named = {a.name: v for v, a in zip(bound, arguments, strict=True) if a.kwarg_only}
        with pytest.raises(Entered):
            operator(*positional, **named)


def derives(name: str) -> bool:
    """Whether an operator has an ``out=`` form that is made from it, and not written in other operators."""
    out = find_overload(name).declaration.out
    return out is not None and composite_of(find_overload(out)) is None


WITH_OUT = [name for name in OPERATORS if derives(name)]


@pytest.mark.parametrize("name", WITH_OUT)
def test_the_out_form_enters_it(name: str) -> None:
    overload = find_overload(name)
    out_form = find_overload(overload.declaration.out or "")
    bound = Arguments(overload, accepted_sample(overload)()).bound
    rest = iter(bound)
    arguments = [torch.empty(0) if a.writes else next(rest) for a in out_form.schema.arguments]
    with outside_kernel(name), warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        with pytest.raises(Entered):
            out_form.call(*arguments)
