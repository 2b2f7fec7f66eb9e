"""The layer of the key `COMPOUND`: the class of a compound carries its operators out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.dispatcher import register_layer
from mt_core.dispatch.lookup import composite_of
from mt_core.dispatch.registry import Overload, find_overload
from mt_core.dtypes import can_cast, scalar_type_name
from mt_core.keys import AUTOGRAD, COMPOUND
from mt_core.plugins.protocols import CONTRACT
from mt_core.tensor_types import tensors_in

from .parts import CompoundArray, CompoundTensor, elements, refuse_views

__all__ = ["Rules"]

Callee = Callable[..., Any]


class Rules:
    """What operators do to one class of compounds.

    Parameters
    ----------
    kind
        The name of the class.
    composites
        Operators that are taken apart.
    families
        Families of which all operators are taken apart that can be.
    refusal
        Makes the error for an operator without a rule.
    """

    #: Makes the callable for an operator that works element by element and has no rule of its own.
    elementwise: Callable[[Overload], Callee]

    def __init__(
        self, kind: str, composites: Sequence[str], families: Sequence[str],
        refusal: Callable[[str], Exception] | None = None,
    ) -> None:  # fmt: skip
        self._error = refusal or (lambda name: NotImplementedError(f"aten.{name}: not supported for {kind}"))
        self._composites, self._families = frozenset(composites), frozenset(families)
        self._rules: dict[str, Callee] = {}
        self._found: dict[str, Callee] = {}

    def rule(self, *names: str) -> Callable[[Callee], Callee]:
        """Enter what operators do; it takes the overload and all arguments of the schema."""

        def enter(function: Callee) -> Callee:
            for name in names:
                self._rules[name] = function
            return function

        return enter

    def named(self, name: str) -> Callee:
        """What is done to an operator that is no overload of the core's; it takes the arguments alone."""
        return functools.partial(self._rules[name], None)

    def handler(self, overload: Overload) -> Callee:
        """What carries an operator out; it takes all arguments of the schema."""
        found = self._found.get(overload.name)
        if found is None:
            found = self._found[overload.name] = self._find(overload) or self._refusal(overload)
        return found

    def _find(self, overload: Overload) -> Callee | None:
        function = self._rules.get(overload.name)
        if function is not None:
            return lambda *args: function(overload, *args)
        declaration = overload.declaration
        if declaration.form == "functional":
            composite = composite_of(overload)
            known = overload.name in self._composites or overload.family in self._families
            if composite is not None and not composite.explicit and known:
                return composite.function
            return self.elementwise(overload) if declaration.kind == "elementwise" else None
        functional = declaration.functional
        if declaration.form == "inplace" and functional is not None:
            computed = self._find(find_overload(functional))
            return None if computed is None else lambda *args: _in_place(overload, computed, args)
        return None

    def refused(self, name: str) -> Exception:
        """The error for an operator that is not supported."""
        name, _, form = name.partition(".")
        return self._error(f"{name}.{form or 'default'}")

    def _refusal(self, overload: Overload) -> Callee:
        def refuse(*args: Any) -> Any:
            raise self.refused(overload.name)

        return refuse


def _in_place(overload: Overload, computed: Callee, args: tuple[Any, ...]) -> Any:
    target, *others = args
    recorded = is_grad_enabled() and any(tensor.requires_grad for tensor in tensors_in(args))
    # What is saved for the gradient must not be what is written to.
    return _write(target, computed(target.clone() if recorded else target, *others), overload)


def _write(target: Any, made: Any, overload: Overload) -> Any:
    """Let a compound be what was computed of it, in its own memory and dtype.

    Raises
    ------
    RuntimeError
        For leaves that require grad, and where shape or dtype do not fit, in PyTorch's words.
    """
    if not isinstance(target, CompoundTensor):
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(made._array.data.shape)}"
            if target.numel() == 1 and isinstance(made, CompoundTensor) and made.is_nested
            else f"{overload.name}: what is computed of {type(made).__name__}s cannot be written to a tensor"
        )
    if is_grad_enabled() and target.requires_grad and target.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if not can_cast(made.dtype, target.dtype):
        words = [scalar_type_name(tensor.dtype) for tensor in (made, target)]
        raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*words))
    if made.dtype is not target.dtype:
        made = made.to(target.dtype)
    if is_grad_enabled() and (target.requires_grad or made.requires_grad):
        refuse_views(target._array)
    target._array.take(made._array)
    if made.requires_grad or target.requires_grad and is_grad_enabled():
        # Its history is that of what was computed, whose parts are now in its memory.
        target._autograd, target._keys = made._autograd, target._keys & ~AUTOGRAD | made._keys & AUTOGRAD
    return target


class CompoundLayer:
    """Hands each operator to the class of the first compound among its arguments."""

    contract = CONTRACT
    dispatch_key = "COMPOUND"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee:
        def run(*args: Any) -> Any:
            first = next((tensor for tensor in tensors_in(args) if isinstance(tensor._array, CompoundArray)), None)
            if first is None:
                return below()(*args)
            return first._array.rules.handler(overload)(*args)

        return run

    def fallback(self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Any) -> Callee:
        return self.build(overload, call_keys, below)


register_layer(COMPOUND, CompoundLayer())
__all__ += ["elements"]
