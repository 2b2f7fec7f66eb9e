"""``vmap`` and ``grad``, and ``vmap`` by the number of chunks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mt_autograd.func import grad as grad
from mt_autograd.func import grad_and_value as grad_and_value
from mt_core.transforms.vmapping import lanes_in
from mt_core.transforms.vmapping import vmap as vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """``vmap(func)``, whose lanes are computed in `chunks` groups of about the same size.

    Raises
    ------
    RuntimeError
        When it is called: for `chunks` below 1.
    """
    if chunks == 1:
        return vmap(func, in_dims, out_dims, randomness)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if chunks < 1:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        size = max(-(-lanes_in(func, in_dims, args) // chunks), 1)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return mapped
