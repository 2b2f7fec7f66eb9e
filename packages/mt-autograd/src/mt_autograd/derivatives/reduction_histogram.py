"""Histograms count: they have no derivative, and those that PyTorch does not know it of say so when asked for it."""

from __future__ import annotations

from ._refused import refused_operator

refused_operator("histogram.bin_ct", "self", "weight")
refused_operator("histogram.bins_tensor", "self", "bins", "weight")
refused_operator("_histogramdd_bin_edges", "self", "weight")
refused_operator("_histogramdd_from_bin_tensors", "self", "bins", "weight")
