"""Fake implementations: what an operator returns for meta tensors, without computing it."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from mt_core.symbolic import is_symbolic

__all__ = ["FakeImplCtx", "as_kernel", "fake_implementation", "get_ctx", "marked", "refusing_sizes"]

_active = threading.local()


class FakeImplCtx:
    """What a fake implementation may ask for."""

    def __init__(self, operator: str) -> None:
        self._operator = operator

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that depends on the data: a symbol, under a mode of fake tensors with a ``ShapeEnv``.

        Raises
        ------
        RuntimeError
            Without one. Under a mode of fake tensors, of the class that says so.
        ValueError
            For limits that are symbols, negative or the wrong way round.
        """
        new_size = getattr(_active, "new_size", None)
        if new_size is not None:
            _check_limits(min, max)
            return new_size(min=min, max=max)
        refusal = getattr(_active, "refusal", None)
        if refusal is not None:
            raise refusal
        raise RuntimeError(
            f"{self._operator}: You're trying to run this operator with meta Tensors (as opposed to FakeTensors), "
            "but this operator may return an output Tensor with data-dependent shape. Meta Tensors don't support "
            "operators with outputs that have data-dependent shapes but FakeTensors do. If your operator does not "
            "return an output with data-dependent shape, make sure the FakeTensor and/or meta kernel does not call "
            "torch.library.get_ctx(). Otherwise, please use FakeTensors."
        )

    create_unbacked_symint = new_dynamic_size


def _check_limits(least: Any, most: Any) -> None:
    if is_symbolic(least) or is_symbolic(most):
        raise ValueError(
            f"ctx.new_dynamic_size(min={least}, max={most}): expected min and max to be statically known ints but got "
            "SymInt. This is not supported."
        )
    if least < 0:
        raise ValueError(
            f"ctx.new_dynamic_size(min={least}, ...): expected min to be greater than or equal to 0: this API can only "
            "create non-negative sizes."
        )
    if most is not None and most < least:
        raise ValueError(
            "Maximum value to constrain_as_size can't be less than the specified min value, received "
            f"min={least} and max={most}"
        )


def get_ctx() -> FakeImplCtx | None:
    """The context of the fake implementation that is running; None outside of one."""
    return getattr(_active, "context", None)


@contextlib.contextmanager
def _running(operator: str) -> Iterator[None]:
    outer = get_ctx()
    _active.context = FakeImplCtx(operator)
    try:
        yield
    finally:
        _active.context = outer


def as_kernel(operator: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for the key Meta that runs a fake implementation."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with _running(operator):
            return function(*args, **kwargs)

    return marked(run)


def marked(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for the key Meta, marked as one that runs a fake implementation."""
    kernel.runs_fake_implementation = True  # type: ignore[attr-defined]
    return kernel


def fake_implementation(operator: Any) -> Callable[..., Any] | None:
    """What runs the fake implementation of an operator on tensors of any device; None where none is registered."""
    kernel = operator.kernel("Meta")
    return kernel if getattr(kernel, "runs_fake_implementation", False) else None


@contextlib.contextmanager
def refusing_sizes(error: Exception, new_size: Any = None) -> Iterator[None]:
    """Inside of it, fake implementations are told of an error where they ask for a size that depends on the data.

    Parameters
    ----------
    new_size
        What makes such a size instead.
    """
    outer = getattr(_active, "refusal", None), getattr(_active, "new_size", None)
    _active.refusal, _active.new_size = error, new_size
    try:
        yield
    finally:
        _active.refusal, _active.new_size = outer
