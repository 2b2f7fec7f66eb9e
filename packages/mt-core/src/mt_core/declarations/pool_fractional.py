"""Fractional max pooling: declarations."""

from __future__ import annotations

from ._checks import FLOATS, Supported
from ._declare import Family

family = Family("pool")

for _dims in (2, 3):
    family.composite(
        f"fractional_max_pool{_dims}d(Tensor self, int[{_dims}] kernel_size, int[{_dims}] output_size, "
        "Tensor random_samples) -> (Tensor, Tensor)", variants="function", namespace="torch._C._nn",
        dtypes=Supported(f"fractional_max_pool{_dims}d_out_frame", FLOATS),
        doc="Maxima over windows at random steps and their flat positions (Graham 2014): (n, c, *) or (c, *); "
        "random_samples (n, c, dimensions) in [0, 1).",
    )  # fmt: skip
