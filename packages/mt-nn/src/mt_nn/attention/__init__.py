"""Which implementation of attention runs, and attention with functions for masks and scores."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from mt_core import attention_switches

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """Implementations of `scaled_dot_product_attention`. There is one here, by the formula."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The implementations allowed at present; with `with_priority`, the preferred one first."""
    numbers = attention_switches.allowed()
    if with_priority:
        numbers = [number for number in attention_switches.order() if number in numbers]
    return [SDPBackend(number) for number in numbers]


@contextmanager
def sdpa_kernel(backends: SDPBackend | list[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Within this context only the given implementations of attention are allowed.

    The same switches are thrown by ``torch.backends.cuda.enable_math_sdp`` and its kin. Attention itself is computed by
    its formula, and raises where neither `SDPBackend.MATH` nor an implementation that could take its place is allowed.

    Parameters
    ----------
    backends
        One implementation or several.
    set_priority
        Whether their order says which is preferred.

    Raises
    ------
    AssertionError
        For something else than implementations.
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(chosen, list) or not all(isinstance(backend, SDPBackend) for backend in chosen):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    previous, previous_order = attention_switches.allowed(), attention_switches.order()
    _allow([backend.value for backend in chosen])
    if set_priority:
        attention_switches.set_order([backend.value for backend in dict.fromkeys(chosen)])
    try:
        yield
    finally:
        _allow(previous)
        attention_switches.set_order(previous_order)


def _allow(numbers: list[int]) -> None:
    for name, number in attention_switches.IMPLEMENTATIONS.items():
        attention_switches.enable(name, number in numbers)
