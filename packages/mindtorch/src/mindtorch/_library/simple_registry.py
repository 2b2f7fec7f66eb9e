"""``torch._library.simple_registry``: the fake implementation of an operator, and where it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mt_library.registrations import find

__all__ = ["SimpleLibraryRegistry", "SimpleOperatorEntry", "singleton"]


class _Kernel(NamedTuple):
    func: Callable[..., Any]
    source: str


class _FakeImplHolder:
    """The fake implementation of an operator, or None."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname

    @property
    def kernel(self) -> _Kernel | None:
        operator = find(self.qualname)
        return None if operator is None or operator.fake is None else _Kernel(*operator.fake)


class SimpleOperatorEntry:
    """What is known of an operator."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.fake_impl = _FakeImplHolder(qualname)

    @property
    def abstract_impl(self) -> _FakeImplHolder:
        """The name `fake_impl` once had."""
        return self.fake_impl


class SimpleLibraryRegistry:
    """What is known of operators."""

    def find(self, qualname: str) -> SimpleOperatorEntry:
        """What is known of one."""
        return SimpleOperatorEntry(qualname)


singleton = SimpleLibraryRegistry()
