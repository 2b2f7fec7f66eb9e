"""Histograms and numerical differentiation: declarations."""

from __future__ import annotations

from ._checks import FLOATS, Supported
from .reduction import family

_BINNED = "float[]? range=None, Tensor? weight=None, bool density=False"
_PAIR = ("hist", "bin_edges")
_OUTS = (
    (
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {cpp_expected} and hist "
        "{cpp_out}"
    ),
    (
        "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input {cpp_expected} and "
        "bin_edges {cpp_out} for dimension 0"
    ),
)

family.plain(
    f"histogram.bin_ct(Tensor self, int bins=100, *, {_BINNED}) -> (Tensor hist, Tensor bin_edges)",
    out=("bin_ct_out", _PAIR),
    exact_out=_OUTS,
    doc="Counts (or sums of weights, or with `density` shares by bin width) of elements in bins of equal width; the last "
    "bin takes its upper edge in.",
)
family.plain(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor "
    "bin_edges)",
    dtypes=Supported("histogram_cpu", FLOATS),
    out=("bins_tensor_out", _PAIR),
    exact_out=_OUTS,
    doc="The same for bins between given ascending edges.",
)
family.plain(
    f"_histogramdd_bin_edges(Tensor self, int[] bins, *, {_BINNED}) -> Tensor[]",
    variants="function",
    doc="Edges of bins of equal width for each coordinate of points (*, d).",
)
family.plain(
    "_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor",
    dtypes=Supported("histogram_cpu", FLOATS),
    variants="function",
    doc="Counts of points (*, d) in the boxes between the edges of d coordinates.",
)
family.composite(
    f"_histogramdd_from_bin_cts(Tensor self, int[] bins, *, {_BINNED}) -> Tensor",
    variants="function",
)
for _overload, _bins in (("", "int[] bins"), (".int_bins", "int bins"), (".TensorList_bins", "Tensor[] bins")):
    family.composite(
        f"histogramdd{_overload}(Tensor self, {_bins}, {_BINNED}) -> (Tensor hist, Tensor[] bin_edges)",
        variants="function",
        doc="Counts of points (*, d) in boxes, and the edges of the boxes along each coordinate.",
    )

_EDGE = "int edge_order=1) -> Tensor[]"
_ONE = "int? dim=None"
for _overload, _arguments in (
    ("scalarint", f"Scalar? spacing=None, {_ONE}"),
    ("scalararray", "Scalar spacing, int[] dim"),
    ("array", "int[] dim"),
    ("scalarrayint", f"Scalar[] spacing, {_ONE}"),
    ("scalarrayarray", "Scalar[] spacing, int[] dim"),
    ("tensorarrayint", f"Tensor[] spacing, {_ONE}"),
    ("tensorarray", "Tensor[] spacing, int[] dim"),
):
    family.composite(
        f"gradient.{_overload}(Tensor self, *, {_arguments}, {_EDGE}",
        variants="function",
        doc="Central differences along each dimension, one-sided of first or second order at the ends; `spacing` is one "
        "distance, one for each dimension, or coordinates.",
    )
