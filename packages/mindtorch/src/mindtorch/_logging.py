"""``torch._logging``: which of the compiler's messages are shown; ``TORCH_LOGS=graph_breaks,recompiles`` at the start.

Messages go to the standard error stream. A name with ``-`` before it is switched off, one with ``+`` shows more where
there is more.
"""

from __future__ import annotations

import logging
import os
import sys

__all__ = ["set_logs"]

#: What there are messages about, and the loggers that tell it: programs listen to these, and to those above them.
_ARTIFACTS = {
    "graph_breaks": "torch._dynamo.symbolic_convert.__graph_breaks",
    "recompiles": "torch._dynamo.guards.__recompiles",
    "recompiles_verbose": "torch._dynamo.guards.__recompiles_verbose",
    "graph_code": "torch._dynamo.output_graph.__graph_code",
}
_COMPONENT = "dynamo"  # all of them

dynamo = logging.getLogger("torch._dynamo")
_on: set[str] = set()


def set_logs(
    *,
    dynamo: int | None = None,
    graph_breaks: bool = False,
    recompiles: bool = False,
    recompiles_verbose: bool = False,
    graph_code: bool = False,
) -> None:
    """Show these messages, and no others.

    Parameters
    ----------
    dynamo
        A level of `logging`: up to ``logging.DEBUG`` all of them are shown.
    graph_breaks
        Why a program could not be captured.
    recompiles
        Why it is captured again.
    recompiles_verbose
        Why none of the graphs that are there serves; these messages take the place of those of `recompiles`.
    graph_code
        The code of each graph.
    """
    _on.clear()
    chosen = {
        "graph_breaks": graph_breaks,
        "recompiles": recompiles,
        "recompiles_verbose": recompiles_verbose,
        "graph_code": graph_code,
    }
    everything = dynamo is not None and dynamo <= logging.DEBUG
    _on.update(name for name, shown in chosen.items() if shown or everything)


def is_on(name: str) -> bool:
    """Whether messages of a kind are shown."""
    return name in _on


def artifact(name: str, text: str, *args: object) -> None:
    """A message of a kind, where these are shown."""
    if name not in _on:
        return
    logger = logging.getLogger(_ARTIFACTS[name])
    if not logger.handlers:
        logger.addHandler(_ToStandardError())
        logger.setLevel(logging.DEBUG)
    logger.debug(text, *args)


class _ToStandardError(logging.StreamHandler):
    """Writes to what the standard error stream is at that time."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.setFormatter(logging.Formatter("[%(name)s] %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr  # `setStream` would flush the one before, which may be closed
        super().emit(record)


def _from_environment() -> None:
    names = [name.strip() for name in os.environ.get("TORCH_LOGS", "").split(",")]
    if f"+{_COMPONENT}" in names:
        _on.update(_ARTIFACTS)
    _on.update(name.lstrip("+") for name in names if name.lstrip("+") in _ARTIFACTS)
    _on.difference_update(name[1:] for name in names if name.startswith("-"))


_from_environment()
