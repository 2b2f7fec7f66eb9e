"""Classes and functions of an archive: what their definitions declare."""

from __future__ import annotations

import ast
import enum
import functools
import keyword
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from mt_core import device

from .sources import Sources, plain_name, plain_text
from .types import NEVER, NONE, Type, cast, dotted, is_a, read_type

__all__ = ["Function", "Parameter", "ScriptClass", "Unit", "refused"]

_KINDS = {
    "Module": "module", "NamedTuple": "namedtuple", "Enum": "enum", "Interface": "interface",
    "ModuleInterface": "interface",
}  # fmt: skip
_LISTS = ("__parameters__", "__buffers__")
_HOOKS = ("__forward_hooks__", "__forward_pre_hooks__")


def refused(what: str, node: ast.AST, record: str) -> RuntimeError:
    """The error for what is not in the language."""
    text = ast.unparse(node)[:100] if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__
    return RuntimeError(f"{what}: {plain_name(text)} (line {getattr(node, 'lineno', '?')} of record {record})")


#: The version of what is written here.
NEWEST = b"10\n"


class Unit:
    """All that an archive defines, made when it is first named.

    Parameters
    ----------
    sources
        Its code.
    constants
        What ``CONSTANTS.c0`` and so on are.
    compile
        What makes a Python function of one of the archive, and its bodies.
    """

    def __init__(
        self, sources: Sources, constants: list[Any], compile: Callable[[Function], tuple[Any, list[Any]]]
    ) -> None:
        self.sources = sources
        self.compile = compile
        #: The version of the format: some operators meant something else in the first ones.
        self.version = NEWEST
        self.constants = constants
        self._classes: dict[str, ScriptClass] = {}
        self._functions: dict[str, Function] = {}

    def class_named(self, name: str) -> ScriptClass:
        """The class of a full name.

        Raises
        ------
        RuntimeError
            Where there is none.
        """
        if name not in self._classes:
            found = self.sources.find(name)
            if name.startswith("__torch__.torch.classes."):
                raise NotImplementedError(f"the class {name}, written in C++, is not supported by mindtorch.")
            if found is None or not isinstance(found[0], ast.ClassDef):
                raise RuntimeError(f"Unknown type name '{name}'")
            made = self._classes[name] = ScriptClass(self, name, found[1])
            made.read(found[0])
        return self._classes[name]

    def function_named(self, name: str) -> Function:
        """The function of a full name."""
        if name not in self._functions:
            found = self.sources.find(name)
            if found is None or not isinstance(found[0], ast.FunctionDef):
                raise RuntimeError(f"undefined value {name}")
            self._functions[name] = Function(self, found[0], found[1], None)
        return self._functions[name]

    def named(self, name: str) -> Any:
        """The class or function of a full name."""
        found = self.sources.find(name)
        return self.class_named(name) if found and isinstance(found[0], ast.ClassDef) else self.function_named(name)

    @property
    def number(self) -> int:
        """The version as a number."""
        return int(self.version)

    def classes(self) -> list[ScriptClass]:
        """The classes that were made so far."""
        return list(self._classes.values())

    def constant(self, name: str) -> Any:
        """A tensor or object that the code names ``CONSTANTS.c0``."""
        place = name[1:]
        if not (name.startswith("c") and place.isdigit() and int(place) < len(self.constants)):
            raise RuntimeError(f"undefined value CONSTANTS.{name}")
        return self.constants[int(place)]


