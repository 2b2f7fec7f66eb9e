"""Functions of an archive as Python functions: expressions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from . import on_containers, on_numbers, on_tensors  # noqa: F401 (they fill the table)
from .calls import Calls
from .classes import Function, refused
from .limits import Body, charge
from .made import Made, local
from .sequences import item_of, sliced
from .sources import plain_name, plain_text
from .types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    dotted,
    joined,
    list_of,
)  # fmt: skip
from .values import ScriptObject

__all__ = ["Expressions", "is_module_type"]

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "remainder",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "__and__", ast.BitOr: "__or__", ast.BitXor: "__xor__",
    ast.LShift: "__lshift__", ast.RShift: "__rshift__",
}  # fmt: skip
_COMPARED = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Is: "__is__",
    ast.IsNot: "__isnot__",
}  # fmt: skip
#: Attributes of modules that are Python's own.
_OWN = ("training", "_is_full_backward_hook")


class Expressions(Calls):
    """Compiles expressions."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.variables: dict[str, Type] = {}
        self.space: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._count = 0
        #: The function and the rounds of its loops, and which of them is being compiled.
        self.bodies = [Body()]
        self.body = self.bodies[0]

    def file_name(self) -> str:
        """What tracebacks call the code."""
        return f"torchscript:{self.function.record}"

    def fresh(self) -> str:
        """A Python name that is not used."""
        self._count += 1
        return f"t{self._count}"

    def value(self, value: Any) -> ast.expr:
        """A value that was found when compiling."""
        if value is None or type(value) in (bool, int, str):
            return ast.Constant(value)
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"c{len(self._names)}"
            self.space[name] = value
        return ast.Name(name, ast.Load())

    def call_of(
        self, function: Callable[..., Any], args: list[ast.expr], named: dict[str, ast.expr] | None = None
    ) -> ast.Call:
        """A call of a function of ours."""
        return ast.Call(self.value(function), args, [ast.keyword(k, v) for k, v in (named or {}).items()])

    # Expressions

    def expression(self, node: ast.expr) -> Made:
        """An expression of the archive as one of Python."""
        handler = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if handler is None:
            raise refused("not an expression of TorchScript", node, self.function.record)
        made: Made = handler(node)
        ast.copy_location(made.node, node)
        return made

    def condition(self, node: ast.expr) -> ast.expr:
        """An expression whose truth is asked for."""
        return self.expression(node).node

    def _of_constant(self, node: ast.Constant) -> Made:
        value = plain_text(node.value) if isinstance(node.value, str) else node.value
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
            raise refused("an integer of more than 64 bits", node, self.function.record)
        types = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STR, type(None): NONE}
        if type(value) not in types:
            raise refused("not a constant of TorchScript", node, self.function.record)
        return Made(self.value(value), types[type(value)])

    def _of_name(self, node: ast.Name) -> Made:
        if node.id in self.variables:
            t = self.variables[node.id]
            if t.name in ("function", "type"):
                return Made(self.value(t.cls), t)
            return Made(ast.Name(local(node.id), ast.Load()), t)
        if node.id in ("inf", "nan", "infj", "nanj"):
            number = complex(node.id) if node.id.endswith("j") else float(node.id)
            return Made(self.value(number), COMPLEX if node.id.endswith("j") else FLOAT)
        raise refused("undefined value", node, self.function.record)

    def _of_attribute(self, node: ast.Attribute) -> Made:
        name = dotted(node)
        root = "" if name is None else name.partition(".")[0]
        if name is not None and root not in self.variables:
            found = self._of_dotted(name)
            if found is not None:
                return found
            if root in ("torch", "ops", "__torch__", "CONSTANTS"):
                raise refused("undefined value", node, self.function.record)
        return self.attribute(self.expression(node.value), plain_name(node.attr), node)

    def _of_dotted(self, name: str) -> Made | None:
        """A constant, class or function of the archive."""
        owner, _, member = name.rpartition(".")
        if owner == "CONSTANTS":
            value = self.function.unit.constant(member)
            t = TENSOR if hasattr(value, "requires_grad") else UNKNOWN
            return Made(self.value(value), t)
        if name.startswith("__torch__."):
            unit = self.function.unit
            if unit.sources.find(name) is None and unit.sources.find(owner) is not None:
                cls = unit.class_named(owner)
                if cls.kind == "enum" and member in cls._members:
                    return Made(self.value(cls.python[member]), Type("class", (), cls))
            found = unit.named(name)
            return Made(self.value(found), Type("function" if isinstance(found, Function) else "type", (), found))
        return self.number_named(name)

    def attribute(self, owner: Made, name: str, node: ast.AST) -> Made:
        """An attribute of an instance, a field of a named tuple, or what is asked of a tensor."""
        cls = owner.type.cls if owner.type.name == "class" else None
        if cls is None:
            return self.asked(owner, name, node)
        if cls.kind == "namedtuple" and name in cls.attributes:
            place = list(cls.attributes).index(name)
            return Made(ast.Subscript(owner.node, ast.Constant(place), ast.Load()), cls.attributes[name])
        if cls.kind == "enum" and name in ("value", "name"):
            return Made(ast.Attribute(owner.node, name, ast.Load()), STR if name == "name" else UNKNOWN)
        if name in cls.constants:
            t, value = cls.constants[name]
            return Made(self.value(value), t)
        if name not in cls.attributes:
            raise refused(f"the class {cls.name} has no attribute '{plain_name(name)}'", node, self.function.record)
        return Made(_place(owner.node, cls, name, ast.Load()), cls.attributes[name])

    def attribute_store(self, target: ast.Attribute, value: Made) -> ast.stmt:
        """An attribute of an instance is set."""
        owner, name = self.expression(target.value), plain_name(target.attr)
        cls = owner.type.cls if owner.type.name == "class" else None
        if cls is None or name not in cls.attributes or cls.kind not in ("module", "class"):
            raise refused(f"'{name}' is no attribute that is set", target, self.function.record)
        return ast.Assign([_place(owner.node, cls, name, ast.Store())], value.node)

    def _of_tuple(self, node: ast.Tuple) -> Made:
        items = [self.expression(item) for item in node.elts]
        return Made(ast.Tuple([i.node for i in items], ast.Load()), Type("Tuple", tuple(i.type for i in items)))

    def _of_list(self, node: ast.List) -> Made:
        items = [self.expression(item) for item in node.elts]
        return Made(ast.List([i.node for i in items], ast.Load()), list_of(_common(items)))

    def _of_dict(self, node: ast.Dict) -> Made:
        if None in node.keys:
            raise refused("not an expression of TorchScript", node, self.function.record)
        keys = [self.expression(k) for k in node.keys if k is not None]
        values = [self.expression(v) for v in node.values]
        made = ast.Dict([k.node for k in keys], [v.node for v in values])
        return Made(made, Type("Dict", (_common(keys), _common(values))))

    def _of_ifexp(self, node: ast.IfExp) -> Made:
        a, b = self.expression(node.body), self.expression(node.orelse)
        return Made(ast.IfExp(self.condition(node.test), a.node, b.node), joined(a.type, b.type))

    def _of_boolop(self, node: ast.BoolOp) -> Made:
        return Made(ast.BoolOp(node.op, [self.condition(value) for value in node.values]), BOOL)

    def _of_unaryop(self, node: ast.UnaryOp) -> Made:
        if isinstance(node.op, ast.Not):
            return Made(ast.UnaryOp(ast.Not(), self.condition(node.operand)), BOOL)
        if isinstance(node.op, ast.UAdd):
            raise refused("not an expression of TorchScript", node, self.function.record)
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
                return Made(self.value(-value), self.expression(node.operand).type)
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Name) and node.operand.id == "inf":
            return Made(self.value(-float("inf")), FLOAT)
        name = "neg" if isinstance(node.op, ast.USub) else "bitwise_not"
        return self.operator_call(name, [self.expression(node.operand)], {}, node)

    def _of_binop(self, node: ast.BinOp) -> Made:
        return self.binary(node.op, self.expression(node.left), self.expression(node.right), node)

    def binary(self, op: ast.operator, a: Made, b: Made, node: ast.AST) -> Made:
        """``a + b`` and its like."""
        if isinstance(op, ast.Mod) and a.type == STR:
            return self.operator_call("percentFormat", [a, b], {}, node)
        name = _BINARY[type(op)]
        if name == "floordiv" and TENSOR in (a.type, b.type):
            name = "floor_divide"
        return self.operator_call(name, [a, b], {}, node)

    def augmented(self, target: ast.expr, op: ast.operator, value: ast.expr) -> Made:
        """What ``target += value`` assigns: tensors and lists are changed in place."""
        a, b = self.expression(target), self.expression(value)
        if a.type == TENSOR and type(op) in (ast.Add, ast.Sub, ast.Mult, ast.Div):
            return self.operator_call(_BINARY[type(op)] + "_", [a, b], {}, target)
        if a.type.name == "List" and isinstance(op, ast.Add):
            return Made(self.operator_call("add_", [a, b], {}, target).node, a.type)
        return self.binary(op, a, b, target)

    def _of_compare(self, node: ast.Compare) -> Made:
        if len(node.ops) != 1:
            raise refused("comparisons are not chained", node, self.function.record)
        a, b = self.expression(node.left), self.expression(node.comparators[0])
        op = node.ops[0]
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self.operator_call("__contains__", [b, a], {}, node)
            return Made(ast.UnaryOp(ast.Not(), found.node), BOOL) if isinstance(op, ast.NotIn) else found
        return self.operator_call(_COMPARED[type(op)], [a, b], {}, node)

    # Items

    def _of_subscript(self, node: ast.Subscript) -> Made:
        owner = self.expression(node.value)
        if owner.type == TENSOR or isinstance(node.slice, (ast.Tuple, ast.Slice)) and owner.type is UNKNOWN:
            return Made(ast.Subscript(self.guarded(owner), self._index(node.slice), ast.Load()), TENSOR)
        if isinstance(node.slice, ast.Slice):
            parts = [ast.Constant(None) if p is None else self.expression(p).node
                     for p in (node.slice.lower, node.slice.upper)]  # fmt: skip
            if node.slice.step is not None:
                parts.append(self.expression(node.slice.step).node)
            return Made(
                self.call_of(sliced, [owner.node, *parts]), owner.type if owner.type.name != "Tuple" else UNKNOWN
            )
        key = self.expression(node.slice)
        t = _item_type(owner.type, node.slice)
        if owner.type.name in ("Tuple",) or owner.type.name == "class" and owner.type.cls.kind == "namedtuple":
            return Made(ast.Subscript(owner.node, key.node, ast.Load()), t)
        if owner.type.name == "class":
            return self.method_call(owner, "__getitem__", [key], {}, node)
        if owner.type is UNKNOWN or owner.type.name in ("Any", "Optional", "Union"):
            return Made(self.call_of(_any_item, [owner.node, key.node]), UNKNOWN)
        return Made(self.call_of(item_of, [owner.node, key.node]), t)

    def guarded(self, owner: Made) -> ast.expr:
        """A value that must be a tensor, text or list where its items are asked for."""
        return owner.node if owner.type == TENSOR else self.call_of(_indexable, [owner.node])

    def _index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._index(item) for item in node.elts], ast.Load())
        if isinstance(node, ast.Slice):
            parts = (None if p is None else self.expression(p).node for p in (node.lower, node.upper, node.step))
            return ast.Slice(*parts)
        if isinstance(node, ast.Constant) and node.value is Ellipsis:
            return ast.Constant(...)
        return self.expression(node).node

    def item_store(self, target: ast.Subscript, value: Made) -> ast.expr:
        """``owner[key] = value``."""
        owner = self.expression(target.value)
        if owner.type == TENSOR:
            return self.call_of(
                operator.setitem, [owner.node, self._index_value(self._index(target.slice)), value.node]
            )
        return self.operator_call("_set_item", [owner, self.expression(target.slice), value], {}, target).node

    def _index_value(self, node: ast.expr) -> ast.expr:
        """An index as an expression: slices can be written in brackets alone."""
        if isinstance(node, ast.Slice):
            nothing = ast.Constant(None)
            return self.call_of(slice, [node.lower or nothing, node.upper or nothing, node.step or nothing])
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._index_value(item) for item in node.elts], ast.Load())
        return node

    def _of_listcomp(self, node: ast.ListComp) -> Made:
        if len(node.generators) != 1 or node.generators[0].ifs or node.generators[0].is_async:
            raise refused("not an expression of TorchScript", node, self.function.record)
        generator = node.generators[0]
        if not isinstance(generator.target, ast.Name):
            raise refused("not an expression of TorchScript", node, self.function.record)
        over = self.iterated(generator.iter)
        before = dict(self.variables)
        self.variables[generator.target.id] = over.type.parts[0] if over.type.name == "List" else UNKNOWN
        item = self.expression(node.elt)
        self.variables = before
        target = ast.Name(local(generator.target.id), ast.Store())
        counted = self.call_of(_counted, [over.node])
        made = ast.ListComp(item.node, [ast.comprehension(target, counted, [], 0)])
        return Made(made, list_of(item.type))

    def _of_joinedstr(self, node: ast.JoinedStr) -> Made:
        form, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                form += plain_text(str(part.value))
            elif isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None:
                form += "{}"
                values.append(self.expression(part.value))
            else:
                raise refused("not an expression of TorchScript", node, self.function.record)
        return self.operator_call("format", [Made(ast.Constant(form), STR), *values], {}, node)


