"""One function or method of a scripted program as TorchScript."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
from types import ModuleType
from typing import Any, Protocol

import mt_core
import mt_nn
import mt_nn.functional as functional
from mt_core import Tensor, dtypes
from mt_core.api import _functions
from mt_nn.utils import rnn

from . import operators
from .formats import number_of_name
from .script_modules import FUNCTIONS
from .script_packed import PackedVariables
from .script_recurrent import PACKED, PACKING
from .script_text import (
    call_named,
    child,
    copied,
    is_packed_type,
    names_of,
    parsed,
    type_of_value,
    type_text,
    with_sizes,
)
from .translating import Unwritable

__all__ = ["Method"]

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


class Archive(Protocol):
    """Where classes and functions are written."""

    _of_module: dict[int, str]

    def module(self, module: Any) -> str: ...
    def attribute(self, cls: str, name: str, value: Any) -> None: ...
    def function(self, function: Any) -> str: ...
    def packed_class(self) -> str: ...
    def takes_packed(self, module: Any) -> None: ...


class Method(PackedVariables, ast.NodeTransformer):
    """Writes one function.

    Parameters
    ----------
    cls, module
        The class that it is a method of, or that a function becomes one of; None for a function of the archive.
    """

    def __init__(self, writer: Archive, cls: str | None, module: Any, function: Any, name: str) -> None:
        self.writer, self.cls, self.module, self.name = writer, cls, module, name
        self.function = inspect.unwrap(getattr(function, "__wrapped__", function))
        self.methods: list[str] = []
        #: Variables that stand for parts of the module in a round of an unrolled loop.
        self._parts: dict[str, Any] = {}
        self._packed = {}
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
        self._names = names_of(self.function)
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
            if is_packed_type(hints.get(arg.arg)):
                self._packed[arg.arg] = "packed"
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
        found = type_text(hint)
        if found is None:
            raise self.refused(node, f"the type {hint}")
        if PACKED[0] in found:
            self.writer.packed_class()
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
            text = self._text(node.value)
            self._packed.update({node.target.id: "packed"} if kind == PACKED[0] else {})
            return [f"{node.target.id} = annotate({kind}, {text})"]
        if isinstance(node, ast.Assign) and len(node.targets) != 1:
            raise self.refused(node, "several targets")
        held = self._held(node.targets[0], node.value) if isinstance(node, ast.Assign) else {}
        lines = ast.unparse(ast.fix_missing_locations(self.generic_visit(node))).split("\n")
        self._packed = {name: what for name, what in {**self._packed, **held}.items() if what}
        return lines

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
        for number, part in enumerate(children):
            self._parts[name.id] = part
            if counted:
                lines.append(f"{target.elts[0].id} = {number}")
            lines += [line for s in node.body for line in self._statement(copied(s))]
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
                return child(owner, str(node.slice.value))
        return None

    def _children(self, node: ast.AST) -> list[tuple[Any, str]] | None:
        owner = self._object(node)
        if owner is None or not isinstance(owner[0], (mt_nn.ModuleList, mt_nn.Sequential)):
            return None
        return [child(owner, name) for name in owner[0]._modules]

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
            return parsed(part[1])
        return self._constant(self._evaluated(node), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        owner = self._object(node.value)
        if owner is not None:
            return self._attribute(owner, node)
        if self._is_outside(node):
            return self._constant(self._evaluated(node), node)
        node.value = self.visit(node.value)
        return call_named("torch.size", [node.value]) if node.attr == "shape" else node

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
            if type_of_value(value) is None:
                raise self.refused(node, f"an attribute that is a {type(value).__name__}")
            self.writer.attribute(self.writer._of_module[id(module)], node.attr, value)
        made = parsed(f"{text}.{node.attr}")
        made.ctx = node.ctx
        return made

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        part = self._object(node)
        return self.generic_visit(node) if part is None else parsed(part[1])

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
        return call_named("torch.format", [ast.Constant(form), *values])

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        generator = node.generators[0]
        if len(node.generators) != 1 or generator.ifs or not isinstance(generator.target, ast.Name):
            raise self.refused(node, "a comprehension with conditions or several loops")
        children = self._children(generator.iter)
        if children is None:
            return self.generic_visit(node)
        items: list[Any] = []
        for part in children:
            self._parts[generator.target.id] = part
            items.append(self.visit(copied(node.elt)))
        del self._parts[generator.target.id]
        return ast.List(items, ast.Load())

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1:
            return self.generic_visit(node)
        operands: list[Any] = [node.left, *node.comparators]
        if not all(isinstance(one, (ast.Name, ast.Constant)) for one in operands[1:-1]):
            raise self.refused(node, "a chain of comparisons of what is computed")
        pairs: list[Any] = [
            ast.Compare(copied(a), [op], [copied(b)]) for a, op, b in zip(operands, node.ops, operands[1:])
        ]
        compared: list[Any] = [self.generic_visit(pair) for pair in pairs]
        return ast.BoolOp(ast.And(), compared)

    # Calls

    def visit_Call(self, node: ast.Call) -> Any:
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise self.refused(node, "arguments that are unpacked")
        part = self._object(node.func)
        if part is not None:
            self.writer.module(part[0])
            method = "forward"
            if self._takes_packed(part[0], node):
                self.writer.takes_packed(part[0])
                method = "forward__1"
            return self._called(parsed(f"{part[1]}.{method}"), node)
        if isinstance(node.func, ast.Attribute):
            owner = self._object(node.func.value)
            if owner is not None:
                return self._method(owner, node)
            if not self._is_outside(node.func):
                name = node.func.attr
                if name in _CASTS and not node.args and not node.keywords:
                    number = number_of_name(f"torch.{_CASTS[name]}")
                    return call_named("torch.to", [self.visit(node.func.value), ast.Constant(number)])
                made = self._called(ast.Attribute(self.visit(node.func.value), name, ast.Load()), node)
                return with_sizes(made) if name in _SIZED else made
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
        return self._called(parsed(f"{text}.{name}"), node)

    def _outside(self, node: ast.Call) -> Any:
        return self._of_value(self._evaluated(node.func), node)

    def _of_value(self, value: Any, node: ast.Call) -> Any:
        """A call of what is no part of the module: an operator, or a function of Python's or of the program."""
        name = getattr(value, "__name__", "")
        if value is getattr(builtins, name, None):
            if name == "isinstance" and len(node.args) == 2:
                kinds: list[Any] = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
                types = [self._type(self._evaluated(kind), node) for kind in kinds]
                text = types[0] if len(types) == 1 else f"({', '.join(types)})"
                return parsed(f"isinstance({self._text(node.args[0])}, {text})")
            if name in _KEPT:
                return self._called(ast.Name(name, ast.Load()), node)
            if name in _BUILTINS:
                return self._called(parsed(_BUILTINS[name]), node)
            raise self.refused(node, "a function of Python that TorchScript has not")
        if value is getattr(math, name, None) and name in _MATH:
            return self._called(parsed(f"torch.{'abs' if name == 'fabs' else name}"), node)
        owner = functional if name in FUNCTIONS else rnn if name in PACKING else None
        if owner is not None and value is getattr(owner, name, None):
            return self._called(parsed(self.writer.function(name)), node)
        if name and (value is getattr(_functions, name, None) or value is getattr(mt_core, name, None)):
            if not operators.is_known(name):
                raise self.refused(node, "a function that is no operator")
            made = self._called(parsed(f"torch.{name}"), node)
            return with_sizes(made, 0) if name in _SIZED_FUNCTIONS else made
        if getattr(value, "__module__", "").startswith(("mindtorch.jit", "torch.jit")) and name == "annotate":
            kind = self._type(self._evaluated(node.args[0]), node)
            return parsed(f"annotate({kind}, {self._text(node.args[1])})")
        function = getattr(value, "__wrapped__", value)
        own = getattr(function, "__module__", "").partition(".")[0]
        if inspect.isfunction(function) and own not in ("mt_core", "mt_nn", "mindtorch", "mt_autograd", "torch"):
            return self._called(parsed(self.writer.function(function)), node)
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
            return ast.Constant(value) if math.isfinite(value) else parsed("nan" if value != value else
                                                                          "inf" if value > 0 else "-inf")  # fmt: skip
        if type(value) in (tuple, list):
            return ast.List([self._constant(item, node) for item in value], ast.Load())
        raise self.refused(node, f"a {type(value).__name__} outside of the function")
