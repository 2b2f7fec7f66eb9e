"""Scripted modules and functions as modules of an archive: their Python is written as TorchScript.

What a method names outside of itself is looked up when it is written: modules become attributes, functions of
``torch`` operators, functions of a program functions of the archive, and numbers themselves. All that has no place in
TorchScript is refused with the line that has it. Whether types fit is checked by whoever loads the archive.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
import typing
from types import ModuleType
from typing import Any

import mt_core
import mt_nn
import mt_nn.functional as functional
from mt_core import Tensor, dtypes
from mt_core.api import _functions

from . import operators
from .classes import ScriptClass, Unit
from .compiling import compiled
from .formats import number_of_name
from .modules import LoadedModule, make_module
from .script_modules import FUNCTIONS, forward_of
from .sources import Sources
from .tracing import Writer
from .translating import Unwritable

__all__ = ["as_archive"]

#: Python's functions that the language has by the same name, and those that are operators there.
_KEPT = frozenset(("range", "enumerate", "zip", "reversed", "int", "float", "bool", "str", "print", "isinstance"))
_BUILTINS = {
    "len": "torch.len", "min": "ops.prim.min", "max": "ops.prim.max", "abs": "ops.prim.abs", "sorted": "torch.sorted",
    "round": "torch.round", "ord": "torch.ord", "divmod": "torch.divmod", "sum": "torch.sum", "any": "torch.any",
    "all": "torch.all",
}  # fmt: skip
_MATH = frozenset(("sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "floor", "ceil", "pow", "fabs", "isnan", "isinf"))
#: Methods of tensors that take sizes one by one.
_SIZED = frozenset(
    ("view", "reshape", "permute", "expand", "repeat", "new_zeros", "new_ones", "new_empty", "flip", "tile")
)
#: Methods of tensors that convert -> the dtype.
_CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32", "long": "int64",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool",
}  # fmt: skip
_SIZED_FUNCTIONS = frozenset(("zeros", "ones", "empty", "rand", "randn"))
_STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.If, ast.For, ast.While, ast.Pass, ast.Break,
    ast.Continue, ast.Assert, ast.Raise,
)  # fmt: skip
_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp,
    ast.Tuple, ast.List, ast.Dict, ast.Subscript, ast.Slice, ast.ListComp, ast.JoinedStr,
)  # fmt: skip


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
        writer.lines(name).extend(_Method(writer, name, None, obj.__wrapped__, "forward").text())
    else:
        name = writer.module(module)
    records = writer.records()
    unit = Unit(Sources(records.__getitem__, records), [], compiled)
    unit.sources.keep()
    known: dict[ScriptClass, type] = {}
    made = make_module(unit.class_named(name), known)
    if module is None:
        made._set_loaded("training", True)
    else:
        _fill(made, module, unit, known, {id(module): made})
    for cls in unit.classes():
        for function in cls.methods.values():
            function.prepare()
    return made


def _fill(made: LoadedModule, module: Any, unit: Unit, known: dict[ScriptClass, type], memo: dict[int, Any]) -> None:
    for name, t in made._script_class.attributes.items():
        if name in module._modules:
            child = module._modules[name]
            if id(child) not in memo:
                memo[id(child)] = part = make_module(t.cls, known)
                _fill(part, child, unit, known, memo)
            made._set_loaded(name, memo[id(child)])
        else:
            made._set_loaded(name, getattr(module, name))


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
            writing = _Method(self, name, module, function, method)
            text = writing.text()
            self.lines(name).extend(text)
            wanted += writing.methods
        return name

    def attribute(self, cls: str, name: str, value: Any) -> None:
        """Declare an attribute, unless it is."""
        line = f"{name} : {_type_of_value(value)}"
        if line not in self.lines(cls):
            first = next((i for i, text in enumerate(self.lines(cls)) if text.startswith("def ")), len(self.lines(cls)))
            self.lines(cls).insert(first, line)

    def function(self, function: Any) -> str:
        """The full name of a function of a program, or of ``torch.nn.functional``, in the archive."""
        key = function if isinstance(function, str) else id(function)
        if key in self._functions:
            found = self._functions[key]
            if found not in self._texts:
                raise Unwritable(f"torch.jit.save of the function {found}, which calls itself, is not supported.")
            return found
        if isinstance(function, str):
            name = self._functions[key] = f"__torch__.torch.nn.functional.{function}"
            self._texts[name] = textwrap.dedent(FUNCTIONS[function]).strip().split("\n")
            return name
        plain = f"__torch__.{function.__name__}" if function.__name__.isidentifier() else "__torch__.function"
        name, number = plain, 0
        while name in self._functions.values() or name in self._classes:
            owner, _, own = plain.rpartition(".")
            name, number = f"{owner}.___torch_mangle_{number}.{own}", number + 1
        self._functions[key] = name
        self._texts[name] = _Method(self, None, None, function, name.rpartition(".")[2]).text()
        return name


def _is_exported(function: Any) -> bool:
    return getattr(function, "_torchscript_modifier", None) is not None and "export" in str(
        function._torchscript_modifier
    )


class _Method(ast.NodeTransformer):
    """Writes one function.

    Parameters
    ----------
    cls, module
        The class that it is a method of, or that a function becomes one of; None for a function of the archive.
    """

    def __init__(self, writer: _ScriptWriter, cls: str | None, module: Any, function: Any, name: str) -> None:
        self.writer, self.cls, self.module, self.name = writer, cls, module, name
        self.function = inspect.unwrap(getattr(function, "__wrapped__", function))
        self.methods: list[str] = []
        #: Variables that stand for parts of the module in a round of an unrolled loop.
        self._parts: dict[str, Any] = {}
        try:
            lines, self._first = inspect.getsourcelines(self.function)
            tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        except (OSError, TypeError, SyntaxError, AttributeError) as error:
            raise Unwritable(
                f"torch.jit.save of {name}, whose Python cannot be read ({error}), is not supported."
            ) from None
        if not isinstance(tree, ast.FunctionDef):
            raise Unwritable(f"torch.jit.save of {name}, which is no function with statements, is not supported.")
        self._node = tree
        self._names = _names_of(self.function)
        arguments = tree.args
        self._self = arguments.args[0].arg if module is not None and arguments.args else None
        self._locals = {a.arg for a in arguments.args} | {
            n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }

    def refused(self, node: ast.AST, why: str) -> Unwritable:
        """The error for what cannot be written."""
        line = self._first + getattr(node, "lineno", 1) - 1
        file = self.function.__code__.co_filename
        text = ast.unparse(node).split("\n")[0][:120]
        return Unwritable(f"torch.jit.save: {why}: '{text}' ({file}, line {line}) is not supported by mindtorch.")

    def text(self) -> list[str]:
        """The definition, line by line."""
        args = self._node.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
            raise self.refused(self._node, "parameters that are no plain ones")
        hints = {
            name: self._annotation(hint, self._node) if isinstance(hint, str) else hint
            for name, hint in self.function.__annotations__.items()
        }
        plain = args.args[1:] if self._self else args.args
        defaults = [None] * (len(args.args) - len(args.defaults)) + list(args.defaults)
        parts = ["self" if self.cls and self.cls.isidentifier() else f"self: {self.cls}"] if self.cls else []
        for arg, default in zip(plain, defaults[len(args.args) - len(plain) :], strict=True):
            kind = self._type(hints.get(arg.arg, Tensor), arg)
            text = f"{arg.arg}: {kind}"
            if default is not None:
                if isinstance(default, ast.Constant) and default.value is None and not kind.startswith("Optional"):
                    raise self.refused(arg, "None as the default of a parameter whose type is not Optional")
                value = self._constant(inspect.signature(self.function).parameters[arg.arg].default, default)
                text += f"={ast.unparse(value)}"
            parts.append(text)
        returns = f" -> {self._type(hints['return'], self._node)}" if "return" in hints else ""
        body = [line for statement in self._node.body for line in self._statement(statement)] or ["pass"]
        return [f"def {self.name}({', '.join(parts)}){returns}:", *(f"  {line}" for line in body)]

    # Types

    def _annotation(self, text: str, node: ast.AST) -> Any:
        """The value of an annotation, which Python would evaluate as well."""
        try:
            return eval(text, dict(self._names))  # noqa: S307 - the program's own text
        except (NameError, AttributeError, TypeError) as error:
            raise self.refused(node, f"an annotation that cannot be evaluated ({error})") from None

    def _type(self, hint: Any, node: ast.AST) -> str:
        found = _type_text(hint)
        if found is None:
            raise self.refused(node, f"the type {hint}")
        return found

    # Statements

    def _block(self, statements: list[ast.stmt]) -> list[str]:
        return [f"  {line}" for s in statements for line in self._statement(s)] or ["  pass"]

    def _statement(self, node: ast.stmt) -> list[str]:
        if not isinstance(node, _STATEMENTS):
            raise self.refused(node, "a statement that TorchScript has not")
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return []
        if isinstance(node, ast.If):
            known = self._known(node.test)
            if known is not None:
                return [line for s in (node.body if known else node.orelse) for line in self._statement(s)]
            lines = [f"if {self._text(node.test)}:", *self._block(node.body)]
            return [*lines, "else:", *self._block(node.orelse)] if node.orelse else lines
        if isinstance(node, ast.While):
            self._refuse_else(node)
            return [f"while {self._text(node.test)}:", *self._block(node.body)]
        if isinstance(node, ast.For):
            self._refuse_else(node)
            return self._for(node)
        if isinstance(node, ast.Raise):
            return [self._raise(node)]
        if isinstance(node, ast.AnnAssign):
            if not isinstance(node.target, ast.Name) or node.value is None:
                raise self.refused(node, "an annotation without a value")
            kind = self._type(self._evaluated(node.annotation), node)
            return [f"{node.target.id} = annotate({kind}, {self._text(node.value)})"]
        if isinstance(node, ast.Assign) and len(node.targets) != 1:
            raise self.refused(node, "several targets")
        return ast.unparse(ast.fix_missing_locations(self.generic_visit(node))).split("\n")

    def _refuse_else(self, node: ast.For | ast.While) -> None:
        if node.orelse:
            raise self.refused(node, "a loop with else")

    def _raise(self, node: ast.Raise) -> str:
        call = node.exc
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or len(call.args) > 1 or node.cause:
            raise self.refused(node, "an exception that is no class with a text")
        message = self._text(call.args[0]) if call.args else "''"
        return f"ops.prim.RaiseException({message}, 'builtins.{call.func.id}')"

    def _for(self, node: ast.For) -> list[str]:
        """A loop; over parts of the module, its rounds one after the other."""
        over, counted = node.iter, False
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "enumerate":
            over, counted = over.args[0], True
        children = self._children(over)
        if children is None:
            return [f"for {ast.unparse(node.target)} in {self._text(node.iter)}:", *self._block(node.body)]
        if any(isinstance(n, (ast.Break, ast.Continue)) for s in node.body for n in ast.walk(s)):
            raise self.refused(node, "break or continue in a loop over modules")
        target: Any = node.target
        if counted and not (isinstance(target, ast.Tuple) and len(target.elts) == 2):
            raise self.refused(node, "a loop over modules and their numbers")
        name: Any = target.elts[1] if counted else target
        if not isinstance(name, ast.Name):
            raise self.refused(node, "a loop over modules")
        lines = []
        for number, child in enumerate(children):
            self._parts[name.id] = child
            if counted:
                lines.append(f"{target.elts[0].id} = {number}")
            lines += [line for s in node.body for line in self._statement(_copy(s))]
        del self._parts[name.id]
        return lines

    # Parts of the module

    def _object(self, node: ast.AST) -> tuple[Any, str] | None:
        """The module, or a part of it, that an expression names, and its text; None of anything else."""
        if isinstance(node, ast.Name):
            if self._self is not None and node.id == self._self:
                return self.module, "self"
            return self._parts.get(node.id)
        if isinstance(node, ast.Attribute) and (owner := self._object(node.value)) is not None:
            child = owner[0]._modules.get(node.attr)
            return None if child is None else (child, f"{owner[1]}.{node.attr}")
        if isinstance(node, ast.Subscript) and (owner := self._object(node.value)) is not None:
            if isinstance(node.slice, ast.Constant) and str(node.slice.value) in owner[0]._modules:
                return _child(owner, str(node.slice.value))
        return None

    def _children(self, node: ast.AST) -> list[tuple[Any, str]] | None:
        owner = self._object(node)
        if owner is None or not isinstance(owner[0], (mt_nn.ModuleList, mt_nn.Sequential)):
            return None
        return [_child(owner, name) for name in owner[0]._modules]

    def _known(self, test: ast.expr) -> bool | None:
        """What a test is known to be: whether an attribute is None, which its type says."""
        if isinstance(test, ast.Call) and self._is_outside(test.func):
            return True if getattr(self._evaluated(test.func), "__name__", "") == "is_scripting" else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            known = self._known(test.operand)
            return None if known is None else not known
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            right, left = test.comparators[0], test.left
            if isinstance(right, ast.Constant) and right.value is None and isinstance(left, ast.Attribute):
                owner = self._object(left.value)
                if owner is not None:
                    is_none = getattr(owner[0], left.attr) is None
                    return is_none == isinstance(test.ops[0], ast.Is)
        return None

    # Expressions

    def _text(self, node: ast.expr) -> str:
        return ast.unparse(ast.fix_missing_locations(self.visit(node)))

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and not isinstance(node, _EXPRESSIONS):
            raise self.refused(node, "an expression that TorchScript has not")
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or node.id in self._locals and node.id not in self._parts:
            return node
        if (part := self._object(node)) is not None:
            return _parsed(part[1])
        return self._constant(self._evaluated(node), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self._object(node.value)
        if owner is not None:
            return self._attribute(owner, node)
        if self._is_outside(node):
            return self._constant(self._evaluated(node), node)
        node.value = self.visit(node.value)
        return _call("torch.size", [node.value]) if node.attr == "shape" else node

    def _attribute(self, owner: tuple[Any, str], node: ast.Attribute) -> Any:
        module, text = owner
        if isinstance(node.ctx, ast.Load) and not hasattr(module, node.attr):
            raise self.refused(node, "an attribute that is not there")
        if inspect.isdatadescriptor(inspect.getattr_static(type(module), node.attr, None)):
            raise self.refused(node, "a property")
        value = getattr(module, node.attr, None)
        if value is None and isinstance(node.ctx, ast.Load):
            return ast.Constant(None)
        held = node.attr in module._parameters or node.attr in module._buffers or node.attr in module._modules
        if not held and node.attr != "training":
            if _type_of_value(value) is None:
                raise self.refused(node, f"an attribute that is a {type(value).__name__}")
            self.writer.attribute(self.writer._of_module[id(module)], node.attr, value)
        made = _parsed(f"{text}.{node.attr}")
        made.ctx = node.ctx
        return made

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        part = self._object(node)
        return self.generic_visit(node) if part is None else _parsed(part[1])

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        form, values = "", []
        for item in node.values:
            if isinstance(item, ast.Constant):
                form += str(item.value)
            elif isinstance(item, ast.FormattedValue) and item.conversion == -1 and item.format_spec is None:
                form += "{}"
                values.append(self.visit(item.value))
            else:
                raise self.refused(node, "a format of TorchScript has no such fields")
        return _call("torch.format", [ast.Constant(form), *values])

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        generator = node.generators[0]
        if len(node.generators) != 1 or generator.ifs or not isinstance(generator.target, ast.Name):
            raise self.refused(node, "a comprehension with conditions or several loops")
        children = self._children(generator.iter)
        if children is None:
            return self.generic_visit(node)
        items = []
        for child in children:
            self._parts[generator.target.id] = child
            items.append(self.visit(_copy(node.elt)))
        del self._parts[generator.target.id]
        return ast.List(items, ast.Load())

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1:
            return self.generic_visit(node)
        operands: list[Any] = [node.left, *node.comparators]
        if not all(isinstance(one, (ast.Name, ast.Constant)) for one in operands[1:-1]):
            raise self.refused(node, "a chain of comparisons of what is computed")
        pairs = [ast.Compare(_copy(a), [op], [_copy(b)]) for a, op, b in zip(operands, node.ops, operands[1:])]
        return ast.BoolOp(ast.And(), [self.generic_visit(pair) for pair in pairs])

    # Calls

    def visit_Call(self, node: ast.Call) -> Any:
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise self.refused(node, "arguments that are unpacked")
        part = self._object(node.func)
        if part is not None:
            self.writer.module(part[0])
            return self._called(_parsed(f"{part[1]}.forward"), node)
        if isinstance(node.func, ast.Attribute):
            owner = self._object(node.func.value)
            if owner is not None:
                return self._method(owner, node)
            if not self._is_outside(node.func):
                name = node.func.attr
                if name in _CASTS and not node.args and not node.keywords:
                    number = number_of_name(f"torch.{_CASTS[name]}")
                    return _call("torch.to", [self.visit(node.func.value), ast.Constant(number)])
                made = self._called(ast.Attribute(self.visit(node.func.value), name, ast.Load()), node)
                return _with_sizes(made) if name in _SIZED else made
        if isinstance(node.func, ast.Name) and node.func.id in self._locals:
            raise self.refused(node, "a call of a variable")
        return self._outside(node)

    def _called(self, func: Any, node: ast.Call) -> ast.Call:
        args = [self.visit(a) for a in node.args]
        return ast.Call(func, args, [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords])

    def _method(self, owner: tuple[Any, str], node: ast.Call) -> Any:
        """A call of a method of the module, or of a function that it holds."""
        module, text = owner
        name: str = node.func.attr  # type: ignore[attr-defined]
        held = inspect.getattr_static(module, name, None)
        if isinstance(held, staticmethod) or name in module.__dict__ and callable(module.__dict__[name]):
            return self._of_value(getattr(module, name), node)
        if not inspect.isfunction(held):
            raise self.refused(node, "a call of an attribute that is no method")
        if module is not self.module and name != "forward":
            raise self.refused(node, "a method of a part of the module")
        if module is self.module:
            self.methods.append(name)
        else:
            self.writer.module(module)
        return self._called(_parsed(f"{text}.{name}"), node)

    def _outside(self, node: ast.Call) -> Any:
        return self._of_value(self._evaluated(node.func), node)

    def _of_value(self, value: Any, node: ast.Call) -> Any:
        """A call of what is no part of the module: an operator, or a function of Python's or of the program."""
        name = getattr(value, "__name__", "")
        if value is getattr(builtins, name, None):
            if name == "isinstance" and len(node.args) == 2:
                kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
                types = [self._type(self._evaluated(kind), node) for kind in kinds]
                text = types[0] if len(types) == 1 else f"({', '.join(types)})"
                return _parsed(f"isinstance({self._text(node.args[0])}, {text})")
            if name in _KEPT:
                return self._called(ast.Name(name, ast.Load()), node)
            if name in _BUILTINS:
                return self._called(_parsed(_BUILTINS[name]), node)
            raise self.refused(node, "a function of Python that TorchScript has not")
        if value is getattr(math, name, None) and name in _MATH:
            return self._called(_parsed(f"torch.{'abs' if name == 'fabs' else name}"), node)
        if name in FUNCTIONS and value is getattr(functional, name, None):
            return self._called(_parsed(self.writer.function(name)), node)
        if name and (value is getattr(_functions, name, None) or value is getattr(mt_core, name, None)):
            if not operators.is_known(name):
                raise self.refused(node, "a function that is no operator")
            made = self._called(_parsed(f"torch.{name}"), node)
            return _with_sizes(made, 0) if name in _SIZED_FUNCTIONS else made
        if getattr(value, "__module__", "").startswith(("mindtorch.jit", "torch.jit")) and name == "annotate":
            kind = self._type(self._evaluated(node.args[0]), node)
            return _parsed(f"annotate({kind}, {self._text(node.args[1])})")
        function = getattr(value, "__wrapped__", value)
        own = getattr(function, "__module__", "").partition(".")[0]
        if inspect.isfunction(function) and own not in ("mt_core", "mt_nn", "mindtorch", "mt_autograd", "torch"):
            return self._called(_parsed(self.writer.function(function)), node)
        raise self.refused(node, "a call of what TorchScript cannot name")

    # What is outside of the function

    def _is_outside(self, node: ast.AST) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self._locals and node.id not in self._parts

    def _evaluated(self, node: ast.AST) -> Any:
        """The value of a name, or of attributes of one, outside of the function."""
        if isinstance(node, ast.Name):
            if node.id in self._names:
                return self._names[node.id]
            raise self.refused(node, "a name that is not defined")
        if isinstance(node, ast.Attribute):
            owner = self._evaluated(node.value)
            if isinstance(owner, (ModuleType, type)) and hasattr(owner, node.attr):
                return getattr(owner, node.attr)
        elif isinstance(node, (ast.Subscript, ast.Constant, ast.BinOp)):
            return self._annotation(ast.unparse(node), node)
        raise self.refused(node, "a value outside of the function")

    def _constant(self, value: Any, node: ast.AST) -> Any:
        if isinstance(value, dtypes.dtype):
            return ast.Constant(number_of_name(f"torch.{value.name}"))
        if value is None or type(value) in (bool, int, str):
            return ast.Constant(value)
        if type(value) is float:
            return ast.Constant(value) if math.isfinite(value) else _parsed("nan" if value != value else
                                                                          "inf" if value > 0 else "-inf")  # fmt: skip
        if type(value) in (tuple, list):
            return ast.List([self._constant(item, node) for item in value], ast.Load())
        raise self.refused(node, f"a {type(value).__name__} outside of the function")


