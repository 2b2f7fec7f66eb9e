"""What elementwise arithmetic refuses."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["refuse_division_by_zero"]


def refuse_division_by_zero() -> NoReturn:
    """Integers divided by zero, also where other elements could be divided."""
    raise RuntimeError("ZeroDivisionError")
