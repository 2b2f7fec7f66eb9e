"""``torch._dynamo.exc``: the errors of ``torch.compile``."""

from __future__ import annotations

__all__ = ["InvalidBackend", "TorchDynamoException", "Unsupported"]


class TorchDynamoException(RuntimeError):
    """A program could not be compiled."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class Unsupported(TorchDynamoException):
    """A part of a program cannot be compiled; mindtorch, which compiles nothing, never raises it."""