def _child(owner: tuple[Any, str], name: str) -> tuple[Any, str]:
    plain = name.isidentifier()
    return owner[0]._modules[name], f"{owner[1]}.{name}" if plain else f'getattr({owner[1]}, "{name}")'


def _copy(node: Any) -> Any:
    return ast.parse(ast.unparse(node)).body[0] if isinstance(node, ast.stmt) else _parsed(ast.unparse(node))


def _parsed(text: str) -> Any:
    return ast.parse(text, mode="eval").body


def _call(name: str, args: list[Any]) -> ast.Call:
    return ast.Call(_parsed(name), args, [])


def _with_sizes(call: ast.Call, first: int = 0) -> ast.Call:
    """A call whose sizes are one list, as operators take them."""
    args = call.args[first:]
    if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)):
        call.args[first:] = [ast.List(args[0].elts, ast.Load())]
    elif len(args) > 1 or args and not isinstance(args[0], (ast.Name, ast.Attribute)):
        if not (args and isinstance(args[0], ast.Call) and ast.unparse(args[0]).startswith("torch.size(") and
                len(args[0].args) == 1):  # fmt: skip
            call.args[first:] = [ast.List(args, ast.Load())]
    return call


def _names_of(function: Any) -> dict[str, Any]:
    """What a function sees around it."""
    found = {**vars(builtins), **function.__globals__}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**found, **{name: cell.cell_contents for name, cell in cells}}


