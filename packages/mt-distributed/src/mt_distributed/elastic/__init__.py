"""``torch.distributed.elastic``: what training scripts take from it; the launcher is ``torch.distributed.run``."""

from __future__ import annotations

from typing import NoReturn

__all__: list[str] = []


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"torch.distributed.elastic.{name} is not supported by mindtorch: `torchrun` starts ranks, and starts them "
        "anew (--max-restarts); its parts are not there one by one, nor numbers of machines that vary"
    )
