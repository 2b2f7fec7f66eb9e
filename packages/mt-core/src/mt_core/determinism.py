"""Deterministic algorithms: which operators have none, and what memory holds that nobody has written."""

from __future__ import annotations

import warnings
from typing import Any

from . import dtypes

__all__ = ["DETERMINISM", "alert_not_deterministic", "filler_of"]


class _Determinism:
    """What ``torch.use_deterministic_algorithms`` and ``torch.utils.deterministic`` have set."""

    __slots__ = ("enabled", "warn_only", "fills_memory")

    def __init__(self) -> None:
        self.enabled = False
        self.warn_only = False
        self.fills_memory = True

    @property
    def fills(self) -> bool:
        """Whether memory is filled that has no values yet."""
        return self.enabled and self.fills_memory


DETERMINISM = _Determinism()


def alert_not_deterministic(caller: str) -> None:
    """Refuse, or warn of, what has no deterministic algorithm in PyTorch, where deterministic ones are asked for.

    Raises
    ------
    RuntimeError
        Unless warnings are enough.
    """
    if not DETERMINISM.enabled:
        return
    call = "torch.use_deterministic_algorithms(True"
    begin = f"{caller} does not have a deterministic implementation, but you set '{call}"
    end = "file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for this operation."  # noqa: E501
    if DETERMINISM.warn_only:
        warnings.warn(f"{begin}, warn_only=True)'. You can {end}", stacklevel=3)
        return
    raise RuntimeError(
        f"{begin})'. You can turn off determinism just for this operation, or you can use the 'warn_only=True' option, "
        f"if that's acceptable for your application. You can also {end}"
    )


def filler_of(d: Any) -> Any:
    """What fills memory of a dtype: NaN, or the largest number."""
    if d.is_floating_point or d.is_complex:
        return float("nan")
    return True if d is dtypes.bool else int(dtypes.iinfo(d).max)
