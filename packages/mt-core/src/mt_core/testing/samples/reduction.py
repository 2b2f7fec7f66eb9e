"""Sample inputs: reductions and scans."""

from __future__ import annotations

from ... import dtypes
from ..sample import binary, call, cases, reduction

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
