"""``torch._dynamo.decorators``: marks on tensors, of sizes that vary between the calls of a program.

A mark is kept on the tensor, as PyTorch keeps it, and is heeded where the program is captured (`sizes`), and where a
`ShapeEnv` makes symbols for the tensor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mt_core import Tensor

from .. import _unsupported
from .._capturing import is_compiling, is_exporting
from .exc import GraphBreak

__all__ = ["mark_dynamic", "mark_static", "maybe_mark_dynamic"]


class _DimRange(NamedTuple):
    """A dimension, and the sizes that it may have."""

    dim: int
    min: int | None
    max: int | None


def _indices(index: Any) -> list[int]:
    return [index] if isinstance(index, int) else list(index)


def _refuse_inside(name: str) -> None:
    if is_compiling() and not is_exporting():
        raise GraphBreak(f"calls torch._dynamo.{name}: arguments are marked before")


def mark_dynamic(
    t: Any,
    index: Any,
    *,
    hint_override: int | None = None,
    min: int | None = None,
    max: int | None = None,
    specialize_on: list[Any] | None = None,
) -> None:
    """Say that a size varies between calls, so that a graph is to serve all of them.

    Parameters
    ----------
    index
        A dimension, or several.
    min, max
        The sizes that it may have, both included.

    Raises
    ------
    ConstraintViolationError
        From the capture, where the program lets it have one size only.
    NotImplementedError
        For `hint_override` and `specialize_on`.
    """
    _refuse_inside("mark_dynamic")
    if hint_override is not None:
        raise _unsupported.refusal("torch._dynamo.mark_dynamic(hint_override=...)", "The size itself is the example.")
    if specialize_on:
        raise _unsupported.refusal("torch._dynamo.mark_dynamic(specialize_on=...)", "Leave it out.")
    dims = _indices(index)
    if not hasattr(t, "_dynamo_dynamic_indices"):
        t._dynamo_dynamic_indices = set()
        t._dynamo_dynamic_range = set()
        t._dynamo_hint_overrides = {}
    if not hasattr(t, "_specialize_on"):
        t._specialize_on = {}
    for dim in dims:
        t._dynamo_dynamic_indices.add(dim)
        t._dynamo_dynamic_range.add(_DimRange(dim, min, max))
        t._specialize_on[dim] = []
    t._has_dynamo_dim_marking = True


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Say that a size may vary: as `mark_dynamic`, but where the program lets it have one value only, it has that."""
    _refuse_inside("maybe_mark_dynamic")
    _add(t, "_dynamo_weak_dynamic_indices", _indices(index))


def mark_static(t: Any, index: Any = None) -> Any:
    """Say that sizes stay the same, all of them without `index`: a number of the graph, also with ``dynamic=True``.

    A class of modules is given back as it is: numbers that its instances hold are never symbols.
    """
    if isinstance(t, type):
        return t
    _refuse_inside("mark_static")
    _add(t, "_dynamo_static_indices", range(t.dim()) if index is None else _indices(index))
    return None


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Note on a tensor that its memory stays where it is: a hint for backends, captures hold whichever it is.

    Raises
    ------
    TypeError
        For what is no tensor.
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"mark_static_address expects a tensor but received {type(t)}")
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"  # type: ignore[attr-defined]


def _add(t: Any, name: str, dims: Any) -> None:
    if not hasattr(t, name):
        setattr(t, name, set())
    getattr(t, name).update(dims)
    t._has_dynamo_dim_marking = True
