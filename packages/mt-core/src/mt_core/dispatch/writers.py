"""What a backend's own executors do of calls that write (`mt_core.plugins.executors.Executors.writer`).

They stand before the executors of `elementwise_paths` and `executors`, and take tensors of one dtype and shape that lie
row by row, each on memory of its own. An entry tells what is called for outputs of a dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from .. import dtypes
from ..determinism import DETERMINISM
from ..keys import STRIDED
from ..state import tls
from .elementwise import native_dtypes
from .kernel import Kernel, runner_for
from .registry import Overload

__all__ = ["before", "before_kernels", "filling", "making", "onto_memory", "still_before"]

Callee = Callable[..., Any]

#: How the function of an entry is called: with the operands and ``out=``, parameters being at their defaults; with all
#: arguments, which are tensors and real numbers; with all arguments.
_FILLS, _FIRST, _ANY = range(3)

#: So many arguments a writer takes beside the output.
_MOST_ARGUMENTS = 12


def filling(d: Any, result: Any, function: Callee, weak: Collection[type] = ()) -> tuple[Any, ...]:
    """An entry of a kernel that takes ``out=``, for operands of a dtype; `weak`: numbers that may be the last."""
    return d, result, function, None, _FILLS, int in weak, float in weak


def before(
    otherwise: Callee, backend: Any, runner: Any, operands: int, defaults: tuple[Any, ...], entries: list[Any],
    *, into_last: bool = False,
) -> Callee:  # fmt: skip
    """The backend's writer before an executor, where it has one.

    Parameters
    ----------
    operands
        How many tensors, or numbers, come first.
    defaults
        Of the parameters after them.
    into_last
        Whether the output comes last; else it is the first operand.
    """
    executors = getattr(backend, "executors", None)
    if executors is None or not entries or runner is not tls or operands + len(defaults) > _MOST_ARGUMENTS:
        return otherwise
    return executors.writer(otherwise, operands, defaults, into_last, entries)  # type: ignore[no-any-return]


def before_kernels(
    overload: Overload, kernels: list[Kernel], otherwise: Callee | None, run: Callee, backend: Any, call_keys: int
) -> Callee:
    """The same before kernels that write into the first of several arrays alike, in the order in which they are asked.

    Parameters
    ----------
    otherwise
        What `run` hands on to what no kernel accepts.
    """
    arguments = overload.schema.arguments
    if call_keys & STRIDED or overload.list_positions or [i for i, a in enumerate(arguments) if a.writes] != [0]:
        return run
    entries: list[Any] = []
    for kernel in kernels:
        accepts = kernel.accepts
        conditions = accepts.ranks or accepts.defaults or isinstance(accepts.dtypes, dict)
        if not accepts.alike or accepts.dtypes is None or conditions or runner_for(kernel, backend) is not tls:
            break
        for d in accepts.dtypes:
            if kernel.half == "native" or d in native_dtypes(backend):
                entries.append((None, d, kernel.function, accepts.also, _FIRST, False, False))
    else:
        # What comes behind kernels that are all asked here may be asked here as well.
        entries += getattr(otherwise, "entries", ())
    defaults = tuple(a.default for a in arguments[1:] if not a.is_tensor)
    return before(run, backend, tls, len(arguments) - len(defaults), defaults, entries)


def onto_memory(overload: Overload, otherwise: Callee, backend: Any, call_keys: int) -> Callee:
    """The same before what writes without a kernel: it copies elements, or fills memory with a number."""
    executors = getattr(backend, "executors", None)
    function = None if executors is None or call_keys & STRIDED else executors.writes.get(overload.name)
    if function is None:
        return otherwise
    entry = (None, None, function, None, _ANY, False, False)
    return before(otherwise, backend, tls, len(overload.schema.arguments), (), [entry])


def making(overload: Overload, otherwise: Callee, backend: Any, keys: int, call_keys: int) -> Callee:
    """The backend's factory before what makes a tensor; `keys` are those of the result."""
    executors = getattr(backend, "executors", None)
    if executors is None or call_keys & STRIDED or overload.name not in _FACTORIES:
        return otherwise
    places, number, is_filled = _FACTORIES[overload.name]
    stored = {d: d.numpy_dtype for d in (*native_dtypes(backend), dtypes.float16, dtypes.bfloat16)}
    determinism = None if is_filled else DETERMINISM
    return executors.factory(  # type: ignore[no-any-return]
        otherwise, keys, places, number, stored, dtypes.get_default_dtype, determinism, dtypes.int64
    )


#: Overload -> (what stands at each place: s the size, t a tensor whose size and dtype it is, n one that gives a dtype,
#: v the number, d the dtype, o an option that is None; the number of all elements; whether they have a value).
_FACTORIES: dict[str, tuple[str, int | None, bool]] = {
    "empty.memory_format": ("sdoooo", None, False), "zeros": ("sdooo", 0, True), "ones": ("sdooo", 1, True),
    "full": ("svdooo", None, True), "empty_like": ("tdoooo", None, False), "zeros_like": ("tdoooo", 0, True),
    "ones_like": ("tdoooo", 1, True), "full_like": ("tvdoooo", None, True), "new_empty": ("nsdooo", None, False),
    "new_zeros": ("nsdooo", 0, True), "new_ones": ("nsdooo", 1, True), "new_full": ("nsvdooo", None, True),
}  # fmt: skip


def still_before(checked: Callee, unchecked: Callee) -> Callee:
    """What stood before what is checked now stands before the check: a writer, or plans of what is written.

    It takes tensors on memory of their own alone, which no check of overlap refuses.
    """
    stands_before = getattr(unchecked, "before", None)
    return checked if checked is unchecked or stands_before is None else stands_before(checked)
