"""``torch._dynamo.exc``: the errors of ``torch.compile``."""

from __future__ import annotations

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "GraphBreak",
    "InvalidBackend",
    "RecompileError",
    "TorchDynamoException",
    "Unsupported",
    "UserError",
]


class TorchDynamoException(RuntimeError):
    """A program could not be compiled."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class Unsupported(TorchDynamoException):
    """A program that has to be one graph (``fullgraph=True``) cannot be captured as one."""


class UserError(Unsupported):
    """A program asks for what a graph cannot hold, or gives what `torch.export` does not take."""


class RecompileError(TorchDynamoException):
    """A program would have to be captured again, where that is not allowed (``config.error_on_recompile``)."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """A program that has to be one graph was captured as often as ``config.recompile_limit`` allows."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend has raised an error.

    Attributes
    ----------
    backend_name
        The name of the backend.
    inner_exception
        What it raised.
    """

    def __init__(self, backend_fn: object, inner_exception: Exception) -> None:
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class GraphBreak(Exception):
    """Raised where a program does what a graph cannot repeat; the text is the reason.

    Attributes
    ----------
    is_final
        Whether no graph of a whole program can hold it, PyTorch's either: it branches on elements, prints, asks for
        the time, or says itself that it is not to be captured.
    """

    def __init__(self, reason: str, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final
