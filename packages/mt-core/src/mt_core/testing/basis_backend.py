"""A backend with ten kernels, to prove that they are enough for networks to be trained.

What else `softmax`, `layer_norm`, `gelu`, `cross_entropy` and their gradients take is written in these
(`mt_core.decomp`). Its arrays are those of `boxed_backend`, its kernels the CPU's.
"""

from __future__ import annotations

from ..devices import backend_key
from .borrowed_kernels import borrow_kernels
from .boxed_backend import BoxedBackend, fresh, read, write

__all__ = ["BASIS", "BasisBackend"]

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
