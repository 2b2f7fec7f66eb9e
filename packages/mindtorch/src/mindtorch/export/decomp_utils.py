"""``torch.export.decomp_utils``: tables of decompositions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mt_core.dispatch.lookup import composite_of
from mt_library.decompositions import core_aten_decompositions

__all__ = ["CustomDecompTable"]


class CustomDecompTable(dict[Any, Callable[..., Any]]):
    """Operator -> function in whose operators it is written.

    At first those that are not of PyTorch's core set: what is no step of a derivative, elementwise operators, and those
    on lists. Others stay whole, since what they are written in here holds for the sizes and elements of one call.
    """

    def __init__(self) -> None:
        super().__init__({op: function for op, function in core_aten_decompositions().items() if _holds_for_all(op)})

    def copy(self) -> CustomDecompTable:
        """Another table of the same."""
        made = CustomDecompTable()
        made.clear()
        made.update(self)
        return made

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """The same as a dict."""
        return dict(self)


def _holds_for_all(op: Any) -> bool:
    """Whether what an operator is written in depends on the kinds of its arguments alone."""
    overload = op._overload
    composite = composite_of(overload)
    if composite is None or not composite.explicit:
        return True
    return overload.declaration.kind == "elementwise" or overload.family == "foreach"
