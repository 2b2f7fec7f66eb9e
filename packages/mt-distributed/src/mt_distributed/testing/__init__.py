"""For tests of what is built on collectives."""

from __future__ import annotations

from .running import run_threads
from .threads import ThreadCommunicator

__all__ = ["ThreadCommunicator", "run_threads"]
