"""Activations that draw random numbers: batching rules."""

from __future__ import annotations

from typing import Any, NoReturn

from ._rules import DRAWS, Batch, batching_rule

_NAMES = ("rrelu", "rrelu_", "rrelu_with_noise", "rrelu_with_noise_")
DRAWS.update(_NAMES)


@batching_rule(*_NAMES)
def rrelu(batch: Batch, *args: Any) -> NoReturn:
    raise RuntimeError(f"vmap: we do not yet support {batch.overload.qualified_name}. Please file an issue")
