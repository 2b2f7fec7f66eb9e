"""``torch._dynamo.utils``: what was captured, counted."""

from __future__ import annotations

import collections

__all__ = ["counters"]

#: Kind -> name -> how often: ``stats`` (graphs and the calls in them) and ``graph_break`` (by reason).
counters: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
