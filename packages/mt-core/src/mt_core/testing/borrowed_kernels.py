"""The CPU backend's kernels, lent to another backend whose elements NumPy can reach.

So backends that exist to test the core have every kernel, and what they test is the contract, not the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ..dispatch.kernel import Kernel
from ..dispatch.lookup import backend_for
from ..dispatch.registry import CONTRACT_KERNELS, KERNELS, Overload, find_overload, load_family, register_kernel
from ..keys import CPU
from .sample import hidden_writes, sample_functions

__all__ = ["borrow_kernels", "map_arrays"]

Callee = Callable[..., Any]


def borrow_kernels(
    key: int, family: str, reader: Callee, maker: Callee, writer: Callee | None = None, *, views: bool = False,
    names: Collection[str] | None = None,
) -> None:  # fmt: skip
    """Register the CPU's kernels of a family for the backend of `key`.

    What works on the contract alone (copies, random numbers drawn on the host) is left to the contract.

    Parameters
    ----------
    reader
        An array to NumPy's, for kernels to read; with no `writer` also to write.
    maker
        NumPy's array to a new one.
    writer
        ``(array, NumPy array)``: give an array the elements that a kernel wrote. Kernels then write into copies.
    views
        Whether arrays on one memory can be made of NumPy's views.
    names
        The operators whose kernels are lent; all of the family by default.
    """
    backend_for(CPU).load(family)
    load_family("mt_core.contract_kernels", family)
    for name, kernels in list(KERNELS[CPU].items()):
        overload = find_overload(name)
        if overload.family != family or name in CONTRACT_KERNELS or not views and _gives_views(overload):
            continue
        if names is not None and name not in names:
            continue
        for kernel in reversed(kernels):  # what is registered later stands in front
            if kernel.own:
                _lend(key, overload, kernel, reader, maker, writer)


def _gives_views(overload: Overload) -> bool:
    returns = overload.schema.returns
    is_alias = len(returns) == 1 and returns[0].alias is not None and not overload.schema.is_mutable
    return overload.declaration.kind == "view" or is_alias


def _lend(
    key: int, overload: Overload, kernel: Kernel, reader: Callee, maker: Callee, writer: Callee | None
) -> None:  # fmt: skip
    out = "fresh" if writer is not None and kernel.out == "fills" else kernel.out
    function = _translated(kernel, reader, maker)
    if writer is not None:
        function = _on_copies(overload, kernel, reader, maker, writer)
    register_kernel(
        key, (overload.name,), function, accepts=kernel.accepts, out=out, half=kernel.half, recorded=kernel.recorded
    )


def _translated(kernel: Kernel, reader: Callee, maker: Callee) -> Callee:
    def run(*args: Any, **out: Any) -> Any:
        opened = {name: reader(array) for name, array in out.items()}
        return map_arrays(maker, kernel.function(*map_arrays(reader, args), **opened))

    return run


def _on_copies(overload: Overload, kernel: Kernel, reader: Callee, maker: Callee, writer: Callee) -> Callee:
    """A kernel that finds copies where it writes; they are written back when it is done."""
    sample_functions(overload)  # says which writes the schema keeps silent about
    hidden = hidden_writes(overload.name)
    arguments = [a for a in overload.schema.arguments if a.name not in kernel.accepts.defaults]
    written = [i for i, a in enumerate(arguments) if a.writes or a.name in hidden]

    def run(*args: Any) -> Any:
        opened = list(map_arrays(reader, args))
        for i in written:
            opened[i] = map_arrays(np.array, opened[i])
        result = map_arrays(maker, kernel.function(*opened))
        for i in written:
            _write_back(writer, args[i], opened[i])
        return result

    return run


def _write_back(writer: Callee, array: Any, elements: Any) -> None:
    if isinstance(array, (list, tuple)):
        for one, new in zip(array, elements, strict=True):
            _write_back(writer, one, new)
    elif array is not None:
        writer(array, elements)


def map_arrays(change: Callee, value: Any) -> Any:
    """`change` of every array in a kernel's arguments or results; what is none stays."""
    if isinstance(value, (list, tuple)):
        return type(value)([map_arrays(change, item) for item in value])
    is_array = isinstance(value, (np.ndarray, np.generic)) or hasattr(type(value), "itemsize")
    return change(value) if is_array else value
