"""The layer of the key ``PYTHON``: operators are handed to ``__torch_dispatch__`` of modes and of tensor classes.

It stands below autograd, which records on the tensors that handlers see, and above every backend. A handler runs with
the keys above it left out: what it calls is not recorded once more. Its own key stays, so that what it does to tensors
with handlers comes by again; a mode is off while its handler runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.cell import cell_of
from mt_core.devices import device
from mt_core.dispatch.executors import with_named_results
from mt_core.dispatch.registry import Overload
from mt_core.dispatch.view_steps import note
from mt_core.dispatch.views import link_view
from mt_core.factories import pin_position
from mt_core.hollow import is_hollow
from mt_core.keys import (
    ADINPLACE_OR_VIEW,
    AUTOCAST,
    AUTOGRAD,
    FORWARD_GRAD,
    FUNCTION_TRANSFORM,
    FUNCTIONALIZE,
    OF_TRANSFORM,
    PYTHON,
    TRANSFORMED,
)
from mt_core.plugins.protocols import CONTRACT
from mt_core.python_dispatch import call, handing_over, handlers_among, refresh_modes
from mt_core.state import tls
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in

from . import geometry, registrations
from .defaults import defaults_left_out
from .dispatch_keys import COMPOSITE
from .handlers import handler_of
from .ops import OpOverload, form_for_numbers, operator_of
from .results import checked

__all__ = ["PythonLayer", "layer"]

Callee = Callable[..., Any]

#: What stands above handlers, and is left out while they run.
_ABOVE = (
    ADINPLACE_OR_VIEW
    | AUTOCAST
    | AUTOGRAD
    | OF_TRANSFORM
    | FORWARD_GRAD
    | FUNCTION_TRANSFORM
    | FUNCTIONALIZE
    | TRANSFORMED
)


class PythonLayer:
    """Hands operators to modes and to tensor classes, whoever is first to take them."""

    contract = CONTRACT
    dispatch_key = "PYTHON"

    def ask(self, operator: str, tensor: Tensor, *args: Any) -> Any:
        """What the class of a tensor says to an operator that tells of its sizes or device (`geometry`)."""
        asked = operator_of(geometry.overload_named(operator))
        with handing_over(_ABOVE):
            return _asked(asked, handlers_among((tensor,)), (tensor, *args), {})

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee:
        written_in_others = _written_in_others(overload)
        if written_in_others is not None:
            return written_in_others
        hand_over = _handing_over(overload, below)
        if overload.schema.is_mutable:
            return _counting_writes(overload, hand_over)
        if any(result.alias is not None for result in overload.schema.returns) and overload.name != "detach":
            return _linking_views(overload, hand_over)
        return hand_over

    def fallback(
        self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Callee | None
    ) -> Callee:
        return self.build(overload, call_keys, below)


def _written_in_others(overload: Overload) -> Callee | None:
    """The kernel of a library's operator that is written in others: they come by, and not the operator."""
    operator = registrations.find(overload.qualified_name) if "::" in overload.name else None
    if operator is None or operator.kernel(COMPOSITE) is None:
        return None
    return operator.composite_kernel()


def _handing_over(overload: Overload, below: Callable[[], Callee]) -> Callee:
    """Ask the innermost mode, then the classes of tensors, subclasses before their bases; else go on below."""
    if overload.qualified_name.partition(".")[0] in geometry.NAMES:
        return _asking_first(overload, below)
    ask = with_named_results(overload, _as_functions_give(overload, checked(_asked, overload.schema)))
    operator = operator_of(overload)
    split = defaults_left_out(overload.schema)
    of_numbers = form_for_numbers(overload)
    lists = [i for i, argument in enumerate(overload.schema.arguments) if argument.is_list]
    pin_at = pin_position(overload.schema) if overload.declaration.kind == "factory" else -1

    def run(*args: Any) -> Any:
        handlers = handlers_among(args)
        if not handlers and not tls.dispatch_modes:
            return below()(*args)
        given = list(args)
        if pin_at >= 0:
            is_written, call.is_written = call.is_written, False
            if given[pin_at] is None and not is_written:
                _say_where(overload, given, pin_at)
        if of_numbers is not None and isinstance(args[1], (int, float, complex)):
            with handing_over(_ABOVE):
                return ask(of_numbers, handlers, tuple(given), {})
        for i in lists:
            if given[i] is not None and given[i].__class__ is not list and not isinstance(given[i], (int, float)):
                given[i] = list(given[i])
        positional, named = split(tuple(given))
        with handing_over(_ABOVE):
            return ask(operator, handlers, positional, named)

    return run


