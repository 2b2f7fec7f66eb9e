"""Traced modules and functions as modules of an archive: their classes are written, and made as if they were loaded."""

from __future__ import annotations

import keyword
from typing import Any

from mt_core import Tensor, pytree
from mt_core.random import fork_rng

from .classes import ScriptClass, Unit
from .compiling import compiled
from .modules import LoadedModule, make_module
from .sources import Sources
from .translating import Unwritable, translated

__all__ = ["Writer", "as_archive"]


def as_archive(module: Any, methods: dict[str, Any]) -> LoadedModule:
    """A module with the same tensors, of classes that a trace is written in.

    Parameters
    ----------
    module
        The traced module, or None of a function.
    methods
        Name -> what was recorded.

    Raises
    ------
    NotImplementedError
        For steps that cannot be written.
    """
    writer = Writer()
    if module is None:
        name = writer.add("PlaceholderModule", ["__parameters__ = []", "__buffers__ = []", "training : bool"])
    else:
        name = writer.module(module)
    for method, traced in methods.items():
        writer.method(name, method, traced, module)
    return loaded_from(writer, name, module)


def loaded_from(writer: Writer, name: str, module: Any) -> LoadedModule:
    """A module of a class that was written, with the parts and tensors of `module`, or none where that is None."""
    records = writer.records()
    unit = Unit(Sources(records.__getitem__, records), list(writer.constants), compiled)
    unit.sources.keep()
    known: dict[ScriptClass, type] = {}
    made = make_module(unit.class_named(name), known)
    if module is None:
        made._set_loaded("training", True)
    else:
        _fill(made, module, known, {id(module): made})
    for cls in unit.classes():
        for function in cls.methods.values():
            function.prepare()
    return made


def _fill(made: LoadedModule, module: Any, known: dict[ScriptClass, type], memo: dict[int, Any]) -> None:
    for name, t in made._script_class.attributes.items():
        if name in module._modules:
            child = module._modules[name]
            if id(child) not in memo:
                memo[id(child)] = part = make_module(t.cls, known)
                _fill(part, child, known, memo)
            made._set_loaded(name, memo[id(child)])
        else:
            made._set_loaded(name, getattr(module, name))


class Writer:
    """The text of the classes."""

    def __init__(self) -> None:
        self._classes: dict[str, list[str]] = {}
        self._of_module: dict[int, str] = {}
        self.constants: list[Tensor] = []

    def add(self, short_name: str, lines: list[str]) -> str:
        """A class; its full name is one that no other has."""
        plain = short_name.isidentifier() and not keyword.iskeyword(short_name)
        short_name = short_name if plain else "Module_"
        name, number = f"__torch__.{short_name}", 0
        while name in self._classes:
            name, number = f"__torch__.___torch_mangle_{number}.{short_name}", number + 1
        self._classes[name] = lines
        return name

    def records(self) -> dict[str, bytes]:
        """Record -> code."""
        found: dict[str, list[str]] = {}
        for name, lines in self._classes.items():
            owner, _, own = name.rpartition(".")
            text = "\n".join([f"class {own}(Module):", *(f"  {line}" for line in lines)])
            found.setdefault(f"code/{owner.replace('.', '/')}.py", []).append(text)
        return {record: ("\n".join(texts) + "\n").encode() for record, texts in found.items()}

    def module(self, module: Any) -> str:
        """The class of a module, and those of its parts."""
        if id(module) in self._of_module:
            return self._of_module[id(module)]
        parts = [(name, self.module(child)) for name, child in module._modules.items() if child is not None]
        parameters = [name for name, value in module._parameters.items() if value is not None]
        buffers = [name for name, value in module._buffers.items() if value is not None]
        lines = [f"__parameters__ = {_names(parameters)}", f"__buffers__ = {_names(buffers)}"]
        lines += [_declared(name, "Tensor") for name in (*parameters, *buffers)]
        lines += ["training : bool", "_is_full_backward_hook : Optional[bool]"]
        lines += [_declared(name, cls) for name, cls in parts]
        self._of_module[id(module)] = name = self.add(module.original_name, lines)
        return name

    def method(self, cls: str, name: str, traced: Any, module: Any) -> None:
        """A method of what was recorded."""
        parameters, texts, taken = [], [], set()
        for place, key in enumerate(traced.positions):
            own = (
                key
                if key.isidentifier() and not keyword.iskeyword(key) and not key.startswith("_")
                else f"argument_{place}"
            )
            if own in taken or own in ("self", "torch", "ops", "CONSTANTS", "annotate"):
                own = f"argument_{place}"
            taken.add(own)
            parameters.append(f"{own}: {_type_of_example(traced.examples[key])}")
        names = dict(zip(traced.positions, [p.partition(":")[0] for p in parameters], strict=True))
        for key in traced.specs:
            texts += _leaf_texts(traced.examples[key], names[key])
        leaves = [leaf for key in traced.specs for leaf in pytree.tree_leaves(traced.examples[key])]
        leaves = [leaf.detach().clone() for leaf in leaves]

        held: dict[str, Any] = {}

        def attribute(path: str) -> Any:
            # A copy: what the trace writes to, it writes to when it is called.
            if path not in held:
                owner, _, own = path.rpartition(".")
                held[path] = getattr(module.get_submodule(owner), own).detach().clone()
            return held[path]

        with fork_rng():
            body = translated(traced.program, leaves, texts, attribute, self.constants)
        text, kind = body.result
        head = f"def {name}({', '.join([f'self: {cls}', *parameters])}) -> {kind}:"
        self._classes[cls] += [head, *(f"  {line}" for line in body.lines), f"  return {text}"]


def _names(names: list[str]) -> str:
    return "[" + "".join(f'"{name}", ' for name in names) + "]"


def _declared(name: str, kind: str) -> str:
    plain = name.isidentifier() and not keyword.iskeyword(name)
    return f"{name} : {kind}" if plain else f'__annotations__["{name}"] = {kind}'


def _type_of_example(value: Any) -> str:
    if isinstance(value, Tensor):
        return "Tensor"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(_type_of_example, value))}]"
    if isinstance(value, (list, dict)) and value:
        items = list(value.values()) if isinstance(value, dict) else value
        kinds = {_type_of_example(item) for item in items}
        if len(kinds) == 1 and not (isinstance(value, dict) and not all(isinstance(key, str) for key in value)):
            return f"{'Dict[str, ' if isinstance(value, dict) else 'List['}{kinds.pop()}]"
    raise Unwritable("torch.jit.save of a trace with such arguments is not supported by mindtorch.")


def _leaf_texts(value: Any, text: str) -> list[str]:
    if isinstance(value, Tensor):
        return [text]
    keys = [f'"{key}"' for key in value] if isinstance(value, dict) else list(map(str, range(len(value))))
    items = value.values() if isinstance(value, dict) else value
    return [leaf for key, item in zip(keys, items, strict=True) for leaf in _leaf_texts(item, f"({text})[{key}]")]