class ScriptClass:
    """A class: its attributes, constants and methods.

    Attributes
    ----------
    kind
        ``"module"``, ``"class"``, ``"namedtuple"``, ``"enum"`` or ``"interface"``.
    attributes
        Name -> type, in order.
    parameters, buffers
        Which of them are, of a module.
    constants
        Name -> (type, value).
    python
        What the values are in Python, of named tuples and enums.
    """

    def __init__(self, unit: Unit, name: str, record: str) -> None:
        self.unit = unit
        self.name = name
        self.record = record
        self.short_name = name.rpartition(".")[2]
        self.kind = "class"
        self.attributes: dict[str, Type] = {}
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        self.constants: dict[str, tuple[Type, Any]] = {}
        self.methods: dict[str, Function] = {}
        self.python: Any = None
        self._members: dict[str, Any] = {}

    def read(self, node: ast.ClassDef) -> None:
        """Take in a definition."""
        bases = [base.id if isinstance(base, ast.Name) else "" for base in node.bases]
        if len(bases) > 1 or node.keywords or node.decorator_list or (bases and bases[0] not in _KINDS):
            raise refused("classes derive from Module, NamedTuple, Enum or an interface", node, self.record)
        self.kind = _KINDS[bases[0]] if bases else "class"
        for statement in node.body:
            self._read_statement(statement)
        if self.kind == "namedtuple":
            self.python = _named_tuple(self)
        elif self.kind == "enum":
            self.python = _enum(self)

    def _read_statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.FunctionDef):
            name = plain_name(statement.name)
            self.methods[name] = Function(self.unit, statement, self.record, self)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            self._declare(plain_name(statement.target.id), statement.annotation, statement.value)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            self._read_assignment(statement, statement.targets[0])
        elif not isinstance(statement, ast.Pass):
            raise refused("not a part of a class", statement, self.record)

    def _declare(self, name: str, annotation: ast.expr, value: ast.expr | None) -> None:
        t = read_type(annotation, self.unit.class_named)
        if value is None:
            self.attributes[name] = t
        else:
            self.constants[name] = (t, self.literal(value, t))

    def _read_assignment(self, statement: ast.Assign, target: ast.expr) -> None:
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            self._declare(plain_text(str(target.slice.value)), statement.value, None)
        elif not isinstance(target, ast.Name):
            raise refused("not a part of a class", statement, self.record)
        elif target.id in _LISTS:
            names = self.literal(statement.value, None)
            setattr(self, target.id.strip("_"), names)
        elif target.id in _HOOKS:
            if self.literal(statement.value, None):
                raise NotImplementedError(
                    f"forward hooks of {self.name} in TorchScript are not supported by mindtorch."
                )
        elif self.kind == "enum":
            self._members[target.id] = self.literal(statement.value, None)
        else:
            raise refused("not a part of a class", statement, self.record)

    def literal(self, node: ast.expr, t: Type | None) -> Any:
        """The value of a constant expression."""
        value = _literal(node, self.unit, self.record)
        return value if t is None or t == NONE else cast(value, t)

    def holds(self, value: Any) -> bool:
        """Whether a value is an instance."""
        if self.kind in ("namedtuple", "enum"):
            return isinstance(value, self.python)
        found = getattr(value, "_script_class", None)
        if self.kind == "interface":
            return found is not None and all(name in found.methods for name in self.methods)
        return found is self

    def from_python(self, value: tuple[Any, ...]) -> Any:
        """A named tuple of a tuple."""
        types = list(self.attributes.values())
        if len(value) != len(types):
            raise RuntimeError(f"{self.name} has {len(types)} fields, got {len(value)}")
        return self.python(*map(cast, value, types))

    def set_attribute(self, obj: Any, name: str, value: Any) -> None:
        """Set an attribute of an instance from Python.

        Raises
        ------
        AttributeError
            For one that is not declared.
        """
        if name not in self.attributes:
            raise AttributeError(f"'{self.short_name}' object has no attribute '{name}'")
        obj._attributes[name] = cast(value, self.attributes[name])


def _named_tuple(cls: ScriptClass) -> Any:
    names = list(cls.attributes)
    if any(name.startswith("_") or keyword.iskeyword(name) or not name.isidentifier() for name in names):
        raise RuntimeError(
            f"fields of the named tuple {cls.name} have names that Python does not take (record {cls.record})"
        )
    made = namedtuple(_identifier(cls), names, module=__name__)  # type: ignore[misc]
    made._script_class = cls  # type: ignore[attr-defined]
    return made


def _enum(cls: ScriptClass) -> Any:
    members = {plain_name(name): value for name, value in cls._members.items()}
    if any(name.startswith("_") or name == "mro" for name in members):
        raise RuntimeError(f"members of the enum {cls.name} have names that Python does not take (record {cls.record})")
    made = enum.Enum(_identifier(cls), members, module=__name__)  # type: ignore[misc]
    made._script_class = cls  # type: ignore[attr-defined]
    return made


def _identifier(cls: ScriptClass) -> str:
    name = plain_name(cls.short_name)
    return name if name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__") else "Class"


def _literal(node: ast.expr, unit: Unit, record: str) -> Any:
    """A number, text, None, container or tensor of the archive, written out."""
    recurse: Callable[[ast.expr], Any] = functools.partial(_literal, unit=unit, record=record)
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, str):
            return plain_text(value)
        if isinstance(value, (int, float, complex, type(None))):
            return value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = recurse(node.operand)
        if isinstance(value, (int, float, complex)):
            return -value
    elif isinstance(node, ast.Name) and node.id in ("inf", "nan"):
        return float(node.id)
    elif isinstance(node, ast.List):
        return [recurse(item) for item in node.elts]
    elif isinstance(node, ast.Tuple):
        return tuple(recurse(item) for item in node.elts)
    elif isinstance(node, ast.Dict) and None not in node.keys:
        return {recurse(k): recurse(v) for k, v in zip(node.keys, node.values, strict=True)}  # type: ignore[arg-type]
    elif isinstance(node, ast.Attribute):
        return _named_literal(node, unit, record)
    elif isinstance(node, ast.Call):
        return _called_literal(node, unit, record)
    raise refused("not a constant", node, record)


