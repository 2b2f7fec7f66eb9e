"""``torch._prims``: only its helpers are here."""

from __future__ import annotations

from . import _prims_common as utils

__all__ = ["utils"]
