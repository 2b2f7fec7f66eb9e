"""``torch.backends.mkl``: mindtorch does not call MKL itself. NumPy may, as ``mindtorch doctor`` tells."""

from __future__ import annotations

from typing import Literal

from .._unsupported import refusal

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "is_available", "verbose"]

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether mindtorch's kernels use it."""
    return False


class verbose:
    """While it is entered, MKL tells of its calls. There are none here: only `VERBOSE_OFF` can be entered.

    Raises
    ------
    NotImplementedError
        When it is entered to tell of calls.
    """

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose | None:
        if self.enable == VERBOSE_OFF:
            return None
        raise refusal("torch.backends.mkl.verbose", "Kernels do not call MKL: use torch.profiler.")

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> Literal[False]:
        return False
