"""Files decoded by their extensions: refused."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[Any]):
    """Refused: there are no decoders.

    Raises
    ------
    NotImplementedError
        Always.
    """

    def __init__(self, datapipe: Any, *handlers: Any, key_fn: Any = None) -> None:
        raise NotImplementedError(
            "routed_decode is not supported by mindtorch. Use map with a function of (path, file)."
        )
