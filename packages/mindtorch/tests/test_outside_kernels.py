"""A kernel that somebody else registers is used for every operator, by every way of calling it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import mindtorch as torch
from mt_core.api import _functions
from mt_core.dispatch.lookup import composite_of, kernels_of
from mt_core.dispatch.registry import PACKETS, Overload, find_overload, forget_all, register_kernel, unregister_kernel
from mt_core.keys import CPU
from mt_core.testing.arguments import Arguments
from mt_core.testing.sample import Sample, TensorMaker, examined_operators, sample_functions

#: What tells a number of a tensor, and not of its elements, has no result that a kernel could be given.
OPERATORS = [o.name for o in examined_operators() if [r.type for r in o.schema.returns] != ["int"]]


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


def accepted_sample(overload: Overload) -> Callable[[], Sample]:
    """A maker of a sample that the operator takes."""
    for generate in sample_functions(overload):
        count = len(list(generate(TensorMaker())))
        for position in range(count):

            def make(generate: Any = generate, position: int = position) -> Sample:
                return list(generate(TensorMaker()))[position]

            if results(overload, Arguments(overload, make()).bound) is not None:
                return make
    raise AssertionError(f"no sample of {overload.name} is accepted")


def results(overload: Overload, bound: list[Any]) -> list[Any] | None:
    """What the operator returns, or None where it refuses the arguments."""
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = overload.call(*bound)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return None
    return list(made) if isinstance(made, (list, tuple)) else [made]


def accepted_arguments(overload: Overload) -> Callable[[], list[Any]]:
    """A maker of arguments, in the schema's order, that the operator takes.

    An ``out=`` form gets those of its functional form, and tensors like its results.
    """
    if overload.declaration.form != "out":
        make = accepted_sample(overload)
        return lambda: list(Arguments(overload, make()).bound)
    functional = find_overload(overload.declaration.functional or "")
    given = accepted_arguments(functional)

    def with_outs() -> list[Any]:
        made, rest = results(functional, given()), iter(given())
        copies = [out.clone() for out in made or ()]
        outs = iter([copies] if any(a.writes and a.is_list for a in overload.schema.arguments) else copies)
        return [next(outs) if a.writes else next(rest) for a in overload.schema.arguments]

    return with_outs


def differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex)


def writes_items(overload: Overload) -> bool:
    """Whether an operator writes to the tensors of a list."""
    return any(a.writes and a.is_list for a in overload.schema.arguments)


def requiring_grad(overload: Overload, bound: list[Any]) -> list[Any]:
    """The arguments as leaves that require grad; what is written stays without, as PyTorch demands."""
    made = list(bound)
    for i, (value, argument) in enumerate(zip(bound, overload.schema.arguments, strict=True)):
        if differentiable(value) and not argument.writes:
            made[i] = value.detach().requires_grad_()
            if is_refused(overload, made):
                made[i] = value
    return made


def is_refused(overload: Overload, arguments: list[Any]) -> bool:
    """Whether autograd refuses the call before there is a kernel to enter: an argument has no derivative."""
    try:
        overload.call(*arguments)
    except RuntimeError as error:
        return "is not differentiable with respect to" in str(error)
    return False


@pytest.mark.parametrize("name", OPERATORS)
def test_it_is_entered(name: str) -> None:
    overload = find_overload(name)
    make = accepted_arguments(overload)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorded = requiring_grad(overload, make())
    with outside_kernel(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for enter in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with enter(), pytest.raises(Entered):
                overload.call(*make())
        # Autograd refuses outputs that require grad, and records items of lists that are written to each for itself.
        if overload.declaration.form != "out" and not writes_items(overload):
            with pytest.raises(Entered):
                overload.call(*recorded)
    assert results(overload, make()) is not None, "the kernel is gone again"


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


#: ``empty(out=)`` gives a shape and writes nothing: there is nothing to make first.
WRITES_NOTHING = {"empty.memory_format"}


def derives(name: str) -> bool:
    """Whether an operator has an ``out=`` form that is made from it, and not written in other operators."""
    out = find_overload(name).declaration.out
    return out is not None and name not in WRITES_NOTHING and composite_of(find_overload(out)) is None


WITH_OUT = [name for name in OPERATORS if derives(name)]


@pytest.mark.parametrize("name", WITH_OUT)
def test_the_out_form_enters_the_kernel_of_its_functional_form(name: str) -> None:
    out_form = find_overload(find_overload(name).declaration.out or "")
    arguments = accepted_arguments(out_form)()
    with outside_kernel(name), warnings.catch_warnings(), torch.no_grad(), pytest.raises(Entered):
        warnings.simplefilter("ignore")
        out_form.call(*arguments)


def derives_in_place(name: str) -> bool:
    """Whether an operator has an in-place form that is made from it, and no kernel or composite of its own."""
    inplace = find_overload(name).declaration.inplace
    if inplace is None or find_overload(name).declaration.kind == "view":
        return False
    return composite_of(find_overload(inplace)) is None and not kernels_of(find_overload(inplace), CPU)


@pytest.mark.parametrize("name", [name for name in OPERATORS if derives_in_place(name)])
def test_the_in_place_form_enters_the_kernel_of_its_functional_form(name: str) -> None:
    overload = find_overload(name)
    inplace = find_overload(overload.declaration.inplace or "")
    make = accepted_arguments(inplace)
    with outside_kernel(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for enter in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with enter(), pytest.raises(Entered):
                inplace.call(*make())


OUT_FORMS = [name for name in OPERATORS if find_overload(name).declaration.form == "out"]


@pytest.mark.parametrize("name", OUT_FORMS)
def test_python_functions_enter_the_kernel_of_the_out_form(name: str) -> None:
    """``torch.add(x, y, out=z)``, and the operator in ``torch.ops``. Python may choose another overload of the name."""
    overload = find_overload(name)
    make = accepted_arguments(overload)
    operator = getattr(getattr(torch.ops.aten, overload.packet_name), overload.overload_name)
    schema_like, public = split(overload, make()), as_public(overload, make())
    forget_all()
    siblings = [name for name in OUT_FORMS if find_overload(name).packet_name == overload.packet_name]
    with outside_kernel(*siblings), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Entered):
            operator(*schema_like[0], **schema_like[1])
        if "function" in overload.declaration.variants:
            with pytest.raises(Entered):
                getattr(_functions, overload.packet_name)(*public[0], **public[1])


def split(overload: Overload, bound: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by position, and those that the schema takes by name alone."""
    pairs = list(zip(overload.schema.arguments, bound, strict=True))
    return [v for a, v in pairs if not a.kwarg_only], {a.name: v for a, v in pairs if a.kwarg_only}


