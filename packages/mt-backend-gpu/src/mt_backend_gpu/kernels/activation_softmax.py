"""Softmax: each row by its own maximum, over the whole array."""

from __future__ import annotations

from typing import Any

from ..shared import replace


def softmax_of_rows(rows: Any) -> Any:
    """Softmax along the second of two dimensions."""
    return _shared.softmax_along(rows, 1)


def log_softmax_of_rows(rows: Any) -> Any:
    """The logarithm of softmax along the second of two dimensions."""
    return _shared.log_softmax_along(rows, 1)


_shared: Any = replace(
    "kernels.activation_softmax", softmax_of_rows=softmax_of_rows, log_softmax_of_rows=log_softmax_of_rows
)
