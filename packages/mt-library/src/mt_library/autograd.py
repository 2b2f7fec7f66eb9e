"""The derivative of an operator, written as a backward function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mt_autograd.function import Function
from mt_core import Tensor
from mt_core.autograd_state import is_grad_enabled
from mt_core.keys import AUTOGRAD
from mt_core.state import excluding
from mt_core.tensor_types import tensors_in

from .defaults import defaults_filled
from .registrations import Operator

__all__ = ["autograd_kernel", "below_autograd", "check_differentiable"]


def check_differentiable(operator: Operator, shown: Any) -> None:
    """Refuse operators for which no backward can be registered.

    Raises
    ------
    RuntimeError
        For one that writes to its arguments or returns a view.
    NotImplementedError
        For keyword-only tensor arguments.
    """
    schema = operator.overload.schema
    if schema.is_mutable or any(result.alias for result in schema.returns):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema {operator.schema}. "
            "Please create a functional operator and register an autograd formula for that."
        )
    if any(argument.is_tensor and argument.kwarg_only for argument in schema.arguments):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your "
            f"tensors not kwarg-only. Got: {operator.schema}"
        )


def below_autograd(operator: Operator) -> Callable[..., Any]:
    """What calls an operator below autograd, with the arguments that its kernels get."""
    overload = operator.overload

    def below(*args: Any, **kwargs: Any) -> Any:
        with excluding(AUTOGRAD):
            return overload.call(*defaults_filled(overload.schema, args, kwargs))

    return below


def autograd_kernel(
    operator: Operator, backward: Callable[..., Any] | None, setup_context: Callable[..., Any] | None,
    name: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A kernel for the key Autograd: runs the operator below autograd and records its backward.

    Parameters
    ----------
    backward
        ``backward(ctx, *grads)`` returns a gradient, or None, for each positional argument, and for a list of tensors a
        list; None if there is no formula.
    setup_context
        ``setup_context(ctx, inputs, output)`` saves what backward needs; with ``keyword_only_inputs`` before ``output``
        where the schema has such arguments.
    name
        What the nodes are called; by default after the operator.
    """
    overload = operator.overload
    keyword_only = [argument.name for argument in overload.schema.arguments if argument.kwarg_only]
    count = len(overload.schema.arguments) - len(keyword_only)

    def below(args: tuple[Any, ...]) -> Any:
        with excluding(AUTOGRAD):
            return overload.call(*args)

    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        args = call.args
        output = call.output = below(args)
        ctx._given = call.given
        ctx._inputs = _template(args[:count])
        ctx._outputs = _template(output if isinstance(output, tuple) else (output,))
        ctx.needs_input_grad = tuple(_filled(ctx._inputs, iter(ctx.needs_input_grad[1:]), False))
        if setup_context is not None:
            extra = {"keyword_only_inputs": dict(zip(keyword_only, args[count:]))} if keyword_only else {}
            setup_context(ctx=ctx, inputs=args[:count], output=output, **extra)
        return tuple(tensors_in(output))

    def run_backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        if backward is None:
            raise RuntimeError(
                f"Trying to backward through {_dotted(operator)} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        results = backward(ctx, *_filled(ctx._outputs, iter(grads), None))
        results = results if isinstance(results, tuple) else (results,)
        if ctx._given <= len(results) < count:  # none for arguments that were left out
            results = (*results, *[None] * (count - len(results)))
        return None, *_flat_gradients(results, ctx._inputs)

    name = name or f"GeneratedBackwardFor_{_dotted(operator).replace('.', '_')}"
    members = {"forward": staticmethod(forward), "backward": staticmethod(run_backward)}
    function: Any = type(name, (Function,), members)

    def kernel(*args: Any, **keyword_only_args: Any) -> Any:
        call = _Call(defaults_filled(overload.schema, args, keyword_only_args), len(args))
        tensors = list(tensors_in(call.args[:count]))
        if not (is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
            return below(call.args)
        recorded = function.apply(call, *tensors)
        return _with_tensors(call.output, iter(recorded))

    return kernel


class _Call:
    """A call on its way through `Function.apply`, which sees tensors only when they are arguments of its own."""

    def __init__(self, args: tuple[Any, ...], given: int) -> None:
        self.args = args
        #: How many of the positional ones are not at their defaults, at the end.
        self.given = given
        self.output: Any = None


def _dotted(operator: Operator) -> str:
    return f"{operator.overload.packet_name.replace('::', '.')}.{operator.overload.overload_name}"


def _template(value: Any) -> Any:
    """Where tensors stand in a structure: True for one, a list for a list or tuple, None for anything else."""
    if isinstance(value, Tensor):
        return True
    return [_template(item) for item in value] if isinstance(value, list | tuple) else None


def _filled(template: list[Any], values: Iterator[Any], other: Any) -> list[Any]:
    """A structure with values in the places of tensors, and `other` elsewhere."""
    return [
        next(values) if item is True else _filled(item, values, other) if isinstance(item, list) else other
        for item in template
    ]


def _with_tensors(value: Any, tensors: Iterator[Tensor]) -> Any:
    """A structure with other tensors in the places of its own."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, list | tuple):
        return type(value)([_with_tensors(item, tensors) for item in value])
    return value


def _flat_gradients(results: Sequence[Any], template: Sequence[Any]) -> Iterator[Any]:
    """The gradients of the tensors alone, from those of all arguments.

    Raises
    ------
    RuntimeError
        Where backward returned another number, or anything but None for an argument that is no tensor.
    """
    if len(results) != len(template):
        raise RuntimeError(
            "Expected the return from backward to be of the same structure as the inputs. Got: "
            f"{len(results)} gradient(s) (return from backward), {len(template)} argument(s) (inputs)"
        )
    for result, item in zip(results, template):
        if item is True:
            yield result
        elif isinstance(item, list) and _count(item):
            yield from [None] * _count(item) if result is None else _flat_gradients(result, item)
        elif result is not None and not isinstance(result, list | tuple):
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs. Got: a gradient for an "
                "argument that is no tensor"
            )


def _count(template: list[Any]) -> int:
    return sum(_count(item) if isinstance(item, list) else item is True for item in template)