def as_public(overload: Overload, bound: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The same arguments as Python's functions take them: what is written as ``out=``, several as a tuple."""
    pairs = list(zip(overload.schema.arguments, bound, strict=True))
    outs = [v for a, v in pairs if a.writes]
    named = {a.name: v for a, v in pairs if a.kwarg_only and not a.writes}
    return [v for a, v in pairs if not a.kwarg_only], {**named, "out": outs[0] if len(outs) == 1 else tuple(outs)}


def test_a_composite_whose_result_does_not_fit_is_not_written_in_place() -> None:
    library = torch.library.Library("aten", "IMPL")
    try:
        twice = lambda self, p, dim, maxnorm: torch.cat([self, self])
        library.impl("renorm", twice, "CompositeImplicitAutograd")
        x = torch.ones(2, 2, requires_grad=True).clone()
        with pytest.raises(
            RuntimeError, match=r"Bad in-place call: input tensor size \[2, 2\] and output tensor size \[4, 2\] should"
        ):
            x.renorm_(2, 0, 1.0)
        assert x.tolist() == [[1, 1], [1, 1]]
    finally:
        library._destroy()
    assert torch.ones(2, 2).renorm_(2, 0, 1.0).shape == (2, 2)


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3)])
def test_what_stands_for_an_operator_makes_way_for_a_kernel_of_it(shape: tuple[int, ...]) -> None:
    """A linear layer is one operator of the core's; PyTorch makes it of `addmm`, whose kernel counts."""
    layer, x = torch.nn.Linear(3, 2), torch.ones(shape)
    before = layer(x)
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("addmm", lambda self, a, b, *, beta=1, alpha=1: torch.full((a.shape[0], b.shape[1]), 7.0), "CPU")
        assert (layer(x) == 7).all()
        with torch.no_grad():
            assert (layer(x) == 7).all()
        layer(x).sum().backward()
        assert layer.weight.grad.shape == (2, 3)
    finally:
        library._destroy()
    assert torch.equal(layer(x), before)
