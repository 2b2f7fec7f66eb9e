"""Values that only TorchScript has: instances of its classes, and futures."""

from __future__ import annotations

import copy
from typing import Any, NoReturn

from .calling import ScriptMethod

__all__ = ["Future", "ScriptObject"]


class ScriptObject:
    """An instance of a class of an archive that is no module: PyTorch's ``RecursiveScriptClass``.

    Its attributes are read and set, and its methods called, as those of any object.
    """

    __slots__ = ("_script_class", "_attributes", "__weakref__")
    _script_class: Any
    _attributes: dict[str, Any]

    def __init__(self, script_class: Any) -> None:
        object.__setattr__(self, "_script_class", script_class)
        object.__setattr__(self, "_attributes", {})

    def __getattr__(self, name: str) -> Any:
        found = self._attributes.get(name, self)
        if found is not self:
            return found
        method = self._script_class.methods.get(name)
        if method is None:
            raise AttributeError(f"'{self._script_class.short_name}' object has no attribute '{name}'")
        return ScriptMethod(method, self)

    def __setattr__(self, name: str, value: Any) -> None:
        self._script_class.set_attribute(self, name, value)

    def _special(self, name: str, *args: Any) -> Any:
        method = self._script_class.methods.get(name)
        if method is None:
            raise TypeError(f"'{self._script_class.short_name}' object has no method {name}")
        return ScriptMethod(method, self)(*args)

    def __len__(self) -> int:
        return int(self._special("__len__"))

    def __bool__(self) -> bool:
        return bool(self._special("__bool__")) if "__bool__" in self._script_class.methods else True

    def __getitem__(self, key: Any) -> Any:
        return self._special("__getitem__", key)

    def __contains__(self, key: Any) -> bool:
        return bool(self._special("__contains__", key))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = ScriptObject(self._script_class)
        made._attributes.update(copy.deepcopy(self._attributes, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise RuntimeError(f"Tried to serialize object {self._script_class.name} which does not have a __getstate__ "
                           "method defined!")  # fmt: skip

    def __repr__(self) -> str:
        return f"<torch.ScriptObject of {self._script_class.name}>"


class Future:
    """What ``fork`` gives: the function has run, as in PyTorch's interpreter when nothing else waits."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        """What the function returned."""
        return self._value

    value = wait

    def done(self) -> bool:
        """True: the function has run."""
        return True
