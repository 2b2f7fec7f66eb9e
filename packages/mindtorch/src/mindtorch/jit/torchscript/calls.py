"""Functions of an archive as Python functions: calls of operators, functions and methods."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from mt_core import Tensor
from mt_library import OpOverloadPacket

from . import operators
from .classes import Function, refused
from .errors import RaisedException
from .formats import number_of_name
from .limits import Body, charge
from .made import Made, local
from .on_tensors import ATTRIBUTES, PRIMITIVES
from .sources import plain_name, plain_text
from .table import ANYWHERE, PLAIN, Entry
from .text import text_of
from .types import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NEVER,
    NONE,
    NUMBER,
    STR,
    TENSOR,
    UNKNOWN,
    Type,
    dotted,
    is_a,
    list_of,
    read_type,
)  # fmt: skip
from .values import Future, ScriptObject

__all__ = ["Calls"]

_INLINE = {
    "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "eq": ast.Eq, "ne": ast.NotEq,
}  # fmt: skip
_COMPARABLE = ({INT, FLOAT}, {STR}, {BOOL})


class Calls:
    """Compiles calls."""

    function: Function
    variables: dict[str, Type]
    body: Body
    value: Callable[[Any], ast.expr]
    call_of: Callable[..., ast.Call]
    expression: Callable[[ast.expr], Made]
    attribute: Callable[[Made, str, ast.AST], Made]
    condition: Callable[[ast.expr], ast.expr]

    def _of_call(self, node: ast.Call) -> Made:
        func = node.func
        if isinstance(func, ast.Name) and func.id not in self.variables:
            return self._builtin(func.id, node)
        name = dotted(func)
        root = "" if name is None else name.partition(".")[0]
        if name is not None and root in ("torch", "ops", "__torch__") and root not in self.variables:
            return self._named_call(name, node)
        if isinstance(func, ast.Name):
            t = self.variables[func.id]
            if t.name == "function":
                return self.function_call(t.cls, node)
            if t.name == "type":
                return self._construct(t.cls, node)
        elif isinstance(func, ast.Attribute):
            args, kwargs = self._arguments(node)
            return self.method_call(self.expression(func.value), plain_name(func.attr), args, kwargs, node)
        raise refused("not a call of TorchScript", node, self.function.record)

    def _arguments(self, node: ast.Call) -> tuple[list[Made], dict[str, Made]]:
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise refused("arguments are not unpacked", node, self.function.record)
        return [self.expression(a) for a in node.args], {str(k.arg): self.expression(k.value) for k in node.keywords}

    # Names

    def _named_call(self, name: str, node: ast.Call) -> Made:
        root, _, rest = name.partition(".")
        if root == "__torch__":
            return self._of_archive(name, node)
        if name == "torch.device":
            args, kwargs = self._arguments(node)
            return self.operator_call("device", args, kwargs, node)
        if root == "torch":
            namespace, operator = "aten", rest
        else:
            namespace, _, operator = rest.partition(".")
        if "." in operator or not operator:
            raise refused("undefined value", node, self.function.record)
        if (namespace, operator) == ("prim", "RaiseException"):
            args, _ = self._arguments(node)
            return Made(self.call_of(_raise_exception, [a.node for a in args]), NEVER)
        args, kwargs = self._arguments(node)
        if namespace == "prim":
            return self._primitive(operator, args, kwargs, node)
        if namespace != "aten":
            return self._of_library(namespace, operator, args, kwargs, node)
        return self.operator_call(operator, args, kwargs, node)

    def _of_archive(self, name: str, node: ast.Call) -> Made:
        if name.endswith(".__new__"):
            cls = self.function.unit.class_named(name.removesuffix(".__new__"))
            if cls.kind != "class":
                raise refused("not a class that is made", node, self.function.record)
            return Made(self.call_of(ScriptObject, [self.value(cls)]), Type("class", (), cls))
        found = self.function.unit.named(name)
        if isinstance(found, Function):
            return self.function_call(found, node)
        return self._construct(found, node)

    def _construct(self, cls: Any, node: ast.Call) -> Made:
        args, kwargs = self._arguments(node)
        if cls.kind == "namedtuple":
            named = {name: a.node for name, a in kwargs.items()}
            return Made(self.call_of(cls.python, [a.node for a in args], named), Type("class", (), cls))
        if cls.kind == "enum" and len(args) == 1:
            return Made(self.call_of(cls.python, [args[0].node]), Type("class", (), cls))
        init = cls.methods.get("__init__")
        if cls.kind != "class" or init is None:
            raise refused("not a class that is made", node, self.function.record)
        bound = self._bound(init, args, kwargs, node)
        return Made(self.call_of(_construct, [self.value(cls), self.value(init), *bound]), Type("class", (), cls))

    # Functions and methods

    def function_call(self, function: Function, node: ast.Call) -> Made:
        """A call of a function of the archive."""
        args, kwargs = self._arguments(node)
        return self._run(function, self._bound(function, args, kwargs, node))

    def _run(self, function: Function, args: list[ast.expr]) -> Made:
        run = ast.Attribute(self.value(function), "run", ast.Load())
        returns = UNKNOWN if function.returns is NEVER else function.returns
        return Made(ast.Call(run, args, []), returns)

    def _bound(self, function: Function, args: list[Made], kwargs: dict[str, Made], node: ast.AST) -> list[ast.expr]:
        """The arguments of a call in the order of the parameters."""
        parameters = function.parameters
        known = [p.name for p in parameters]
        wrong = len(args) > len(known) or any(k not in known[len(args) :] for k in kwargs)
        if wrong:
            raise refused(f"'{function.name}' does not take these arguments", node, self.function.record)
        self.body.callees.append(function)
        bound = [a.node for a in args]
        for parameter in parameters[len(args) :]:
            if parameter.name in kwargs:
                bound.append(kwargs[parameter.name].node)
            elif parameter.default is None:
                raise refused(f"'{function.name}' misses the argument '{parameter.name}'", node, self.function.record)
            else:
                default = function.default(parameter)
                mutable = isinstance(default, (list, dict))
                bound.append(self.call_of(default.copy, []) if mutable else self.value(default))
        return bound

    def method_call(self, owner: Made, name: str, args: list[Made], kwargs: dict[str, Made], node: ast.AST) -> Made:
        """A call of a method: of an instance, or, of a tensor, text or container, of the operator of that name."""
        cls = owner.type.cls if owner.type.name == "class" else None
        if cls is not None and cls.kind in ("module", "class"):
            method = cls.methods.get(name)
            if method is None:
                raise refused(f"the class {cls.name} has no method '{name}'", node, self.function.record)
            return self._run(method, [owner.node, *self._bound(method, args, kwargs, node)])
        if cls is not None and cls.kind == "interface" and name in cls.methods:
            named = {key: a.node for key, a in kwargs.items()}
            called = self.call_of(_call_method, [owner.node, ast.Constant(name), *(a.node for a in args)], named)
            return Made(called, cls.methods[name].returns)
        if owner.type in (UNKNOWN, ANY) and name in ("__enter__", "__exit__"):
            called = self.call_of(_call_method, [owner.node, ast.Constant(name), *(a.node for a in args)])
            return Made(called, UNKNOWN)
        if cls is not None:
            raise refused(f"the class {cls.name} has no method '{name}'", node, self.function.record)
        if name == "tolist":
            return self._primitive("tolist", [owner, *args], kwargs, node)
        if owner.type.name == "Future" and name == "wait":
            return self.operator_call("wait", [owner], {}, node)
        return self.operator_call(name, [owner, *args], kwargs, node)

    # Operators

    def operator_call(self, name: str, args: list[Made], kwargs: dict[str, Made], node: ast.AST) -> Made:
        """A call of an operator of the table."""
        first = _SIZES_AT.get(name)
        if first is not None and len(args) > first and all(a.type == INT for a in args[first:]):
            # Sizes one by one, as PyTorch takes them where code is not written by it.
            sizes = ast.List([a.node for a in args[first:]], ast.Load())
            args = [*args[:first], Made(sizes, Type("List", (INT,)))]
        types = [a.type for a in args]
        if name in ANYWHERE and not (name == "pop" and TENSOR in types[:1]):
            return self._entered(ANYWHERE[name], name, args, kwargs)
        entry = PLAIN.get(name)
        packet = operators.find_packet("aten", name)
        if entry is None and packet is None:
            if not operators.is_known(name):
                raise refused(f"Unknown builtin op: aten::{name}", node, self.function.record)
            return Made(self.call_of(_missing(name), []), UNKNOWN)
        before, older = operators.OLDER.get(name, (0, None))
        if older is not None and self.function.unit.number < before and not (name == "div" and TENSOR not in types):
            return Made(self._call(older, args, kwargs), TENSOR)
        if entry is None or TENSOR in types and packet is not None:
            return self._tensor_call(_known(packet), args, kwargs)
        if packet is None or not any(_may_be_tensor(t) for t in types):
            return self._entered(entry, name, args, kwargs)
        run = _either(entry.function, operators.run_by_values(packet))
        return Made(self._call(run, args, kwargs), UNKNOWN)

    def _entered(self, entry: Entry, name: str, args: list[Made], kwargs: dict[str, Made]) -> Made:
        types = [a.type for a in args]
        result = entry.type_for(types) if types else entry.result if isinstance(entry.result, Type) else UNKNOWN
        inline = _inline(name, args) if not kwargs else None
        return Made(self._call(entry.function, args, kwargs) if inline is None else inline, result)

    def _call(self, function: Callable[..., Any], args: list[Made], kwargs: dict[str, Made]) -> ast.Call:
        return self.call_of(function, [a.node for a in args], {name: a.node for name, a in kwargs.items()})

    def _tensor_call(self, packet: OpOverloadPacket, args: list[Made], kwargs: dict[str, Made]) -> Made:
        types, named = [a.type for a in args], {name: a.type for name, a in kwargs.items()}
        choice = operators.chosen(packet, types, named, certain=True)
        if choice is None:
            return Made(self._call(operators.run_by_values(packet), args, kwargs), _result_of_all(packet))
        result = operators.result_type(choice.operator)
        pinned = choice.operator._pin_at
        if pinned >= 0 and choice.sources[pinned] is not None:
            return Made(self._call(_running(choice), args, kwargs), result)
        return Made(self._direct(choice, args, kwargs), result)

    def _direct(self, choice: operators.Choice, args: list[Made], kwargs: dict[str, Made]) -> ast.expr:
        """A call of the overload itself, with all arguments of its schema."""
        bound: list[ast.expr] = []
        for source, convert, default in zip(choice.sources, choice.converters, choice.defaults, strict=True):
            if source is None:
                bound.append(self.value(default))
                continue
            given = (args[source] if isinstance(source, int) else kwargs[source]).node
            if convert is not None:
                given = self._converted(given, convert)
            bound.append(given)
        called = self.call_of(choice.operator._overload.call, bound)
        return self.call_of(list, [called]) if choice.operator._gives_list else called

    def _converted(self, given: ast.expr, convert: Callable[[Any], Any]) -> ast.expr:
        """An argument converted, at once where it is written out."""
        if isinstance(given, ast.Constant):
            return self.value(convert(given.value))
        if isinstance(given, ast.List) and all(isinstance(item, ast.Constant) for item in given.elts):
            return self.value(convert([item.value for item in given.elts]))  # type: ignore[attr-defined]
        return self.call_of(convert, [given])

    def _of_library(self, namespace: str, name: str, args: list[Made], kwargs: dict[str, Made], node: ast.AST) -> Made:
        packet = operators.find_packet(namespace, name)
        if packet is None:
            raise refused(f"Unknown builtin op: {namespace}::{name}", node, self.function.record)
        return self._tensor_call(packet, args, kwargs)

    def _primitive(self, name: str, args: list[Made], kwargs: dict[str, Made], node: ast.AST) -> Made:
        entry = PRIMITIVES.get(name)
        if name in ("min", "max", "abs"):
            return self.operator_call(name, args, kwargs, node)
        if entry is None:
            raise refused(f"Unknown builtin op: prim::{name}", node, self.function.record)
        return self._entered(entry, name, args, kwargs)

    def asked(self, owner: Made, name: str, node: ast.AST) -> Made:
        """What ``x.dtype`` and the like ask a tensor or device."""
        if name in ("shape", "ndim", "T", "mT", "H", "mH", "real", "imag"):
            operator = {"shape": "size", "ndim": "dim", "T": "numpy_T", "H": "matrix_H"}.get(name, name)
            return self.operator_call(operator, [owner], {}, node)
        if name in ATTRIBUTES and owner.type in (TENSOR, DEVICE, UNKNOWN):
            return self._primitive(ATTRIBUTES[name], [owner], {}, node)
        raise refused(f"'{owner.type}' has no attribute '{name}'", node, self.function.record)

    def number_named(self, name: str) -> Made | None:
        """A dtype, layout or memory format by its name in Python, which is a number."""
        number = number_of_name(name)
        return None if number is None else Made(ast.Constant(number), INT)

    # What the language has by itself

    def _builtin(self, name: str, node: ast.Call) -> Made:
        handler = getattr(self, f"_call_{name}", None)
        if handler is not None:
            result: Made = handler(node)
            return result
        args, kwargs = self._arguments(node)
        if name in _FREE_FUNCTIONS and not kwargs:
            return self.operator_call(_FREE_FUNCTIONS[name], args, {}, node)
        raise refused("undefined value", node.func, self.function.record)

    def _type_argument(self, node: ast.Call) -> tuple[Type, Made]:
        if len(node.args) != 2 or node.keywords:
            raise refused("a type and a value", node, self.function.record)
        return read_type(node.args[0], self.function.unit.class_named), self.expression(node.args[1])

    def _call_annotate(self, node: ast.Call) -> Made:
        t, value = self._type_argument(node)
        if t in (INT, FLOAT, COMPLEX, NUMBER) and value.type in (TENSOR, UNKNOWN, INT) and value.type != t:
            kinds: dict[Type, Callable[[Any], Any]] = {INT: int, FLOAT: float, COMPLEX: complex, NUMBER: _number}
            return Made(self.call_of(_implicit(kinds[t]), [value.node]), t)
        return Made(value.node, t)

    def _call_unchecked_cast(self, node: ast.Call) -> Made:
        t, value = self._type_argument(node)
        return Made(value.node, t)

    def _call_uninitialized(self, node: ast.Call) -> Made:
        return Made(ast.Constant(None), NEVER)

    def _call_isinstance(self, node: ast.Call) -> Made:
        if len(node.args) != 2:
            raise refused("a value and a type", node, self.function.record)
        value, named = self.expression(node.args[0]), node.args[1]
        nodes = named.elts if isinstance(named, (ast.Tuple, ast.List)) else [named]
        types = [read_type(n, self.function.unit.class_named) for n in nodes]
        return Made(self.call_of(_is_any, [value.node, self.value(types)]), BOOL)

    def _call_getattr(self, node: ast.Call) -> Made:
        if len(node.args) != 2 or not isinstance(node.args[1], ast.Constant) or not isinstance(node.args[1].value, str):
            raise refused("a value and the name of an attribute", node, self.function.record)
        return self.attribute(self.expression(node.args[0]), plain_text(node.args[1].value), node)

    def _call_print(self, node: ast.Call) -> Made:
        args, _ = self._arguments(node)
        return Made(self.call_of(_print, [a.node for a in args]), NONE)

    def _call_int(self, node: ast.Call) -> Made:
        return self._conversion(node, "Int", INT)

    def _call_float(self, node: ast.Call) -> Made:
        return self._conversion(node, "Float", FLOAT)

    def _call_bool(self, node: ast.Call) -> Made:
        return self._conversion(node, "Bool", BOOL)

    def _call_complex(self, node: ast.Call) -> Made:
        return self._conversion(node, "Complex", COMPLEX)

    def _conversion(self, node: ast.Call, name: str, t: Type) -> Made:
        args, _ = self._arguments(node)
        if len(args) == 1 and args[0].type == t:
            return args[0]
        return Made(self.call_of(PLAIN[name].function, [a.node for a in args]), t)

    def _call_fork(self, node: ast.Call) -> Made:
        if len(node.args) == 1 and isinstance(node.args[0], ast.Name):
            name = node.args[0].id
            if self.variables.get(name) == Type("closure"):
                run = ast.Name(local(name), ast.Load())
                return Made(self.call_of(_forked, [run]), Type("Future", (UNKNOWN,)))
        raise refused("fork takes a function without parameters", node, self.function.record)

    def iterated(self, node: ast.expr) -> Made:
        """What a loop goes through."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in self.variables:
            handler = getattr(self, f"_iterated_{node.func.id}", None)
            if handler is not None:
                result: Made = handler(node)
                return result
        value = self.expression(node)
        t = value.type
        item = t.parts[0] if t.name in ("List", "Dict") else STR if t == STR else TENSOR if t == TENSOR else UNKNOWN
        return Made(self.call_of(_items_of, [value.node]), list_of(item))

    def _iterated_range(self, node: ast.Call) -> Made:
        args, _ = self._arguments(node)
        return Made(self.call_of(_range, [a.node for a in args]), list_of(INT))

    def _iterated_enumerate(self, node: ast.Call) -> Made:
        over = self.iterated(node.args[0])
        pairs = Type("Tuple", (INT, over.type.parts[0]))
        start = [self.expression(a).node for a in node.args[1:]]
        return Made(self.call_of(_enumerated, [over.node, *start]), list_of(pairs))

    def _iterated_zip(self, node: ast.Call) -> Made:
        over = [self.iterated(a) for a in node.args]
        items = Type("Tuple", tuple(o.type.parts[0] for o in over))
        return Made(self.call_of(_zipped, [o.node for o in over]), list_of(items))

    def _iterated_reversed(self, node: ast.Call) -> Made:
        over = self.iterated(node.args[0])
        return Made(self.call_of(_reversed, [over.node]), over.type)

    raise_exception = staticmethod(lambda *args: _raise_exception(*args))

    def raised(self, node: ast.Raise) -> ast.expr:
        """``raise ValueError(text)``."""
        if isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            args, _ = self._arguments(node.exc)
            text = args[0].node if args else ast.Constant("")
            return self.call_of(_raise_exception, [text, ast.Constant(f"builtins.{node.exc.func.id}")])
        if isinstance(node.exc, ast.Name):
            return self.call_of(_raise_exception, [ast.Constant("")])
        raise refused("not an exception of TorchScript", node, self.function.record)


