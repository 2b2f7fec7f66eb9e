"""Sample inputs: reductions and scans."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ..sample import TensorMaker, binary, call, cases, reduction, unary

FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16)

reduction("sum mean prod max min argmax argmin any all trace")
reduction("sum.dim_IntList mean.dim nansum nanmean any.dims all.dims", None, [1], [0, 1])
reduction("amax amin", [1], [0, 1], [])
reduction("prod.dim_int max.dim min.dim argmax argmin any.dim all.dim", 0, -1)
reduction("logsumexp", [1], [0, 1], dtypes=FLOATS)
reduction("sum.dim_IntList mean.dim", [0], dtype=dtypes.float64)
reduction("var std var_mean std_mean", dtypes=FLOATS)
reduction("var.dim std.dim var_mean.dim std_mean.dim", None, [1], dtypes=FLOATS)
reduction(
    "var.correction std.correction var_mean.correction std_mean.correction", None, [0], correction=0, dtypes=FLOATS
)
reduction("cumsum cumprod cummax cummin logcumsumexp", 0, 1, keepdim=False)
binary("max.other min.other")
cases("sum_to_size", lambda t: call(t(2, 3, 4), [3, 1]))
cases("diff", lambda t: call(t(3, 4)), lambda t: call(t(3, 4), 2, 0), lambda t: call(t(3, 4), prepend=t(3, 1)))
cases("aminmax", lambda t: call(t(3, 4)), lambda t: call(t(3, 4), dim=1, keepdim=True))
cases(
    "quantile nanquantile",
    lambda t: call(t(3, 4), t.of([0.25, 0.5])),
    lambda t: call(t(3, 4), t.of(0.5), 1, True, interpolation="nearest"),
)
cases("quantile.scalar nanquantile.scalar", lambda t: call(t(3, 4), 0.3), lambda t: call(t(3, 4), 0.5, 0))
cases("trapezoid.x trapz.x cumulative_trapezoid.x", lambda t: call(t(3, 4), t(4)))
cases("trapezoid.dx trapz.dx cumulative_trapezoid.dx", lambda t: call(t(3, 4)), lambda t: call(t(3, 4), dx=0.5, dim=0))
cases("cov corrcoef", lambda t: call(t(3, 5)), lambda t: call(t(5)))
cases("cov", lambda t: call(t(3, 4), correction=0, fweights=t.ints(4, low=1), aweights=t(4, low=0.5)))
cases("bincount", lambda t: call(t.ints(6)), lambda t: call(t.ints(6), t(6), 8))
cases("histc aminmax bincount", *[lambda t, d=d: call(t(4, dtype=d)) for d in (dtypes.bool, dtypes.complex64)])
cases("histc", lambda t: call(t(6), 4, -2, 2))
cases("renorm", lambda t: call(t(3, 4), 2, 0, 1.5))
cases(
    "histogram.bin_ct", lambda t: call(t(6), 4), lambda t: call(t(6), 4, range=[-1.0, 1.0], weight=t(6), density=True)
)
cases("histogram.bins_tensor", lambda t: call(t(6), t.of([-2.0, 0.0, 1.0])))
cases("_histogramdd_bin_edges _histogramdd_from_bin_cts histogramdd", lambda t: call(t(6, 2), [2, 3]))
cases(
    "_histogramdd_from_bin_tensors histogramdd.TensorList_bins",
    lambda t: call(t(6, 2), [t.of([-2.0, 0.0, 2.0]), t.of([-2.0, 2.0])]),
)
cases("histogramdd.int_bins", lambda t: call(t(6, 2), 3))
cases("gradient.scalarint", lambda t: call(t(3, 4)), lambda t: call(t(3, 4), spacing=2.0, dim=1))
cases("gradient.array", lambda t: call(t(3, 4), dim=[0, 1]))
cases("gradient.scalararray", lambda t: call(t(3, 4), spacing=0.5, dim=[1, 0]))
cases("gradient.scalarrayint", lambda t: call(t(3, 4), spacing=[1.0, 2.0]))
cases("gradient.scalarrayarray", lambda t: call(t(3, 4), spacing=[1.0, 2.0], dim=[0, 1]))
cases("gradient.tensorarrayint", lambda t: call(t(3), spacing=[t.of([0.0, 1.0, 3.0])]))
cases("gradient.tensorarray", lambda t: call(t(3, 4), spacing=[t.of([0.0, 1.0, 3.0])], dim=[0]))

# Arguments away from their defaults.
F64 = dtypes.float64
for _names, _arguments in {
    "sum mean prod": (), "prod.dim_int": (1,), "cumsum cumprod": (0,), "nansum nanmean": ([0],),
}.items():  # fmt: skip
    cases(
        _names,
        lambda t, a=_arguments: call(t(3, 4), *a, dtype=F64),
        lambda t, a=_arguments: call(t.ints(3, 4), *a, dtype=dtypes.float32),
    )
cases("var std var_mean std_mean", lambda t: call(t(3, 4), False))
cases("var.dim std.dim var_mean.dim std_mean.dim", lambda t: call(t(3, 4), [0], False, True))
cases(
    "var.correction std.correction var_mean.correction std_mean.correction",
    lambda t: call(t(3, 4), [1], correction=2, keepdim=True),
    lambda t: call(t(3, 4), [1], correction=0.5),
    lambda t: call(t(3, 4, dtype=dtypes.complex64), None),
)
cases("trapezoid.x trapz.x cumulative_trapezoid.x", lambda t: call(t(3, 4), t(3, 1), dim=0))
cases("diff", lambda t: call(t(3, 4), dim=0, append=t(2, 4)))
cases("quantile nanquantile", *[
    lambda t, how=how: call(t(3, 5), t.of([0.3, 0.8]), 1, interpolation=how) for how in ("lower", "higher", "midpoint")
])  # fmt: skip
cases("quantile.scalar nanquantile.scalar", lambda t: call(t(3, 5), 0.3, 1, True, interpolation="higher"))
NAN = [[1.0, float("nan"), 3.0], [float("nan")] * 3]
cases("nansum nanmean", lambda t: call(t.of(NAN)), lambda t: call(t.of(NAN), [1], True))
cases("nanquantile.scalar", lambda t: call(t.of(NAN), 0.5, 1))
cases("max min amax amin argmax argmin", lambda t: call(t.of(NAN)))
cases("cummax cummin logcumsumexp cumprod", lambda t: call(t.of(NAN), 1))
cases("bincount", lambda t: call(t.ints(6), t.ints(6), 2), lambda t: call(t.ints(0)))
cases("histc", lambda t: call(t(9), 3), lambda t: call(t(9), 5, -1, 1))
cases("renorm", lambda t: call(t(3, 4), 1, 1, 2.5), lambda t: call(t(3, 4), 3, -1, 0.5))
cases("histogram.bin_ct", lambda t: call(t(9), 3, weight=t(9)))
cases("histogram.bins_tensor", lambda t: call(t(6), t.of([-2.0, 0.0, 1.0]), weight=t(6), density=True))
BINNED = {"range": [-1.0, 1.0, -2.0, 0.5], "density": True}
cases(
    "_histogramdd_bin_edges _histogramdd_from_bin_cts histogramdd",
    lambda t: call(t(6, 2), [3, 1], weight=t(6), **BINNED),
)
cases("histogramdd.int_bins", lambda t: call(t(6, 2), 2, weight=t(6), **BINNED))
cases(
    "_histogramdd_from_bin_tensors",
    lambda t: call(t(6, 2), [t.of([-1.0, 1.0]), t.of([-2.0, 0.0, 2.0])], weight=t(6), density=True),
)
cases(
    "histogramdd.TensorList_bins",
    lambda t: call(t(6, 2), [t.of([-1.0, 1.0]), t.of([-2.0, 0.0, 2.0])], weight=t(6), density=True),
)
cases("gradient.scalarint", lambda t: call(t(3, 4), edge_order=2))
cases("gradient.array", lambda t: call(t(3, 4), dim=[1], edge_order=2))
cases("gradient.scalararray", lambda t: call(t(3, 4), spacing=2.0, dim=[0], edge_order=2))
cases("gradient.scalarrayint", lambda t: call(t(3, 4), spacing=[2.0], dim=1, edge_order=2))
cases("gradient.scalarrayarray", lambda t: call(t(3, 4), spacing=[0.5, 3.0], dim=[1, 0], edge_order=2))
cases("gradient.tensorarrayint", lambda t: call(t(3, 4), spacing=[t.of([0.0, 1.0, 1.5, 4.0])], dim=1, edge_order=2))
cases(
    "gradient.tensorarray",
    lambda t: call(t(3, 4), spacing=[t.of([0.0, 1.0, 3.0]), t.of([0.0, 0.5, 2.0, 3.0])], dim=[0, 1], edge_order=2),
)
cases("sum_to_size", lambda t: call(t(2, 3, 4), [2, 1, 4]))
cases("cov", lambda t: call(t(3, 5), correction=2), lambda t: call(t(3, 5), aweights=t(5, low=0.5)))
cases("aminmax", lambda t: call(t(3, 4), dim=0))

# Refused, as PyTorch refuses it: also where a short path does not look.
cases("sum.dim_IntList mean.dim", lambda t: call(t(2, 3), [2]), lambda t: call(t(2, 3), [0, 0]))
cases("amax amin", lambda t: call(t(2, 3), [-3]), lambda t: call(t(2, 0), [1]), lambda t: call(t(2, 0)))
cases("max.dim min.dim", lambda t: call(t(2, 3), 2), lambda t: call(t(2, 0), 1))
cases("argmax argmin", lambda t: call(t(2, 3), -3), lambda t: call(t(0)))
cases("max min", lambda t: call(t(0)))
cases("cumsum cumprod cummax", lambda t: call(t(2, 3), 2))
cases("prod.dim_int any.dim all.dim logsumexp", lambda t: call(t(2, 3), 2))


def _lengths(t: TensorMaker, values: Any) -> Any:
    return t.of(values, dtypes.int64)


cases(
    "segment_reduce",
    *[
        lambda t, name=name: call(t.distinct(6, 2), name, lengths=_lengths(t, [2, 3, 1]))
        for name in ("sum", "mean", "max", "min", "prod")
    ],
    *[
        lambda t, name=name: call(t(6), name, lengths=_lengths(t, [2, 0, 4]), initial=0.5)
        for name in ("sum", "mean", "max", "min", "prod")
    ],
    lambda t: call(t(2, 6), "sum", offsets=_lengths(t, [[0, 2, 6], [0, 3, 6]]), axis=1),
    lambda t: call(t(6), "amax", lengths=_lengths(t, [2, 3]), unsafe=True),
)
unary("hash_tensor")
cases(
    "hash_tensor",
    lambda t: call(t(2, 3, 5), [1]),
    lambda t: call(t(2, 3, 5), [0, 2], keepdim=True),
    lambda t: call(t(3), mode=1),
)