def _named_literal(node: ast.Attribute, unit: Unit, record: str) -> Any:
    if isinstance(node.value, ast.Name) and node.value.id == "CONSTANTS":
        return unit.constant(node.attr)
    name = dotted(node) or ""
    if name.startswith("__torch__."):
        owner, _, member = name.rpartition(".")
        cls = unit.class_named(owner)
        if cls.kind == "enum" and member in cls._members:
            return cls.python[member]
    raise refused("not a constant", node, record)


def _called_literal(node: ast.Call, unit: Unit, record: str) -> Any:
    name, args = dotted(node.func), list(node.args)
    if name == "torch.device" and len(args) == 1:
        return device(_literal(args[0], unit, record))
    if name == "annotate" and len(args) == 2:
        return _literal(args[1], unit, record)
    raise refused("not a constant", node, record)


class Parameter:
    """A parameter of a function: its name, type, and default (`ast.expr`), if it has one."""

    def __init__(self, name: str, t: Type, default: ast.expr | None) -> None:
        self.name = name
        self.type = t
        self.default = default


class Function:
    """A function or method. `run` is the compiled one, which takes all arguments by position, unchecked."""

    def __init__(self, unit: Unit, node: ast.FunctionDef, record: str, cls: ScriptClass | None) -> None:
        self.unit = unit
        self.node = node
        self.record = record
        self.cls = cls
        self.name = plain_name(node.name)
        #: Steps that one call takes, without the rounds of loops.
        self.cost = 1
        self._state = "read"
        self._bodies: list[Any] = []
        self._made: Callable[..., Any] = self._compile_and_run
        self.run: Callable[..., Any] = self._compile_and_run

    @functools.cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters, of methods without the first."""
        given = self.node.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
            raise refused("functions take parameters by position", self.node, self.record)
        arguments = given.args if self.cls is None else given.args[1:]
        defaults: list[ast.expr | None] = [None] * (len(arguments) - len(given.defaults))
        return [
            Parameter(plain_name(a.arg), self._type(a.annotation), d)
            for a, d in zip(arguments, [*defaults, *given.defaults], strict=True)
        ]

    def _type(self, annotation: ast.expr | None) -> Type:
        return Type("Tensor") if annotation is None else read_type(annotation, self.unit.class_named)

    @property
    def self_name(self) -> str:
        """What a method calls its instance."""
        return self.node.args.args[0].arg

    @functools.cached_property
    def returns(self) -> Type:
        """The type of the result; `NEVER` where it is not declared."""
        return NEVER if self.node.returns is None else self._type(self.node.returns)

    def default(self, parameter: Parameter) -> Any:
        """The value of a default."""
        assert parameter.default is not None
        value = _literal(parameter.default, self.unit, self.record)
        return value if is_a_quietly(value, parameter.type) else cast(value, parameter.type)

    def prepare(self) -> Function:
        """Compile it, and all that it calls.

        Raises
        ------
        RuntimeError
            For what is not in the language, and functions that call themselves.
        """
        if self._state == "ready":
            return self
        # Not by recursion: archives may have long chains of calls.
        path = [self]
        while path:
            function = path[-1]
            if function._state == "read":
                function._compile()
            waiting = next((c for body in function._bodies for c in body.callees if c._state != "ready"), None)
            if waiting is None:
                function._finish()
                path.pop()
            elif waiting._state == "compiled":
                raise RuntimeError(
                    f"function '{waiting.name}' is called recursively. Recursive calls are not supported (record "
                    f"{waiting.record})"
                )
            else:
                path.append(waiting)
        return self

    def _compile(self) -> None:
        self._made, self._bodies = self.unit.compile(self)
        self._state = "compiled"

    def _finish(self) -> None:
        for body in self._bodies:
            body.add_up()
        self.cost = self._bodies[0].total
        self.run, self._state = self._made, "ready"

    def _compile_and_run(self, *args: Any) -> Any:
        return self.prepare().run(*args)


def is_a_quietly(value: Any, t: Type) -> bool:
    """As `is_a`, where empty containers have every type."""
    return value in ([], {}) if isinstance(value, (list, dict)) and not value else is_a(value, t)
