"""Exception types that are not Python's."""

from __future__ import annotations

import math

__all__ = ["LinAlgError", "NoData", "NoElements"]


class _LinAlgError(RuntimeError):
    """A matrix has no inverse or factorization of the kind asked for (``torch.linalg.LinAlgError``)."""


#: PyTorch's class calls itself by the other name, which tracebacks and pickles show.
LinAlgError = _LinAlgError


class NoElements(RuntimeError):
    """The elements of a tensor were asked for that has none: on the meta device there are shapes only."""


class NoData(NoElements, NotImplementedError):
    """The same, where PyTorch says that it is not implemented."""


class NoMemory(RuntimeError, MemoryError):
    """The host has no memory left for a tensor: PyTorch's class, and Python's.

    Parameters
    ----------
    nbytes
        How much was asked for.
    """

    def __init__(self, nbytes: int) -> None:
        super().__init__(
            f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes. Error code 12 (Cannot "
            "allocate memory)"
        )


def no_memory(error: MemoryError) -> MemoryError:
    """`NoMemory` for what an array library raises, where that says for which array; else the error itself."""
    shape, d = getattr(error, "shape", None), getattr(error, "dtype", None)
    return error if shape is None or d is None else NoMemory(math.prod(shape) * d.itemsize)


def no_kernel(text: str) -> NotImplementedError:
    """The error for an operator that nothing carries out on a device, which `lacks_kernel` knows from others."""
    error = NotImplementedError(text)
    error.no_kernel = True  # type: ignore[attr-defined]
    return error


def lacks_kernel(error: BaseException) -> bool:
    """Whether an error says that nothing carries an operator out on a device, whatever its arguments."""
    return getattr(error, "no_kernel", False)