#: Operators that take sizes one by one too -> the place of the first of them.
_SIZES_AT = {
    **dict.fromkeys(("view", "reshape", "permute", "expand", "repeat", "flip", "tile"), 1),
    **dict.fromkeys(("new_zeros", "new_ones", "new_empty"), 1),
    **dict.fromkeys(("zeros", "ones", "empty", "rand", "randn"), 0),
}  # fmt: skip
_FREE_FUNCTIONS = {
    "len": "len", "str": "str", "min": "min", "max": "max", "abs": "abs", "sum": "sum", "sorted": "sorted",
    "round": "round", "list": "list", "dict": "dict", "ord": "ord", "chr": "chr", "hex": "hex", "oct": "oct",
    "bin": "bin", "pow": "pow", "divmod": "divmod", "any": "any", "all": "all", "hash": "hash",
}  # fmt: skip


def _may_be_tensor(t: Type) -> bool:
    if t.name in ("Optional", "Union"):
        return any(map(_may_be_tensor, t.parts))
    return t in (TENSOR, UNKNOWN, ANY, NEVER)


def _known(packet: OpOverloadPacket | None) -> OpOverloadPacket:
    assert packet is not None
    return packet


def _result_of_all(packet: OpOverloadPacket) -> Type:
    found = {operators.result_type(operator) for operator in packet.op_overloads()}
    return found.pop() if len(found) == 1 else UNKNOWN


