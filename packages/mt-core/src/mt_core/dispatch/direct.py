"""A backend's functions that are the whole of an operator (`mt_core.plugins.executors.Executors.functions`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..declarations._inference_writes import INFERENCE_WRITES
from ..keys import INFERENCE, STRIDED
from .kernel import Kernel
from .registry import Overload

__all__ = ["before"]

Callee = Callable[..., Any]


def before(
    overload: Overload, otherwise: Callee, kernels: list[Kernel], backend: Any, keys: int, call_keys: int
) -> Callee:
    """The backend's function before an executor, where it has one and nobody put a kernel before its own.

    Parameters
    ----------
    keys
        Of the result.
    """
    executors = getattr(backend, "executors", None)
    if executors is None or kernels and not kernels[0].own or overload.name not in executors.functions:
        return otherwise
    if call_keys & INFERENCE and overload.name in INFERENCE_WRITES:
        return otherwise  # which gives results the versions that they have there
    function, dtype = executors.functions[overload.name]
    return executors.direct(otherwise, function, keys, keys | STRIDED, dtype)  # type: ignore[no-any-return]