_NAMES: dict[Any, str] = {
    Tensor: "Tensor", int: "int", float: "float", bool: "bool", str: "str", complex: "complex", None: "NoneType",
    type(None): "NoneType", mt_core.device: "Device", dtypes.dtype: "int",
}  # fmt: skip


def _type_text(hint: Any) -> str | None:
    """An annotation as TorchScript writes it; None where it has no such type."""
    if isinstance(hint, type) and issubclass(hint, Tensor):
        return "Tensor"
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return _NAMES.get(hint) if hint is None or isinstance(hint, type) else None
    parts = [_type_text(arg) for arg in args]
    if None in parts:
        return None
    if type(None) in args:
        rest = [part for part, arg in zip(parts, args, strict=True) if arg is not type(None)]
        return f"Optional[{rest[0]}]" if len(rest) == 1 else None
    name = {list: "List", dict: "Dict", tuple: "Tuple"}.get(origin)
    return None if name is None or Ellipsis in args else f"{name}[{', '.join(map(str, parts))}]"


def _type_of_value(value: Any) -> str | None:
    """The type of an attribute; None where TorchScript has none."""
    if isinstance(value, Tensor):
        return "Tensor"
    if type(value) in _NAMES:
        return _NAMES[type(value)]
    if isinstance(value, (list, tuple)) and value:
        kinds = [_type_of_value(item) for item in value]
        if None in kinds:
            return None
        if type(value) is tuple:
            return f"Tuple[{', '.join(map(str, kinds))}]"
        return f"List[{kinds[0]}]" if len(set(kinds)) == 1 else None
    if isinstance(value, dict) and value:
        pairs = {(_type_of_value(k), _type_of_value(v)) for k, v in value.items()}
        only = next(iter(pairs))
        return f"Dict[{only[0]}, {only[1]}]" if len(pairs) == 1 and None not in only else None
    return None
