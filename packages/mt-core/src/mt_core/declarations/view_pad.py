"""Padding: declarations."""

from __future__ import annotations

from ._checks import BOOL, COMPLEX, FLOATS, USUAL, Supported
from .view import family

family.plain(
    "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
    variants="function",
    doc="Borders of one value; `pad` holds (before, after) pairs from the last dimension on, negative to cut off.",
)
for _n in (1, 2, 3):
    for _mode in ("reflection", "replication"):
        family.plain(
            f"{_mode}_pad{_n}d_backward(Tensor grad_output, Tensor self, int[{2 * _n}] padding) -> Tensor",
            variants="",
            dtypes=Supported(f"{_mode}_pad{_n}d_backward", FLOATS | COMPLEX),
        )
        family.plain(
            f"{_mode}_pad{_n}d(Tensor self, int[{2 * _n}] padding) -> Tensor",
            dtypes=Supported(f"{_mode}_pad{_n}d", USUAL - BOOL),
            doc=f"Padding of the last {_n} dimensions by {_mode}.",
            variants="function",
            namespace="torch._C._nn",
        )
family.composite("_pad_circular(Tensor self, int[] pad) -> Tensor", variants="")
family.composite(
    'pad(Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor',
    variants="function",
    namespace="torch._C._nn",
    doc="Padding by mode: constant, reflect, replicate or circular.",
)
