"""Forward mode of custom functions: ``Function.jvp`` computes the tangents of what ``forward`` returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mt_core.api import _functions as ops
from mt_core.tensor import Tensor

from .recording import DIFFERENTIABLE
from .saved import version_of
from .tangents import below, give, laid_out_as, refuse_other_shape, tangent_of

__all__ = ["FunctionRun", "give_tangents"]


class FunctionRun(NamedTuple):
    """One call of a custom function.

    Attributes
    ----------
    ctx
        Its context.
    args, results : sequence
        What it was called with, and what it returned.
    is_written, is_smooth : sequence of bool
        Which results are inputs that were written to, and which are differentiable.
    """

    ctx: Any
    args: Sequence[Any]
    results: Sequence[Any]
    is_written: Sequence[bool]
    is_smooth: Sequence[bool]


def give_tangents(cls: Any, run: FunctionRun, level: int) -> None:
    """Call ``jvp`` on the tangents of the arguments at a level, and give the results what it returns.

    It must return a tensor for each differentiable result: of a view a view of the input's tangent, and of an input
    that was written to in place its tangent, written to in place, if it had one.

    Raises
    ------
    RuntimeError
        In PyTorch's words, where it does not.
    """
    tangents = [_tangent_of_argument(arg, level, run.ctx.materialize_grads) for arg in run.args]
    former = [(arg, t, version_of(t)) for arg in run.args if (t := tangent_of(arg, level)) is not None]
    with below(level):
        returned = cls.jvp(run.ctx, *tangents)
    found = returned if isinstance(returned, tuple) else (returned,)
    if len(found) != len(run.results):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(run.results)} but got "
            f"{len(found)})"
        )
    for nr, tangent in enumerate(found):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {nr}.")
        if run.is_smooth[nr] and run.is_written[nr]:
            _refuse_other_tangent(tangent, [(t, count) for arg, t, count in former if arg is run.results[nr]])
        _give_result(run, nr, tangent, [t for t in tangents if t is not None], level)


def _refuse_other_tangent(tangent: Any, former: list[tuple[Tensor, int]]) -> None:
    """Refuse what is not the tangent, written to, that an input had which ``forward`` has written to."""
    for given, version in former:
        if tangent is None or version_of(tangent) == version:
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
            )
        if tangent is not given:
            raise RuntimeError(
                "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
                "modifying an input inplace, then the jvp function must modify the gradient inplace and return it "
                "as-is."
            )


def _tangent_of_argument(arg: Any, level: int, materialize: bool) -> Any:
    tangent = tangent_of(arg, level)
    if tangent is None and materialize and isinstance(arg, Tensor) and arg._dtype in DIFFERENTIABLE:
        with below(level):
            return ops.zeros_like(arg)
    return tangent


def _give_result(run: FunctionRun, nr: int, tangent: Any, given: list[Any], level: int) -> None:
    result = run.results[nr]
    if not run.is_smooth[nr]:
        if tangent is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {nr}, but  the corresponding forward output is not a "
                "differentiable Tensor.You should return None at that position instead."
            )
        return
    if run.is_written[nr] and tangent is not None:
        give(result, tangent, level)
        return
    if tangent is None:
        raise RuntimeError(f"Function's jvp returned None at position {nr}, where the forward output is differentiable")
    refuse_other_shape(result, tangent)
    if result._base is not None:
        _refuse_no_view(tangent, given)
        give(result, tangent, level)
        return
    with below(level):
        give(result, tangent.clone() if any(tangent is t for t in given) else laid_out_as(tangent, result), level)


def _refuse_no_view(tangent: Tensor, given: list[Any]) -> None:
    """Refuse the tangent of a view that is no view of the argument's, or of what that is part of."""
    if tangent._base is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if not any(tangent._base is t or t._base is not None and tangent._base is t._base for t in given):
        of_what = (
            "the given grad input" if any(t._base is None for t in given) else "the same base as the given grad input"
        )
        raise RuntimeError(f"A custom Function is returning a view but the jvp is not returning a view of {of_what}.")
