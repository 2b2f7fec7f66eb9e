"""Sequences, and matrices with a pattern: declarations."""

from __future__ import annotations

from .creation import _OPTIONS, ops

ops.factory(
    f"linspace(Scalar start, Scalar end, int steps, *, {_OPTIONS}) -> Tensor",
    out=True,
    doc="`steps` evenly spaced numbers, both ends included.",
)
ops.factory(
    f"logspace(Scalar start, Scalar end, int steps, float base=10.0, *, {_OPTIONS}) -> Tensor",
    out=True,
    doc="base to the power of evenly spaced exponents.",
)
for _kind, _args in (
    ("Tensor_Tensor", "Tensor start, Tensor end"),
    ("Tensor_Scalar", "Tensor start, Scalar end"),
    ("Scalar_Tensor", "Scalar start, Tensor end"),
):
    ops.composite(f"linspace.{_kind}({_args}, int steps, *, {_OPTIONS}) -> Tensor", variants="function")
    ops.composite(
        f"logspace.{_kind}({_args}, int steps, float base=10.0, *, {_OPTIONS}) -> Tensor", variants="function"
    )
ops.composite(f"range(Scalar start, Scalar end, Scalar step=1, *, {_OPTIONS}) -> Tensor", variants="function",
              doc="Numbers from start to end, both included.")  # fmt: skip
ops.factory(f"eye(int n, *, {_OPTIONS}) -> Tensor", out=True, doc="The identity matrix.")
ops.factory(f"eye.m(int n, int m, *, {_OPTIONS}) -> Tensor", out=True)
ops.factory(
    f"tril_indices(int row, int col, int offset=0, *, {_OPTIONS.replace('dtype=None', 'dtype=long')}) -> Tensor",
    doc="(2, count) indices of the lower triangle.",
)
ops.factory(
    f"triu_indices(int row, int col, int offset=0, *, {_OPTIONS.replace('dtype=None', 'dtype=long')}) -> Tensor",
    doc="(2, count) indices of the upper triangle.",
)
ops.plain(
    "tril(Tensor self, int diagonal=0) -> Tensor",
    inplace=True,
    out=True,
    doc="The lower triangle of the last two dimensions, zeros elsewhere.",
    exact_out=True,
)
ops.plain(
    "triu(Tensor self, int diagonal=0) -> Tensor",
    inplace=True,
    out=True,
    doc="The upper triangle of the last two dimensions, zeros elsewhere.",
    exact_out=True,
)
ops.composite(
    "diag(Tensor self, int diagonal=0) -> Tensor",
    out=True,
    doc="A matrix with a vector on a diagonal, or the diagonal of a matrix.",
)
ops.composite(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    doc="Matrices, in dimensions dim1 and dim2, with the last dimension of self on a diagonal.",
)
ops.composite("diagflat(Tensor self, int offset=0) -> Tensor", doc="A matrix with the flattened input on a diagonal.")
ops.composite(
    "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
    variants="method",
    doc="Write one value to the main diagonal; with `wrap`, again below it in tall matrices.",
)
ops.composite(
    "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    variants="function",
    doc="Vandermonde matrix: powers of x as columns, falling unless `increasing`.",
)
ops.composite(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    variants="function",
    doc="A copy of self's layout filled with one value.",
)
ops.composite("fill.Tensor(Tensor self, Tensor value) -> Tensor", variants="function")
ops.factory(
    f"empty_permuted(int[] size, int[] physical_layout, *, {_OPTIONS}) -> Tensor",
    doc="Uninitialized, dense in the order of dimensions given.",
)
for _name in ("bartlett", "blackman", "hann", "hamming"):
    ops.composite(f"{_name}_window(int window_length, *, {_OPTIONS}) -> Tensor", variants="function",
                  doc=f"The {_name.title()} window.")  # fmt: skip
    ops.composite(
        f"{_name}_window.periodic(int window_length, bool periodic, *, {_OPTIONS}) -> Tensor", variants="function"
    )
