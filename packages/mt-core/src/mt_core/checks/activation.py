"""Errors of activations that only the call's numbers tell."""

from __future__ import annotations

from typing import Any

__all__ = ["refuse_falling", "refuse_leaky"]


def refuse_falling(name: str, is_result: bool, negative: Any, more: str = "") -> None:
    """Refuse the gradient of an in-place activation that was not monotonic: the result does not tell the argument.

    Raises
    ------
    RuntimeError
        If `is_result`, and the slope or height at negative arguments, `negative`, is below 0.
    """
    if is_result and negative < 0:
        raise RuntimeError(
            f"In-place {name} backward calculation is triggered with a negative slope which is not supported. This is "
            f"caused by calling in-place forward function with a negative slope, please call out-of-place version "
            f"instead.{more}"
        )


def refuse_leaky(is_result: bool, negative_slope: Any) -> None:
    """The same for `leaky_relu`."""
    more = (
        " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward "
        "calculation with negative slope"
    )
    refuse_falling("leakyReLu", is_result, negative_slope, more)
