"""Warnings that PyTorch gives once in a process."""

from __future__ import annotations

import warnings

__all__ = ["Once", "warn_once"]


class Once:
    """The texts that were given, and whether they are to be repeated (`torch.set_warn_always`)."""

    given: set[str] = set()
    always = False


def warn_once(text: str, stacklevel: int = 3) -> None:
    """Warn, unless the same text was given before; `stacklevel` counts from the caller, as in `warnings.warn`."""
    if text not in Once.given or Once.always:
        Once.given.add(text)
        warnings.warn(text, stacklevel=stacklevel + 1)