def _either(plain: Callable[..., Any], on_tensors: Callable[..., Any]) -> Callable[..., Any]:
    """What goes by whether an argument is a tensor, where that is known when it runs."""

    def run(*args: Any, **kwargs: Any) -> Any:
        has = any(isinstance(a, Tensor) for a in args)
        return on_tensors(*args, **kwargs) if has else plain(*args, **kwargs)

    return run


def _running(choice: operators.Choice) -> Callable[..., Any]:
    return lambda *args, **kwargs: choice.run(args, kwargs)


def _missing(name: str) -> Callable[..., Any]:
    def refuse() -> Any:
        raise NotImplementedError(f"the operator aten::{name} is not supported by mindtorch.")

    return refuse


def _inline(name: str, args: list[Made]) -> ast.expr | None:
    """A comparison of numbers, a question for None and the like as Python's own."""
    nodes, types = [a.node for a in args], {a.type for a in args}
    if name in _INLINE and any(types <= kinds for kinds in _COMPARABLE):
        return ast.Compare(nodes[0], [_INLINE[name]()], [nodes[1]])
    if name in ("__is__", "__isnot__"):
        return ast.Compare(nodes[0], [ast.Is() if name == "__is__" else ast.IsNot()], [nodes[1]])
    if name == "__not__":
        return ast.UnaryOp(ast.Not(), nodes[0])
    return None


