"""``torch.utils``: what is loaded when it is first used."""

from __future__ import annotations

from typing import Any

from mt_core.swapping import swap_tensors as swap_tensors

from .._lazy import lazy_submodules

_submodule, _names = lazy_submodules(
    __name__,
    "_contextlib _dtype_abbrs _foreach_utils _mode_utils _python_dispatch _pytree _traceback backend_registration "
    "benchmark bottleneck checkpoint collect_env cpp_extension data deterministic dlpack flop_counter hooks "
    "mobile_optimizer model_zoo module_tracker weak",
)


def set_module(obj: Any, mod: str) -> None:
    """Tell a class or a function in which module it is defined.

    Raises
    ------
    TypeError
        If `mod` is no string.
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


#: What the submodule `backend_registration` defines.
_REGISTRATION = ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend")


def __getattr__(name: str) -> Any:
    return getattr(_submodule("backend_registration"), name) if name in _REGISTRATION else _submodule(name)


def __dir__() -> list[str]:
    return sorted({*_names(), *_REGISTRATION})
