"""What control flow asks of the tensors that functions take and return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mt_core import Tensor
from mt_core.tensor import wrap_dim

__all__ = ["check_alike", "check_scanned", "scanned_dim"]


def check_alike(found: Sequence[Any], wanted: Sequence[Any], found_name: str, wanted_name: str) -> None:
    """Refuse what is to be carried on, where it is not like what was carried.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if len(found) != len(wanted):
        raise RuntimeError(
            f"Expected {found_name} and {wanted_name} to have same number of outputs but got lhs:"
            f"{[_told(leaf) for leaf in found]} and rhs:{[_told(leaf) for leaf in wanted]}"
        )
    differ = [
        f"pair[{i}] differ in {difference}, where lhs is {_told(a)} and rhs is {_told(b)}"
        for i, (a, b) in enumerate(zip(found, wanted, strict=True))
        if (difference := _difference(a, b))
    ]
    if differ:
        raise RuntimeError(
            f"Expected {found_name} and {wanted_name} to have same metadata but found:\n" + "\n".join(differ)
        )


def _told(leaf: Any) -> str:
    return f"Tensor(..., size={tuple(leaf.shape)}, dtype={leaf.dtype})" if isinstance(leaf, Tensor) else repr(leaf)


def _difference(a: Any, b: Any) -> str:
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return "" if isinstance(a, Tensor) == isinstance(b, Tensor) else "'type'"
    facts = {"shape": (a.shape, b.shape), "dtype": (a.dtype, b.dtype), "device": (a.device, b.device)}
    return ", ".join(f"'{name}: {x} vs {y}'" for name, (x, y) in facts.items() if x != y)


def scanned_dim(leaves: Sequence[Any], dim: Any) -> int:
    """The dimension that is gone through, counted from the front of the first leaf.

    Raises
    ------
    TypeError, IndexError
        For what is no dimension of it.
    """
    if not isinstance(dim, int):
        raise TypeError(f"'>=' not supported between instances of '{type(dim).__name__}' and 'int'")
    return wrap_dim(dim, leaves[0].ndim)


def check_scanned(leaves: Sequence[Any], dim: int, error: type[Exception]) -> None:
    """Refuse leaves without elements along the dimension."""
    if any(leaf.ndim <= dim or not leaf.shape[dim] for leaf in leaves):
        raise error("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
