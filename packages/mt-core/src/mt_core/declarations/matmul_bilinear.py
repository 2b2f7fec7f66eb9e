"""Bilinear maps: declarations."""

from __future__ import annotations

from ._checks import COMPLEX, FLOATS, INTEGERS, Supported
from ._declare import Family

family = Family("matmul")

family.composite(
    "_trilinear.of_rows(Tensor input1, Tensor input2, Tensor weight) -> Tensor",
    variants="",
    dtypes=Supported("bmm", INTEGERS | FLOATS | COMPLEX),
    doc="`bilinear` of rows: (n, i), (n, j), (o, i, j) -> (n, o).",
)

family.composite(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", variants="function",
    doc="input1 @ weight @ input2 + bias for each output: (*, i), (*, j), (o, i, j) -> (*, o).",
)  # fmt: skip
