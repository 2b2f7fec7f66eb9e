"""Sequences, and matrices with a pattern: declarations."""

from __future__ import annotations

from ._checks import BOOL, COMPLEX, COMPLEX_HALF, FLOAT8, FLOATS, INTEGERS, REAL, Supported
from .creation import _OPTIONS, family

_SPACED = INTEGERS | FLOATS | COMPLEX
_TRIANGLE_DTYPES = REAL | COMPLEX | COMPLEX_HALF

family.factory(
    f"linspace(Scalar start, Scalar end, int steps, *, {_OPTIONS}) -> Tensor",
    out=True,
    any_shape_out=True,
    dtypes=Supported("linspace_cpu", _SPACED),
    doc="`steps` evenly spaced numbers, both ends included.",
)
family.factory(
    f"logspace(Scalar start, Scalar end, int steps, float base=10.0, *, {_OPTIONS}) -> Tensor",
    out=True,
    any_shape_out=True,
    dtypes=Supported("logspace_cpu", _SPACED),
    doc="base to the power of evenly spaced exponents.",
)
for _kind, _args in (
    ("Tensor_Tensor", "Tensor start, Tensor end"),
    ("Tensor_Scalar", "Tensor start, Scalar end"),
    ("Scalar_Tensor", "Scalar start, Tensor end"),
):
    family.composite(f"linspace.{_kind}({_args}, int steps, *, {_OPTIONS}) -> Tensor", variants="function")
    family.composite(
        f"logspace.{_kind}({_args}, int steps, float base=10.0, *, {_OPTIONS}) -> Tensor", variants="function"
    )
family.factory(
    f"range(Scalar start, Scalar end, Scalar step=1, *, {_OPTIONS}) -> Tensor",
    out=True,
    any_shape_out=True,
    dtypes=Supported("range_cpu", INTEGERS | FLOATS),
    doc="Numbers from start to end, both included.",
)
_EYE = Supported("eye", BOOL | INTEGERS | FLOATS | COMPLEX | FLOAT8)
family.factory(f"eye(int n, *, {_OPTIONS}) -> Tensor", out=True, dtypes=_EYE, doc="The identity matrix.")
family.factory(f"eye.m(int n, int m, *, {_OPTIONS}) -> Tensor", out=True, dtypes=_EYE)
family.factory(
    f"tril_indices(int row, int col, int offset=0, *, {_OPTIONS.replace('dtype=None', 'dtype=long')}) -> Tensor",
    doc="(2, count) indices of the lower triangle.",
)
family.factory(
    f"triu_indices(int row, int col, int offset=0, *, {_OPTIONS.replace('dtype=None', 'dtype=long')}) -> Tensor",
    doc="(2, count) indices of the upper triangle.",
)
family.plain(
    "tril(Tensor self, int diagonal=0) -> Tensor",
    inplace=True,
    out=True,
    doc="The lower triangle of the last two dimensions, zeros elsewhere.",
    dtypes=Supported("tril", _TRIANGLE_DTYPES, idle="empty"),
    exact_out=True,
)
family.plain(
    "triu(Tensor self, int diagonal=0) -> Tensor",
    inplace=True,
    out=True,
    doc="The upper triangle of the last two dimensions, zeros elsewhere.",
    dtypes=Supported("triu", _TRIANGLE_DTYPES, idle="empty"),
    exact_out=True,
)
family.composite(
    "diag(Tensor self, int diagonal=0) -> Tensor",
    out=True,
    exact_out=True,
    resizes_first=True,
    doc="A matrix with a vector on a diagonal, or the diagonal of a matrix.",
)
family.composite(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    doc="Matrices, in dimensions dim1 and dim2, with the last dimension of self on a diagonal.",
)
family.composite(
    "diagflat(Tensor self, int offset=0) -> Tensor", doc="A matrix with the flattened input on a diagonal."
)
family.composite(
    "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
    variants="method",
    doc="Write one value to the main diagonal; with `wrap`, again below it in tall matrices.",
)
family.composite(
    "vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    variants="function",
    doc="Vandermonde matrix: powers of x as columns, falling unless `increasing`.",
)
family.composite(
    "fill.Scalar(Tensor self, Scalar value) -> Tensor",
    variants="function",
    doc="A copy of self's layout filled with one value.",
)
family.composite("fill.Tensor(Tensor self, Tensor value) -> Tensor", variants="function")
family.factory(
    f"empty_permuted(int[] size, int[] physical_layout, *, {_OPTIONS}) -> Tensor",
    doc="Uninitialized, dense in the order of dimensions given.",
)
for _arguments in ("", ".periodic", ".beta"):
    _more = {"": "", ".periodic": ", bool periodic", ".beta": ", bool periodic, float beta"}[_arguments]
    family.composite(
        f"kaiser_window{_arguments}(int window_length{_more}, *, {_OPTIONS}) -> Tensor", variants="function",
        doc="The Kaiser window, whose shape is `beta` (12).",
    )  # fmt: skip
for _name in ("bartlett", "blackman", "hann", "hamming"):
    family.composite(f"{_name}_window(int window_length, *, {_OPTIONS}) -> Tensor", variants="function",
                  doc=f"The {_name.title()} window.")  # fmt: skip
    family.composite(
        f"{_name}_window.periodic(int window_length, bool periodic, *, {_OPTIONS}) -> Tensor", variants="function"
    )
