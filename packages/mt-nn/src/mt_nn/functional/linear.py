"""Linear maps."""

from __future__ import annotations

from mt_core import bilinear, linear

__all__ = ["bilinear", "linear"]
