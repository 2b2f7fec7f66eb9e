"""Who handles an operator: the ``__torch_dispatch__`` of a class or mode, or a rule registered for the two."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["handler_of", "register_rule", "withdraw_rule"]

#: (qualified name, class) -> the rule.
_rules: dict[tuple[str, type], Callable[..., Any]] = {}


def register_rule(name: str, cls: type, rule: Callable[..., Any]) -> None:
    """Have an operator, met by a class of tensors or modes, handled by a rule instead of its handler.

    Raises
    ------
    RuntimeError
        Where there is one already.
    """
    if (name, cls) in _rules:
        raise RuntimeError(f"{cls} already has a `__torch_dispatch__` rule registered for {name}")
    _rules[name, cls] = rule


def withdraw_rule(name: str, cls: type) -> None:
    """Forget a rule."""
    del _rules[name, cls]


def handler_of(operator: Any, handler: Any) -> Callable[..., Any]:
    """What is called for an operator: of a tensor, the method of its class; of a mode, its own."""
    cls = handler.__class__
    rule = _rules.get((operator.name(), cls)) if _rules else None
    if rule is None:
        return handler.__torch_dispatch__  # type: ignore[no-any-return]
    return functools.partial(rule, cls if hasattr(handler, "_keys") else handler)
