"""Sobol' sequences: the operators of ``torch.quasirandom.SobolEngine``. A state has 30 direction numbers a dimension."""

from __future__ import annotations

from ._declare import Family

family = Family("random")

_STATE = "Tensor sobolstate, int dimension, int num_generated"

for _text, _doc in (
    (
        "_sobol_engine_initialize_state_(Tensor(a!) self, int dimension) -> Tensor(a!)",
        "Fill `self` (dimension, 30) with direction numbers; Joe and Kuo (2008), new-joe-kuo-6.21201.",
    ),
    (
        "_sobol_engine_scramble_(Tensor(a!) self, Tensor ltm, int dimension) -> Tensor(a!)",
        "Multiply the bits of direction numbers `self` (dimension, 30) by lower triangular matrices (dimension, 30, 30).",
    ),
    (
        f"_sobol_engine_ff_(Tensor(a!) self, int n, {_STATE}) -> Tensor(a!)",
        "Take `self` (dimension) as many points further.",
    ),
    (
        f"_sobol_engine_draw(Tensor quasi, int n, {_STATE}, ScalarType? dtype) -> (Tensor, Tensor)",
        "The next points (n, dimension) in [0, 1), and where the sequence stands then (dimension).",
    ),
):
    family.plain(_text, variants="function", doc=_doc)
