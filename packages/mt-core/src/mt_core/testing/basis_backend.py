"""A backend with ten kernels, to prove that they are enough for networks to be trained.

What else `softmax`, `layer_norm`, `gelu`, `cross_entropy` and their gradients take is written in these
(`mt_core.decomp`). Its arrays are those of `boxed_backend`, its kernels the CPU's.
"""

from __future__ import annotations

from typing import Any

from ..devices import backend_key
from ..dispatch import composed
from ..dispatch.registry import Overload, find_overload
from .borrowed_kernels import borrow_kernels
from .boxed_backend import BoxedBackend, fresh, read, write
from .sample import declared_operators

__all__ = ["BASIS", "BasisBackend", "OfTheBasis", "written_operators"]

#: The operators that a backend needs kernels for; `sum` has two overloads.
BASIS = frozenset(
    (
        "add.Tensor", "mul.Tensor", "div.Tensor", "exp", "sum", "sum.dim_IntList", "amax", "rsqrt", "where.self",
        "mm", "erf",
    )
)  # fmt: skip


class BasisBackend(BoxedBackend):
    """`BoxedBackend` with the kernels of `BASIS` and no others."""

    def __init__(self, device_type: str = "basis") -> None:
        super().__init__(device_type)

    def load(self, family: str) -> None:
        borrow_kernels(backend_key(self.device_type), family, read, fresh, write, names=BASIS)


#: Written in others that the basis does not have: lines of a grid are those of `linspace`.
OF_MORE = {"affine_grid_generator"}


def written_operators() -> list[Overload]:
    """The operators that are written in others under their rule: what a backend need not have."""
    functional = [o for o in declared_operators() if o.declaration.form == "functional"]
    return [o for o in functional if composed.standing_in(o) is not None]


class OfTheBasis:
    """Stands in front of an exam: of the operators, it is made of those that the basis has, or that are written in it.

    What is neither, a `BasisBackend` does not have.
    """

    def operators(self, *check: str) -> list[str]:
        """The operators of an exam's check."""
        known = {o.name for o in written_operators()} - OF_MORE | BASIS
        offered: list[str] = super().operators(*check)  # type: ignore[misc]  # the exam's, which stands behind
        return [name for name in offered if (find_overload(name).declaration.functional or name) in known]

    def _may_be_missing(self, got: Any, wanted: Any) -> bool:
        """Only what a composite says of itself: a part that is missing is a mistake."""
        return not wanted.refusal and "is not written in other operators" in got.refusal
