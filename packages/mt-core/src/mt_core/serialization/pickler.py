"""Python's pickler, writing PyTorch's names for our classes and functions."""

from __future__ import annotations

import pickle
import types
from collections.abc import Callable
from typing import IO, Any

from .. import torch_names as names
from ..storage import UntypedStorage
from ..typed_storage import TypedStorage

__all__ = ["pickler_class"]


class _TorchNames:
    """Mixed into a pure-Python pickler: classes and functions go out under PyTorch's names where they have one."""

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if name is None:
            name = getattr(obj, "__qualname__", None) or obj.__name__
        module = getattr(obj, "__module__", None)
        renamed = names.torch_name(module, name) if module is not None else None
        if renamed is None or not _is_found(obj, *renamed):
            super().save_global(obj, name)  # type: ignore[misc]
        else:
            self._write_global(obj, *renamed)

    def _write_global(self, obj: Any, module: str, name: str) -> None:
        if self.proto >= 4:  # type: ignore[attr-defined]
            self.save(module)  # type: ignore[attr-defined]
            self.save(name)  # type: ignore[attr-defined]
            self.write(pickle.STACK_GLOBAL)  # type: ignore[attr-defined]
        else:
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())  # type: ignore[attr-defined]
        self.memoize(obj)  # type: ignore[attr-defined]


def _is_found(obj: Any, module: str, name: str) -> bool:
    """Whether reading the name back leads to the object; a local class, say, has a name but cannot be found by it."""
    try:
        return names.resolve(module, name) is obj
    except LookupError:
        return False


def _with_torch_names(base: Any) -> Any:
    """A pickler class written in Python, made to write PyTorch's names."""
    dispatch = base.dispatch.copy()
    if dispatch[types.FunctionType] is pickle._Pickler.save_global:  # type: ignore[attr-defined]
        dispatch[types.FunctionType] = _TorchNames.save_global
    return type("Pickler", (_TorchNames, base), {"dispatch": dispatch})


_PythonPickler = _with_torch_names(pickle._Pickler)


def pickler_class(pickle_module: Any, persistent_id: Callable[[Any], Any]) -> Callable[[IO[bytes], int], Any]:
    """The pickler class of a module (``pickle``, ``dill``, ...), with storages replaced by `persistent_id`.

    Names are PyTorch's if the module's pickler is `pickle.Pickler` or written in Python; a pickler in C keeps our own
    names, which only mindtorch reads.
    """
    base = pickle_module.Pickler
    if base is pickle.Pickler:
        base = _PythonPickler
    elif issubclass(base, pickle._Pickler):
        base = _with_torch_names(base)

    class StoragePickler(base):  # type: ignore[valid-type,misc]
        def persistent_id(self, obj: Any) -> Any:
            if isinstance(obj, (TypedStorage, UntypedStorage)):
                return persistent_id(obj)
            return None

    return StoragePickler


def unpickler_class(pickle_module: Any, persistent_load: Callable[[Any], Any]) -> Any:
    """The unpickler class of a module, finding our classes under PyTorch's names."""

    class StorageUnpickler(pickle_module.Unpickler):  # type: ignore[misc]
        def find_class(self, module: str, name: str) -> Any:
            try:
                return names.resolve(module, name)
            except LookupError:
                return super().find_class(module, name)

        def persistent_load(self, saved_id: Any) -> Any:
            return persistent_load(saved_id)

    return StorageUnpickler
