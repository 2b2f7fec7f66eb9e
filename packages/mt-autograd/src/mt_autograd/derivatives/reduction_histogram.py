"""Histograms count: they have no derivative."""

from __future__ import annotations

from ..rules import non_differentiable

non_differentiable(
    "histogram.bin_ct", "histogram.bins_tensor", "_histogramdd_bin_edges", "_histogramdd_from_bin_tensors"
)
