"""The pickles of an archive: values of the classes that its code defines, and nothing else."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import IO, Any

from mt_core import device
from mt_core.serialization.weights_unpickler import WeightsUnpickler

from .calling import ScriptMethod
from .classes import ScriptClass, Unit
from .types import CannotCast, Type, cast, is_a
from .values import ScriptObject

__all__ = ["ArchiveUnpickler"]

_LISTS = ("build_intlist", "build_doublelist", "build_boollist", "build_tensorlist")


class _Restored:
    """A function of PyTorch's that pickles name: its arguments become its value."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


def _typed(value: Any, type_name: Any) -> Any:
    if type(type_name) is not str:
        raise pickle.UnpicklingError("a type is named by text: the file is corrupt")
    return value


def _listed(items: Any) -> Any:
    if type(items) is not list:
        raise pickle.UnpicklingError(f"expected a list, got {type(items)}: the file is corrupt")
    return items


class ArchiveUnpickler(WeightsUnpickler):
    """Reads one pickle of an archive.

    Parameters
    ----------
    unit
        What the archive defines.
    make_module
        Class -> module without values.
    """

    def __init__(
        self, file: IO[bytes], persistent_load: Callable[[Any], Any], record: str, unit: Unit,
        make_module: Callable[[ScriptClass], Any],
    ) -> None:  # fmt: skip
        super().__init__(file, persistent_load, record, encoding="utf-8")
        self._unit = unit
        self._make_module = make_module
        #: What was made, and whether its state is there.
        self._made: dict[int, tuple[Any, bool]] = {}

    def _find_global(self, module: str, name: str) -> Any:
        full_name = f"{module}.{name}"
        if module == "__torch__" or module.startswith("__torch__."):
            return self._unit.class_named(full_name)
        if module == "torch.jit._pickle":
            if name == "restore_type_tag":
                return _Restored(_typed)
            if name in _LISTS:
                return _Restored(_listed)
        if full_name == "torch.device":
            return _Restored(device)
        return super()._find_global(module, name)

    def _reduce(self) -> None:
        if len(self._stack) > 1 and isinstance(self._stack[-2], (_Restored, ScriptClass)):
            args = self._pop_tuple_or_value()
            named = self._pop()
            self._stack.append(self._called(named, args))
        else:
            WeightsUnpickler._reduce(self)

    def _pop_tuple_or_value(self) -> Any:
        return self._pop()

    def _called(self, named: Any, args: Any) -> Any:
        if isinstance(named, ScriptClass):
            return self._instance(named, args)
        if type(args) is not tuple:
            raise pickle.UnpicklingError(
                f"the arguments of a call must be a tuple, got {type(args)}: the file is corrupt"
            )
        try:
            return named.function(*args)
        except (TypeError, RuntimeError) as error:
            raise pickle.UnpicklingError(f"{error}: the file is corrupt") from None

    def _instance(self, cls: ScriptClass, args: Any) -> Any:
        """A named tuple, or a member of an enum."""
        try:
            if cls.kind == "enum":
                return cls.python(args[0] if isinstance(args, tuple) and len(args) == 1 else args)
            if cls.kind == "namedtuple" and isinstance(args, tuple):
                return cls.from_python(args)
        except (ValueError, RuntimeError, CannotCast) as error:
            raise pickle.UnpicklingError(f"{error}: the file is corrupt") from None
        raise pickle.UnpicklingError(f"{cls.name} is not made by a call: the file is corrupt")

    def _new_object(self) -> None:
        args = self._pop_tuple("the arguments of a class")
        cls = self._pop()
        if not isinstance(cls, ScriptClass) or args:
            raise pickle.UnpicklingError("only classes of the archive are made: the file is corrupt")
        if cls.kind not in ("module", "class"):
            self._stack.append(self._instance(cls, args))
            return
        made = self._make_module(cls) if cls.kind == "module" else ScriptObject(cls)
        self._made[id(made)] = (made, False)
        self._stack.append(made)

    def _build(self) -> None:
        state = self._pop()
        instance = self._top()
        known = self._made.get(id(instance))
        if known is None or known[1]:
            raise pickle.UnpicklingError("only new instances are given a state: the file is corrupt")
        cls = instance._script_class
        self._made[id(instance)] = (instance, True)
        if "__setstate__" in cls.methods:
            ScriptMethod(cls.methods["__setstate__"], instance)(state)
            return
        if type(state) is not dict:
            raise pickle.UnpicklingError(
                f"the state of {cls.name} must be a dict, got {type(state)}: the file is corrupt"
            )
        fill(instance, cls, state)


def fill(instance: Any, cls: ScriptClass, state: dict[Any, Any]) -> None:
    """Give a new instance its attributes.

    Raises
    ------
    pickle.UnpicklingError
        For missing and surplus ones, and values of other types.
    """
    missing = [name for name in cls.attributes if name not in state]
    if missing:
        raise pickle.UnpicklingError(f"the state of {cls.name} lacks '{missing[0]}': the file is corrupt")
    for name, value in state.items():
        if name not in cls.attributes:
            raise pickle.UnpicklingError(f"{cls.name} has no attribute {name!r:.100}: the file is corrupt")
        checked = _checked(cls, name, value, cls.attributes[name])
        if cls.kind == "module":
            instance._set_loaded(name, checked)
        else:
            instance._attributes[name] = checked


def _checked(cls: ScriptClass, name: str, value: Any, t: Type) -> Any:
    if isinstance(value, (list, dict)) and not value and t.name in ("List", "Dict", "Optional", "Any", "Union"):
        return value
    try:
        if value is None and t.name == "Tensor":
            return None
        if isinstance(value, (list, dict, tuple)) and t.name != "Any" and not hasattr(value, "_script_class"):
            cast(value, t)
        elif not is_a(value, t):
            cast(value, t)
        return value
    except CannotCast:
        raise pickle.UnpicklingError(
            f"the attribute '{name}' of {cls.name} is a {type(value).__name__} and not a {t}: the file is corrupt"
        ) from None


ArchiveUnpickler._table = {
    **WeightsUnpickler._table,
    pickle.REDUCE[0]: ArchiveUnpickler._reduce,
    pickle.NEWOBJ[0]: ArchiveUnpickler._new_object,
    pickle.BUILD[0]: ArchiveUnpickler._build,
}
