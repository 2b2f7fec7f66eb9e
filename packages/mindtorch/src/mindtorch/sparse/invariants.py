"""Whether new sparse tensors are checked."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from mt_core.sparse.construct import checks_invariants, set_checks_invariants

__all__ = ["check_sparse_tensor_invariants"]


class check_sparse_tensor_invariants:
    """Switch on, or off, for a block or a function, whether new sparse tensors are checked for indices out of range.

    The static `enable`, `disable` and `is_enabled` do the same for good, and for this thread.
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        return checks_invariants()

    @staticmethod
    def enable() -> None:
        set_checks_invariants(True)

    @staticmethod
    def disable() -> None:
        set_checks_invariants(False)

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for "
                "context nesting."
            )
        self.saved_state = checks_invariants()
        set_checks_invariants(self.state)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.saved_state is not None
        set_checks_invariants(self.saved_state)
        self.saved_state = None

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked
