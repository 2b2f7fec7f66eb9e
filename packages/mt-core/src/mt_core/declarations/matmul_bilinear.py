"""Bilinear maps: declarations."""

from __future__ import annotations

from ._declare import Family

family = Family("matmul")

family.composite(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", variants="function",
    doc="input1 @ weight @ input2 + bias for each output: (*, i), (*, j), (o, i, j) -> (*, o).",
)  # fmt: skip