# What compiled functions call


def _raise_exception(message: Any, cls: Any = None) -> Any:
    raise RaisedException(text_of(message), cls)


def _construct(cls: Any, init: Function, *args: Any) -> Any:
    made = ScriptObject(cls)
    init.run(made, *args)
    return made


def _call_method(owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """A method that is found by its name when it runs, of an interface."""
    cls = getattr(owner, "_script_class", None)
    method = None if cls is None else cls.methods.get(name)
    if method is None:
        raise RuntimeError(f"'{type(owner).__name__}' object has no method '{name}'")
    parameters = method.parameters
    bound = list(args)
    for parameter in parameters[len(args) :]:
        bound.append(kwargs[parameter.name] if parameter.name in kwargs else method.default(parameter))
    charge(method.prepare().cost)
    return method.run(owner, *bound)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _implicit(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A conversion that code leaves unsaid: of a tensor without dimensions that needs no gradient."""

    def convert(value: Any) -> Any:
        if isinstance(value, Tensor):
            if value.requires_grad:
                raise RuntimeError("Cannot input a tensor that requires grad as a scalar argument")
            if value.dim() > 0:
                raise RuntimeError(
                    f"Cannot input a tensor of dimension other than 0 as a scalar argument (got {value.dim()})"
                )
            value = value.item()
        return kind(value)

    return convert


def _is_any(value: Any, types: Sequence[Type]) -> bool:
    return any(is_a(value, t) for t in types)


def _print(*args: Any) -> None:
    print(" ".join(map(text_of, args)))


def _forked(run: Callable[[], Any]) -> Future:
    return Future(run())


def _range(*args: Any) -> range:
    if len(args) == 3 and args[2] == 0:
        raise RuntimeError("range() arg 3 must not be zero")
    return range(*map(int, args))


def _items_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return list(value.unbind(0))
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, (list, tuple, str)):
        return list(value)  # the loop goes through what is there now
    raise RuntimeError(f"'{type(value).__name__}' object is not iterable")


def _enumerated(items: Any, start: int = 0) -> list[Any]:
    return list(enumerate(items, start))


def _zipped(*items: Any) -> list[Any]:
    return list(zip(*items, strict=False))


def _reversed(items: Any) -> list[Any]:
    return list(reversed(items))