def _place(owner: ast.expr, cls: Any, name: str, context: ast.expr_context) -> ast.expr:
    """Where an instance keeps an attribute."""
    if cls.kind == "module":
        if name in _OWN:
            return ast.Attribute(owner, name, context)
        room = (
            "_parameters" if name in cls.parameters else "_buffers" if name in cls.buffers
            else "_modules" if is_module_type(cls.attributes[name]) else "_attributes"
        )  # fmt: skip
    else:
        room = "_attributes"
    return ast.Subscript(ast.Attribute(owner, room, ast.Load()), ast.Constant(name), context)


def is_module_type(t: Type) -> bool:
    """Whether values of a type are modules, which are parts of modules and not attributes."""
    return t.name == "class" and t.cls.kind in ("module", "interface")


def _common(items: list[Made]) -> Type:
    found: Type | None = None
    for item in items:
        found = item.type if found is None else joined(found, item.type)
    return UNKNOWN if found is None else found


def _item_type(t: Type, key: ast.expr) -> Type:
    if t.name == "Tuple":
        place = _literal_place(key)
        return t.parts[place] if place is not None and -len(t.parts) <= place < len(t.parts) else UNKNOWN
    if t.name == "class" and t.cls.kind == "namedtuple":
        types, place = list(t.cls.attributes.values()), _literal_place(key)
        return types[place] if place is not None and -len(types) <= place < len(types) else UNKNOWN
    if t.name in ("List", "Dict"):
        return t.parts[-1]
    return STR if t == STR else UNKNOWN


def _literal_place(key: ast.expr) -> int | None:
    if isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub) and isinstance(key.operand, ast.Constant):
        value = key.operand.value
        return -value if type(value) is int else None
    return key.value if isinstance(key, ast.Constant) and type(key.value) is int else None


def _indexable(value: Any) -> Any:
    if isinstance(value, (ScriptObject, type)) or not hasattr(type(value), "__getitem__"):
        raise RuntimeError(f"'{type(value).__name__}' object cannot be indexed")
    return value


def _any_item(value: Any, key: Any) -> Any:
    return item_of(value, key) if isinstance(value, (list, tuple, str, dict)) else _indexable(value)[key]


def _counted(items: Any) -> Any:
    charge(len(items))
    return items
