"""Warnings that PyTorch gives once in a process."""

from __future__ import annotations

import warnings

__all__ = ["Once", "warn_once"]


class Once:
    """The texts that were given, and whether they are to be repeated (`torch.set_warn_always`)."""

    given: set[str] = set()
    always = False


def warn_once(text: str, stacklevel: int = 3, subject: str = "") -> None:
    """Warn, unless the same text, or another on the same subject, was given before.

    `stacklevel` counts from the caller, as in `warnings.warn`.
    """
    if (subject or text) not in Once.given or Once.always:
        Once.given.add(subject or text)
        warnings.warn(text, stacklevel=stacklevel + 1)
