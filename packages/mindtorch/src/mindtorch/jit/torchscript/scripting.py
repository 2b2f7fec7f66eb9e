"""Scripted modules and functions as modules of an archive: their Python is written as TorchScript.

What a method names outside of itself is looked up when it is written: modules become attributes, functions of
``torch`` operators, functions of a program functions of the archive, and numbers themselves. All that has no place in
TorchScript is refused with the line that has it. Whether types fit is checked by whoever loads the archive.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import mt_nn

from .modules import LoadedModule
from .script_methods import Method
from .script_modules import FUNCTIONS, forward_of
from .script_recurrent import PACKED, PACKING, on_packed
from .script_text import type_of_value
from .tracing import Writer, loaded_from
from .translating import Unwritable

__all__ = ["as_archive"]


def as_archive(obj: Any) -> LoadedModule:
    """A scripted module or function as a module that is loaded from an archive, with the same tensors.

    Raises
    ------
    NotImplementedError
        For what cannot be written, with the line of the program.
    """
    writer = _ScriptWriter()
    module = obj if isinstance(obj, mt_nn.Module) else None
    if module is None:
        name = writer.add("PlaceholderModule", ["__parameters__ = []", "__buffers__ = []", "training : bool"])
        writer.lines(name).extend(Method(writer, name, None, obj.__wrapped__, "forward").text())
    else:
        name = writer.module(module)
    return loaded_from(writer, name, module)


class _ScriptWriter(Writer):
    """The text of classes and functions."""

    def __init__(self) -> None:
        super().__init__()
        self._functions: dict[Any, str] = {}
        self._texts: dict[str, list[str]] = {}

    def lines(self, cls: str) -> list[str]:
        """The lines of a class."""
        return self._classes[cls]

    def records(self) -> dict[str, bytes]:
        found = super().records()
        for name, lines in self._texts.items():
            record = f"code/{name.rpartition('.')[0].replace('.', '/')}.py"
            found[record] = found.get(record, b"") + ("\n".join(lines) + "\n").encode()
        return found

    def module(self, module: Any) -> str:
        """The class of a module, with its methods, and those of its parts."""
        if id(module) in self._of_module:
            return self._of_module[id(module)]
        if module._forward_hooks or module._forward_pre_hooks:
            raise Unwritable("torch.jit.save of a module with hooks is not supported by mindtorch.")
        name = super().module(module)
        cls = getattr(module, "_original_class", type(module))
        text = forward_of(cls, module)
        if text is not None:
            self.lines(name).extend(text)
            return name
        written: set[str] = set()
        wanted = ["forward", *(n for n, f in inspect.getmembers(cls) if _is_exported(f))]
        while wanted:
            method = wanted.pop()
            if method in written:
                continue
            written.add(method)
            function = inspect.unwrap(getattr(cls, method))
            writing = Method(self, name, module, function, method)
            text = writing.text()
            self.lines(name).extend(text)
            wanted += writing.methods
        return name

    def attribute(self, cls: str, name: str, value: Any) -> None:
        """Declare an attribute, unless it is."""
        line = f"{name} : {type_of_value(value)}"
        if line not in self.lines(cls):
            first = next((i for i, text in enumerate(self.lines(cls)) if text.startswith("def ")), len(self.lines(cls)))
            self.lines(cls).insert(first, line)

    def packed_class(self) -> str:
        """The full name of the class of packed sequences, which is written once it is asked for."""
        self._texts.setdefault(*PACKED)
        return PACKED[0]

    def takes_packed(self, module: Any) -> None:
        """Write the method of a recurrent module that takes a packed sequence, unless it is."""
        lines = self.lines(self.module(module))
        self.packed_class()
        if not any(line.startswith("def forward__1(") for line in lines):
            lines.extend(on_packed(module))

    def function(self, function: Any) -> str:
        """The full name in the archive of a function of a program, or, by name, of ``torch.nn``."""
        key = function if isinstance(function, str) else id(function)
        if key in self._functions:
            found = self._functions[key]
            if found not in self._texts:
                raise Unwritable(f"torch.jit.save of the function {found}, which calls itself, is not supported.")
            return found
        if isinstance(function, str):
            if function in PACKING:
                self.packed_class()
                name, text = PACKING[function]
            else:
                name, text = f"__torch__.torch.nn.functional.{function}", FUNCTIONS[function]
            self._functions[key] = name
            self._texts[name] = textwrap.dedent(text).strip().split("\n")
            return name
        plain = f"__torch__.{function.__name__}" if function.__name__.isidentifier() else "__torch__.function"
        name, number = plain, 0
        while name in self._functions.values() or name in self._classes:
            owner, _, own = plain.rpartition(".")
            name, number = f"{owner}.___torch_mangle_{number}.{own}", number + 1
        self._functions[key] = name
        self._texts[name] = Method(self, None, None, function, name.rpartition(".")[2]).text()
        return name


def _is_exported(function: Any) -> bool:
    return getattr(function, "_torchscript_modifier", None) is not None and "export" in str(
        function._torchscript_modifier
    )
