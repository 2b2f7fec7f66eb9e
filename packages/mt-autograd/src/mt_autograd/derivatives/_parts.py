"""Derivatives of composites that are one node of the graph, as PyTorch's kernels are: those of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature
from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.cell import cell_of
from mt_core.dispatch.lookup import composite_of
from mt_core.dispatch.registry import find_overload
from mt_core.dtypes import bool as bool_
from mt_core.keys import SPARSE
from mt_core.state import tls
from mt_core.tensor_types import tensors_in

from ..api import grad
from ..modes import recording
from ..recording import DIFFERENTIABLE
from ..rules import joint_derivative


def written_times(times: int, formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula whose gradient has the version that PyTorch's has, which writes to it while it makes it."""

    @wraps(formula)
    def run(*args: Any) -> Any:
        return counted(formula(*args), times)

    return run


def counted(gradient: Any, times: int) -> Any:
    """A gradient that nobody has seen, with a version; where it is recorded itself, writes are not counted."""
    if not tls.transforms and not is_grad_enabled():
        cell_of(gradient).version = times
    return gradient


def derivative_of_parts(
    name: str, *arguments: str, node: str | None = None, differentiable_outputs: tuple[bool, ...] | None = None,
    follows: bool = False, writes: Callable[..., Sequence[int]] | None = None,
) -> None:  # fmt: skip
    """Declare that an operator's gradient is that of its composite, carried out again, recorded, when it is asked for.

    Gradients are row-major.

    Parameters
    ----------
    name
        The overload; its composite may draw no random numbers.
    arguments
        The tensor arguments that are differentiated, in the schema's order.
    node, differentiable_outputs
        See `mt_autograd.rules.derivative`.
    follows
        Whether second derivatives are zeros where the gradient does not change with its argument, see `following`.
    writes
        The versions of the gradients, from the arguments of the call; 0 without.
    """
    formula = parts_formula(name, *arguments, follows=follows, writes=writes)
    joint_derivative(
        name, arguments, formula, node=node, differentiable_outputs=differentiable_outputs, forward="parts"
    )


def parts_formula(
    name: str, *arguments: str, follows: bool = False, writes: Callable[..., Sequence[int]] | None = None
) -> Callable[..., tuple[Any, ...]]:
    """The joint formula of `derivative_of_parts`, of the gradients, a mask, and all arguments of the schema."""
    overload = find_overload(name)
    names = [argument.name for argument in overload.schema.arguments]
    positions = [names.index(argument) for argument in arguments]

    def formula(grads: Sequence[Any], mask: Sequence[bool], *args: Any) -> tuple[Any, ...]:
        given, again = list(args), is_grad_enabled()
        sources = [stand_in(args[i], again) if wanted else None for i, wanted in zip(positions, mask, strict=True)]
        for i, source in zip(positions, sources, strict=True):
            given[i] = args[i] if source is None else source
        with recording():
            result = composite_of(overload).function(*given)
        found = iter(_pulled_back(result, grads, [s for s in sources if s is not None], again))
        gradients = [None if source is None else next(found) for source in sources]
        made = [_laid_out(g, args[i] if again and follows else None) for g, i in zip(gradients, positions, strict=True)]
        if writes is None:
            return tuple(made)
        return tuple([None if g is None else counted(g, times) for g, times in zip(made, writes(*args), strict=True)])

    # A rule reads off the names of parameters what a formula wants.
    words = ["grads", "mask", *names]
    formula.__signature__ = Signature([Parameter(n, Parameter.POSITIONAL_ONLY) for n in words])  # type: ignore[attr-defined]
    return formula


def following(gradient: Any, source: Any) -> Any:
    """The gradient as a function of its source that does not change with it.

    PyTorch's backward kernels take both, so that second derivatives are zeros where they would not exist else.
    """
    never = ops.zeros((), dtype=bool_, device=gradient.device)
    return ops.where(never, source, gradient)


def _laid_out(gradient: Any, followed: Any) -> Any:
    """Row-major, and no view to those who get it."""
    if gradient is None:
        return None
    if not gradient._keys & SPARSE:
        gradient = gradient.contiguous()
    if followed is not None:
        return following(gradient, followed)
    if gradient._cell is not None and not is_grad_enabled():
        cell_of(gradient).version = 0  # how its parts were added up does not count as writing to it
    return gradient if gradient._base is None else ops._unsafe_view(gradient, tuple(gradient.shape))


def stand_in(source: Any, again: bool) -> Any:
    """A tensor whose gradient is wanted: a view of the source where the gradient itself is recorded, else a leaf.

    The view keeps apart what one source owes to another that it was made from.
    """
    return source.view_as(source) if again else source.detach()._set_requires_grad()


def _pulled_back(result: Any, grads: Sequence[Any], sources: list[Any], again: bool) -> Sequence[Any]:
    outputs = [(o, g) for o, g in zip(tensors_in((result,)), grads, strict=True) if g is not None]
    arrived = [(o, g) for o, g in outputs if o.requires_grad and o._dtype in DIFFERENTIABLE]
    if not arrived or not sources:
        return [None] * len(sources)
    roots, cotangents = zip(*arrived, strict=True)
    return tuple(grad(roots, sources, cotangents, create_graph=again, allow_unused=True))
