"""Modules that were loaded from an archive."""

from __future__ import annotations

import copy
import io
from typing import Any, NoReturn

from mt_core import Tensor
from mt_nn import Module, Parameter

from .._script import RecursiveScriptModule
from .calling import ScriptMethod
from .classes import ScriptClass
from .expressions import is_module_type
from .types import CannotCast, cast
from .writing import save_module

__all__ = ["LoadedModule", "make_module"]


class LoadedModule(RecursiveScriptModule):
    """A module of an archive, with what its class there declares; its methods run the archive's code."""

    _script_class: ScriptClass
    _attributes: dict[str, Any]

    def __init__(self, cls: ScriptClass) -> None:
        super().__init__()
        self.__dict__["_attributes"] = {}

    # What it is

    @property
    def original_name(self) -> str:
        """The name of its class in the archive."""
        return self._script_class.short_name

    @property
    def code(self) -> str:
        """The code of ``forward``."""
        return self._method("forward").code

    @property
    def code_with_constants(self) -> tuple[str, Any]:
        """The code of ``forward``, and the constants that it names."""
        return self.code, {f"c{i}": value for i, value in enumerate(self._script_class.unit.constants)}

    def _method(self, name: str) -> ScriptMethod:
        found = self._script_class.methods.get(name)
        if found is None:
            raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'")
        return ScriptMethod(found, self)

    @property
    def forward(self) -> Any:  # type: ignore[override]
        """The method that calls of the module run."""
        return self._method("forward")

    def __getattr__(self, name: str) -> Any:
        space = self.__dict__
        found = space.get("_attributes", {}).get(name, space)
        if found is not space:
            # As in PyTorch a list is handed out as a copy: what is done to it does not change the module.
            return copy.copy(found) if isinstance(found, (list, dict)) else found
        cls = type(self)._script_class
        if name in cls.methods:
            return ScriptMethod(cls.methods[name], self)
        if name in cls.constants:
            return cls.constants[name][1]
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        declared = self._script_class.attributes.get(name)
        if declared is None or "_attributes" not in self.__dict__:
            if isinstance(value, Parameter):
                self.register_parameter(name, value)
            if isinstance(value, Module):
                self.add_module(name, value)
            super().__setattr__(name, value)
            return
        if is_module_type(declared) and not isinstance(value, LoadedModule):
            raise RuntimeError(
                "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing "
                f"module '{name}': {value}"
            )
        try:
            self._set_loaded(name, cast(value, declared))
        except CannotCast as error:
            raise RuntimeError(f"Could not cast attribute '{name}' to type {declared}: {error}") from None

    def _set_loaded(self, name: str, value: Any) -> None:
        """Put a value of the declared type into its room."""
        cls = self._script_class
        if name in cls.parameters:
            self._parameters[name] = value
        elif name in cls.buffers:
            self._buffers[name] = value
        elif name in ("training", "_is_full_backward_hook"):
            self.__dict__[name] = value
        elif is_module_type(cls.attributes[name]):
            self._modules[name] = value
        else:
            self._attributes[name] = value

    def __delattr__(self, name: str) -> None:
        if name in self._script_class.attributes:
            raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'")
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        cls = self._script_class
        return sorted({*super().__dir__(), *cls.attributes, *cls.constants, *cls.methods})

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise RuntimeError(
            f"Tried to serialize object {self._script_class.name} which does not have a __getstate__ method defined!"
        )

    # What is fixed

    def register_parameter(self, name: str, param: Any) -> None:
        """Refused: what a loaded module consists of is declared in the archive."""
        self._refuse(name, "parameter")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Refused, as `register_parameter`."""
        self._refuse(name, "parameter")

    def add_module(self, name: str, module: Module | None) -> None:
        """Refused, as `register_parameter`."""
        raise RuntimeError(
            "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to replace existing module "
            f"'{name}': {module}"
        )

    def _refuse(self, name: str, what: str) -> NoReturn:
        raise RuntimeError(f"Can't add a new {what} after ScriptModule construction. Tried to add '{name}")

    # Files

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:  # type: ignore[override]
        """Write the module to a file, as `torch.jit.save`."""
        save_module(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: dict[str, Any] | None = None) -> bytes:  # type: ignore[override]
        """The bytes of the file that `save` writes."""
        file = io.BytesIO()
        self.save(file, _extra_files)
        return file.getvalue()

    # Containers

    def _special(self, name: str, *args: Any) -> Any:
        if name not in self._script_class.methods:
            raise NotImplementedError
        return self._method(name)(*args)

    def __len__(self) -> int:
        return int(self._special("__len__"))

    def __bool__(self) -> bool:
        return True

    def __contains__(self, key: Any) -> bool:
        return bool(self._special("__contains__", key))

    def __getitem__(self, key: Any) -> Any:
        return self._special("__getitem__", key)

    def __iter__(self) -> Any:
        if "__iter__" in self._script_class.methods:
            return iter(self._special("__iter__"))
        raise NotImplementedError

    def _replicate_for_data_parallel(self) -> Any:
        return copy.copy(self)


def make_module(cls: ScriptClass, known: dict[ScriptClass, type]) -> LoadedModule:
    """A module of a class without values; each class of an archive has one in Python."""
    if cls not in known:
        space = {"_script_class": cls, "__module__": RecursiveScriptModule.__module__, "__doc__": LoadedModule.__doc__}
        known[cls] = type(RecursiveScriptModule.__name__, (LoadedModule,), space)
    made: LoadedModule = known[cls](cls)
    return made
