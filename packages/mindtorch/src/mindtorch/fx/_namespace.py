"""Names of nodes and globals: each is a Python identifier, and none means two things."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from types import NoneType
from typing import Any, NamedTuple

from mt_core import pytree

from . import _pytree as fx_pytree

__all__ = ["Namespace", "builtin_globals", "custom_builtins"]


class CustomBuiltin(NamedTuple):
    """A name that generated code may use without it being found in the program."""

    import_str: str
    obj: Any


#: Names that the text of arguments holds (``inf``, ``device(type='cpu')``) -> how to import them, and what they are.
custom_builtins: dict[str, CustomBuiltin] = {}


def register_builtin(name: str, import_str: str, obj: Any) -> None:
    """Let generated code use a name that ``repr`` of some objects holds."""
    custom_builtins[name] = CustomBuiltin(import_str, obj)


register_builtin("inf", "from math import inf", math.inf)
register_builtin("nan", "from math import nan", math.nan)
register_builtin("NoneType", "NoneType = type(None)", NoneType)


def _register_torch() -> None:
    if "torch" in custom_builtins:
        return
    import mindtorch as torch  # lazy: it must be complete

    register_builtin("torch", "import torch", torch)
    register_builtin("device", "from torch import device", torch.device)
    register_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree)
    register_builtin("pytree", "import torch.utils._pytree as pytree", pytree)


def builtin_globals() -> dict[str, CustomBuiltin]:
    """All names that generated code may always use."""
    _register_torch()
    return custom_builtins


_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
_SUFFIXED = re.compile(r"(.*)_(\d+)$")


class Namespace:
    """Names that are taken, and the objects that have them."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name like `candidate` that is free; the same again for an object that has one."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        base, number = self._split(candidate)
        while candidate in self._used_names or _is_taken(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def _split(self, candidate: str) -> tuple[str, int]:
        match = _SUFFIXED.match(candidate)
        return (match[1], int(match[2])) if match else (candidate, self._base_count.get(candidate, 0))

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Keep a name for an object, which may not have another one."""
        if self._obj_to_name.setdefault(obj, name) != name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: Any, name: str) -> None:
        if obj not in self._obj_to_name:
            raise AssertionError(f"Object {obj} is not in _obj_to_name")
        self._obj_to_name[obj] = name
        self._used_names.add(name)


def _is_taken(name: str, obj: Any) -> bool:
    """Whether a name means something else in Python, or in generated code."""
    if keyword.iskeyword(name):
        return True
    if name in vars(builtins):
        return obj is not vars(builtins)[name]
    known = builtin_globals()
    return name in known and obj is not known[name].obj
