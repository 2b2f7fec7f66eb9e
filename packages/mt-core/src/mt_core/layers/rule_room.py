"""Rules of a layer by operator, in the modules of a package that are read when the first is asked for."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["RuleRoom"]

Callee = Callable[..., Any]


class RuleRoom:
    """What is done to operators, by name.

    Parameters
    ----------
    package
        The package of the modules that enter rules. They need operators, which need the layer: so they are read late.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self._rules: dict[str, Callee] = {}
        self._is_read = self._is_being_read = False
        self._reading = threading.RLock()

    def rule(self, *names: str) -> Callable[[Callee], Callee]:
        """Decorator: enter what some operators do; it takes all arguments of the schema."""

        def enter(function: Callee) -> Callee:
            for name in names:
                self._rules[name] = function
            return function

        return enter

    def find(self, name: str) -> Callee | None:
        """The rule of an operator; None where it has none."""
        if not self._is_read:
            with self._reading:  # waits for another thread that has read a part of them
                if not self._is_being_read:  # or else a rule asks for one while they are read
                    self._read()
        return self._rules.get(name)

    def _read(self) -> None:
        self._is_being_read = True
        try:
            rules = importlib.import_module(self._package)
            for module in pkgutil.iter_modules(rules.__path__):
                importlib.import_module(f"{rules.__name__}.{module.name}")
            self._is_read = True
        finally:
            self._is_being_read = False
