"""Whether the program of this thread runs in order to be written down as a graph, rather than for its results."""

from __future__ import annotations

import threading

__all__ = ["capturing"]


class _Capturing(threading.local):
    depth = 0


#: ``depth`` counts the captures that are under way in this thread. What a graph is to do at each of its runs must not
#: be decided by elements then: code that would read them takes the way that computes with tensors.
capturing = _Capturing()
