"""A progress bar in plain text, for where the package `tqdm` is not installed."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

__all__ = ["tqdm"]


class tqdm:
    """Writes what has been done to standard error, as a share of `total` or as a number of bytes.

    Parameters
    ----------
    total
        How much there is to do; None where that is not known.
    disable
        Write nothing.
    unit, args, kwargs
        What else the package's class takes, which changes only how its bar looks.
    """

    def __init__(
        self, total: float | None = None, disable: bool = False, unit: str | None = None, *args: Any, **kwargs: Any
    ) -> None:
        self.total, self.disable, self.n = total, disable, 0.0

    def update(self, n: float) -> None:
        """So much more has been done."""
        self.n += n
        if not self.disable:
            said = f"{self.n:.1f} bytes" if self.total is None else f"{100 * self.n / self.total:.1f}%"
            sys.stderr.write("\r" + said)
            sys.stderr.flush()

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """A description belongs to the package's bar; here there is none."""

    def close(self) -> None:
        """End the line."""
        if not self.disable:
            self.disable = True
            sys.stderr.write("\n")

    def __enter__(self) -> tqdm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
