"""Which implementation of attention runs, and attention with functions for masks and scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """Implementations of `scaled_dot_product_attention`. There is one here: `MATH`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_allowed: tuple[SDPBackend, ...] = tuple(backend for backend in SDPBackend if backend >= 0)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The implementations allowed at present."""
    return list(_allowed)


@contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Within this context only the given implementations of attention are allowed.

    Parameters
    ----------
    backends
        One implementation or several; `SDPBackend.MATH` must be among them, as it is the only one here.
    set_priority
        Whether their order says which is preferred.

    Raises
    ------
    RuntimeError
        `SDPBackend.MATH` is not among them.
    """
    global _allowed
    chosen = (backends,) if isinstance(backends, SDPBackend) else tuple(dict.fromkeys(backends))
    if not all(isinstance(backend, SDPBackend) for backend in chosen):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    if SDPBackend.MATH not in chosen:
        names = ", ".join(backend.name for backend in chosen)
        raise RuntimeError(
            f"No available kernel for scaled_dot_product_attention among {names}; allow SDPBackend.MATH too"
        )
    previous, _allowed = _allowed, chosen
    try:
        yield
    finally:
        _allowed = previous
