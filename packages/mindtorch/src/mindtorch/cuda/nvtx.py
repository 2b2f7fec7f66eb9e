"""``torch.cuda.nvtx``: marks for NVIDIA's profilers, which the CUDA runtime brings as its member ``nvtx``, or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _device_module

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]

_functions = _device_module.device_functions("cuda")


def _from_runtime(name: str) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        found = _functions.members().get("nvtx")
        if found is None:
            raise RuntimeError(
                "NVTX functions not installed. Are you sure you have a CUDA build? No CUDA backend brings them here."
            )
        return getattr(found, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The runtime's function of that name; without it, RuntimeError."
    return function


mark = _from_runtime("mark")
range = _from_runtime("range")
range_end = _from_runtime("range_end")
range_pop = _from_runtime("range_pop")
range_push = _from_runtime("range_push")
range_start = _from_runtime("range_start")