def _asking_first(overload: Overload, below: Callable[[], Callee]) -> Callee:
    """Of an operator that tells of sizes: what a handler says, or, where that is None, what a tensor was made with."""
    operator = operator_of(overload)

    def run(*args: Any) -> Any:
        with handing_over(_ABOVE):
            found = _asked(operator, handlers_among(args), args, {})
        return below()(*args) if found is None else found

    return run


def _as_functions_give(overload: Overload, ask: Callee) -> Callee:
    """A list of tensors as a tuple, where the operator is not a library's: so functions and methods hand it over."""
    returns = overload.schema.returns
    if "::" in overload.name or len(returns) != 1 or not returns[0].is_list:
        return ask
    return lambda *args: tuple(ask(*args))


def _say_where(overload: Overload, given: list[Any], pin_at: int) -> None:
    """Fill in what PyTorch's functions say of a new tensor: that it is not pinned, and where it is to be."""
    given[pin_at] = False
    if not overload.tensor_positions:
        at = next(i for i, argument in enumerate(overload.schema.arguments) if argument.name == "device")
        given[at] = given[at] or tls.default_device or device("cpu")


def _asked(operator: OpOverload, handlers: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The first answer that is not NotImplemented.

    Raises
    ------
    TypeError
        Where there is none.
    """
    classes = tuple([handler.__class__ for handler in handlers])
    mode = tls.dispatch_modes[-1] if tls.dispatch_modes else None
    if mode is not None:
        result = _ask_mode(mode, operator, classes, args, kwargs)
        if result is not NotImplemented:
            return result
    for tensor in handlers:
        result = handler_of(operator, tensor)(operator, classes, args, kwargs)
        if result is not NotImplemented:
            return result
    raise _unanswered(operator, classes, mode)


def _ask_mode(mode: Any, operator: OpOverload, classes: tuple[type, ...], args: Any, kwargs: Any) -> Any:
    handler = handler_of(operator, mode)
    if isinstance(getattr(handler, "__self__", None), type):
        raise RuntimeError(
            "Defining your mode's `__torch_dispatch__` as a classmethod is not supported, please make it a plain method"
        )
    tls.dispatch_modes.pop()
    refresh_modes()
    try:
        return handler(operator, classes, args, kwargs)
    finally:
        tls.dispatch_modes.append(mode)
        refresh_modes()


def _unanswered(operator: OpOverload, classes: tuple[type, ...], mode: Any) -> TypeError:
    asked_of = ([f"mode object {mode!r}"] if mode is not None else []) + [f"tensor subclass {t!r}" for t in classes]
    listed = "".join(f"  - {who}\n" for who in asked_of)
    return TypeError(
        f"Multiple dispatch failed for '{operator._shown}'; "
        f"all __torch_dispatch__ handlers returned NotImplemented:\n\n{listed}\nFor more information, try re-running "
        "with TORCH_LOGS=not_implemented"
    )


# What PyTorch does between autograd and handlers


def _counting_writes(overload: Overload, hand_over: Callee) -> Callee:
    """What an operator writes to has another version afterwards, whether or not the handler wrote to its memory."""
    written = [i for i, argument in enumerate(overload.schema.arguments) if argument.writes]

    def run(*args: Any) -> Any:
        targets = [cell_of(tensor) for i in written for tensor in tensors_in(args[i])]
        before = [cell.version for cell in targets]
        result = hand_over(*args)
        for cell, version in zip(targets, before, strict=True):
            if cell.version == version:
                cell.version += 1
        return result

    return run


def _linking_views(overload: Overload, hand_over: Callee) -> Callee:
    """What a handler gives for a view of a tensor is a view of it, but for what can have no memory in common."""
    viewed = next(i for i, argument in enumerate(overload.schema.arguments) if argument.alias is not None)
    is_one = len(overload.schema.returns) == 1 and not overload.schema.returns[0].is_list

    def run(*args: Any) -> Any:
        result = hand_over(*args)
        base = args[viewed]
        if isinstance(base, Tensor):
            for tensor in tensors_in(result):
                if tensor is not base and tensor._base is None and is_hollow(tensor) == is_hollow(base):
                    link_view(tensor, base)
                    if is_one and viewed == 0 and base._keys & PYTHON:  # its strides are no window of any memory
                        note(tensor, base, overload, args[1:])
        return result

    return run


layer = PythonLayer()
