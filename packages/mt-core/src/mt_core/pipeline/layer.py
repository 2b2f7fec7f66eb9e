"""The dispatch layer of `PIPELINE`: describes calls and puts them off, or has them carried out where they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.dispatcher import layer_for, parts_of
from ..dispatch.registry import INTERCEPTORS, READS_ELEMENTS, WARNS, Overload, overrides_built_in
from ..keys import (
    AUTOCAST,
    COMPOUND,
    CONJUGATE,
    FORWARD_GRAD,
    FUNCTION_TRANSFORM,
    FUNCTIONALIZE,
    INSTRUMENTED,
    NEGATIVE,
    OF_TRANSFORM,
    PIPELINE,
    PYTHON,
    TRACING,
    TRANSFORMED,
)
from ..plugins.protocols import CONTRACT, FALLTHROUGH
from ..state import effective_keys, mode_triple, tls
from ..tensor_types import tensors_in
from .calls import Facts
from .waiting import is_waiting

__all__ = ["PipelineLayer", "layer"]

Callee = Callable[..., Any]

#: Who sees or changes single calls, and must see them where they stand.
_WATCHED = (
    PYTHON | INSTRUMENTED | TRACING | FORWARD_GRAD | OF_TRANSFORM | TRANSFORMED | FUNCTIONALIZE
    | FUNCTION_TRANSFORM | COMPOUND
)  # fmt: skip


class PipelineLayer:
    """The layer: it never asks what is below, as every call starts anew, now or when it is carried out."""

    contract = CONTRACT
    dispatch_key = "PIPELINE"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee:
        """What happens to the calls of an operator; every operator is taken as a whole."""
        if not mode_triple(call_keys)[0] & PIPELINE:
            return _after_others(overload)
        keys = effective_keys(call_keys)
        if keys & _WATCHED or not _can_wait(overload):
            return _immediate(overload)
        if keys & AUTOCAST:
            return _with_casts(overload, call_keys & ~PIPELINE)
        return _put_off(overload)

    def fallback(self, overload: Overload, call_keys: int, below: Any, composite: Any) -> Callee:
        return self.build(overload, call_keys, below)


layer = PipelineLayer()


def _can_wait(overload: Overload) -> bool:
    """Whether an operator of the core's returns tensors, or nothing but what it writes, and nobody intercepts it."""
    returns = overload.schema.returns
    if "::" in overload.name or overload.name in WARNS or _is_intercepted():
        return False
    if not returns:
        return any(argument.writes for argument in overload.schema.arguments)
    return all(result.type == "Tensor" for result in returns)


def _is_intercepted() -> bool:
    """Whether a library intercepts any of the core's operators; those of lazy bits are the core's own."""
    return any(overrides_built_in(key) for key in tuple(INTERCEPTORS) if key not in (CONJUGATE, NEGATIVE))


def _after_others(overload: Overload) -> Callee:
    """Outside of a pipeline: what waits in another thread's is waited for."""

    def run(*args: Any) -> Any:
        for tensor in tensors_in(args):
            if is_waiting(tensor):
                tensor._array.settle()
        return overload.call(*args)

    return run


def _immediate(overload: Overload) -> Callee:
    def run(*args: Any) -> Any:
        for tensor in tensors_in(args):
            if is_waiting(tensor):
                tensor._array.settle()
        return tls.pipeline.carry_out(overload, args)

    return run


def _put_off(overload: Overload) -> Callee:
    facts = Facts(overload)
    reads_elements = READS_ELEMENTS.get(overload.name)

    def run(*args: Any) -> Any:
        if reads_elements is not None and reads_elements(*args):
            return tls.pipeline.carry_out(overload, args)
        return tls.pipeline.add(overload, args, facts)

    return run


def _with_casts(overload: Overload, call_keys: int) -> Callee:
    """What autocast does to the call, which is done at once: what it calls in turn comes by here again."""
    if overload.family in ("creation", "random"):
        return _put_off(overload)  # nothing is cast, and what is not yet seen is written to without dispatch
    autocast = layer_for(AUTOCAST)

    def below() -> Callee:
        return _put_off(overload)

    handled = autocast.build(overload, call_keys, below)
    if handled is None:
        composite = parts_of(overload, call_keys)
        handled = composite or autocast.fallback(overload, call_keys, below, composite)
    return _put_off(overload) if handled is FALLTHROUGH else handled
