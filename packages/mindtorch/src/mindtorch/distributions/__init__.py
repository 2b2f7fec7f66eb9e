"""``torch.distributions``: the constraints on parameters; distributions themselves are not supported yet."""

from __future__ import annotations

from typing import NoReturn

from . import constraints as constraints


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"module 'torch.distributions' has no attribute '{name}': mindtorch has no distributions yet")
