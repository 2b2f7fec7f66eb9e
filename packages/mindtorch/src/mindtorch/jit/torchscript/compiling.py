"""Functions of an archive as Python functions: statements.

What is made is Python's own syntax tree, of a few kinds of nodes: names are ours (``v_x`` for a variable, ``c3`` for a
value that was found when compiling), attributes are the few that `expressions` writes, and there are no builtins.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .classes import Function, refused
from .expressions import Expressions
from .limits import Body, charge
from .made import Made, local
from .types import NONE, UNKNOWN, Type, joined, read_type

__all__ = ["compiled"]


def compiled(function: Function) -> tuple[Callable[..., Any], list[Body]]:
    """The Python function; and what it consists of, itself first, then the rounds of its loops.

    Raises
    ------
    RuntimeError
        For what is not in the language.
    """
    try:
        return Compiler(function).build()
    except RecursionError:
        raise RuntimeError(f"the code of '{function.name}' is nested too deep (record {function.record})") from None


class Compiler(Expressions):
    """Compiles one function."""

    def build(self) -> tuple[Callable[..., Any], list[Body]]:
        """The Python function and its bodies."""
        function, node = self.function, self.function.node
        parameters = []
        if function.cls is not None:
            if not node.args.args:
                raise refused("methods take their instance", node, function.record)
            self.variables[function.self_name] = Type("class", (), function.cls)
            parameters.append(function.self_name)
        for parameter in function.parameters:
            self.variables[parameter.name] = parameter.type
        parameters += [a.arg for a in node.args.args][len(parameters) :]
        body = self.block(node.body) or [ast.Pass()]
        made = _definition("run", [local(name) for name in parameters], body)
        module = ast.Module([made], [])
        ast.fix_missing_locations(module)
        space: dict[str, Any] = {"__builtins__": {}, **self.space}
        try:
            exec(compile(module, self.file_name(), "exec"), space)  # noqa: S102 (only nodes that were made here)
        except SyntaxError as error:
            raise RuntimeError(
                f"the code of '{function.name}' cannot be compiled: {error.msg} (record {function.record})"
            ) from None
        return space["run"], self.bodies

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements of the archive as Python's."""
        made: list[ast.stmt] = []
        for statement in statements:
            handler = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if handler is None:
                raise refused("not a statement of TorchScript", statement, self.function.record)
            try:
                made += [ast.copy_location(one, statement) for one in handler(statement)]
            except RuntimeError as error:
                raise self._placed(error, statement) from None
        return made

    def _placed(self, error: RuntimeError, statement: ast.stmt) -> RuntimeError:
        """An error that says where in the archive it is."""
        placed = type(error) is not RuntimeError or "record " in str(error)
        return error if placed else refused(str(error), statement, self.function.record)

    # Simple statements

    def _pass(self, node: ast.Pass) -> Iterator[ast.stmt]:
        yield ast.Pass()

    def _break(self, node: ast.Break) -> Iterator[ast.stmt]:
        yield ast.Break()

    def _continue(self, node: ast.Continue) -> Iterator[ast.stmt]:
        yield ast.Continue()

    def _return(self, node: ast.Return) -> Iterator[ast.stmt]:
        value = Made(ast.Constant(None), NONE) if node.value is None else self.expression(node.value)
        yield ast.Return(value.node)

    def _expr(self, node: ast.Expr) -> Iterator[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            yield ast.Pass()
        else:
            yield ast.Expr(self.expression(node.value).node)

    def _assign(self, node: ast.Assign) -> Iterator[ast.stmt]:
        if len(node.targets) != 1:
            raise refused("one target is assigned at a time", node, self.function.record)
        target, values = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(values, ast.Tuple) and len(target.elts) == len(values.elts):
            made = [self.expression(value) for value in values.elts]
            value = Made(ast.Tuple([m.node for m in made], ast.Load()), Type("Tuple", tuple(m.type for m in made)))
        else:
            value = self.expression(values)
        yield from self._store(target, value)

    def _annassign(self, node: ast.AnnAssign) -> Iterator[ast.stmt]:
        if node.value is None:
            raise refused("a variable has a value", node, self.function.record)
        declared = read_type(node.annotation, self.function.unit.class_named)
        yield from self._store(node.target, Made(self.expression(node.value).node, declared))

    def _store(self, target: ast.expr, value: Made) -> Iterator[ast.stmt]:
        if isinstance(target, ast.Name):
            if value.type.name in ("function", "type"):
                # What a variable stands for is known here: nothing is left to be done when it runs.
                self.variables[target.id] = value.type
                yield ast.Pass()
                return
            self.variables[target.id] = value.type
            yield ast.Assign([ast.Name(local(target.id), ast.Store())], value.node)
        elif isinstance(target, (ast.Tuple, ast.List)):
            yield from self._unpack(target, value)
        elif isinstance(target, ast.Attribute):
            yield self.attribute_store(target, value)
        elif isinstance(target, ast.Subscript):
            yield ast.Expr(self.item_store(target, value))
        else:
            raise refused("not assigned to", target, self.function.record)

    def _unpack(self, target: ast.Tuple | ast.List, value: Made) -> Iterator[ast.stmt]:
        types = _types_of_items(value.type, len(target.elts))
        if types is None:
            raise refused(f"{value.type} is not unpacked into {len(target.elts)} values", target, self.function.record)
        names, after = [], []
        for item, t in zip(target.elts, types, strict=True):
            name = self.fresh()
            names.append(ast.Name(name, ast.Store()))
            after.append((item, Made(ast.Name(name, ast.Load()), t)))
        if all(isinstance(item, ast.Name) for item in target.elts):
            for item, made in after:
                self.variables[item.id] = made.type  # type: ignore[attr-defined]
            names = [ast.Name(local(item.id), ast.Store()) for item in target.elts]  # type: ignore[attr-defined]
            after = []
        yield ast.Assign([ast.Tuple(names, ast.Store())], value.node)  # type: ignore[arg-type]
        for item, made in after:
            yield from self._store(item, made)

    def _augassign(self, node: ast.AugAssign) -> Iterator[ast.stmt]:
        target = node.target
        loaded = ast.copy_location(type(target)(**{**_fields(target), "ctx": ast.Load()}), target)
        value = self.augmented(loaded, node.op, node.value)
        yield from self._store(target, value)

    def _delete(self, node: ast.Delete) -> Iterator[ast.stmt]:
        for target in node.targets:
            if not isinstance(target, ast.Subscript):
                raise refused("only items are deleted", node, self.function.record)
            parts = [self.expression(target.value), self.expression(target.slice)]
            yield ast.Expr(self.operator_call("Delete", parts, {}, node).node)

    def _assert(self, node: ast.Assert) -> Iterator[ast.stmt]:
        message = ast.Constant("") if node.msg is None else self.expression(node.msg).node
        text = ast.BinOp(ast.Constant("AssertionError: "), ast.Add(), message)
        raised = self.call_of(self.raise_exception, [text])
        yield ast.If(self.condition(node.test), [ast.Pass()], [ast.Expr(raised)])

    def _raise(self, node: ast.Raise) -> Iterator[ast.stmt]:
        yield ast.Expr(self.raised(node))

    # Blocks

    def _if(self, node: ast.If) -> Iterator[ast.stmt]:
        test = self.condition(node.test)
        before = dict(self.variables)
        body = self.block(node.body)
        after_body, self.variables = self.variables, dict(before)
        otherwise = self.block(node.orelse)
        self.variables = _merged(after_body, self.variables)
        yield ast.If(test, body or [ast.Pass()], otherwise)

    def _while(self, node: ast.While) -> Iterator[ast.stmt]:
        if node.orelse:
            raise refused("loops have no else", node, self.function.record)

        def make() -> list[ast.stmt]:
            test = self.condition(node.test)
            with self._round() as charged:
                body = self.block(node.body)
            return [ast.While(test, [*charged, *body], [])]

        yield from self._loop(make)

    def _for(self, node: ast.For) -> Iterator[ast.stmt]:
        if node.orelse:
            raise refused("loops have no else", node, self.function.record)

        def make() -> list[ast.stmt]:
            over = self.iterated(node.iter)
            item = over.type.parts[0] if over.type.name == "List" else UNKNOWN
            name = self.fresh()
            with self._round() as charged:
                first = list(self._store(node.target, Made(ast.Name(name, ast.Load()), item)))
                body = self.block(node.body)
            return [ast.For(ast.Name(name, ast.Store()), over.node, [*charged, *first, *body], [])]

        yield from self._loop(make)

    def _loop(self, make: Callable[[], list[ast.stmt]]) -> list[ast.stmt]:
        """A loop, compiled with types that variables have at the start of every round."""
        for attempt in range(4):
            before = dict(self.variables)
            known = len(self.bodies)
            made = make()
            merged = _merged(before, self.variables)
            if attempt == 2:
                merged = {n: t if before.get(n) == t else UNKNOWN for n, t in merged.items()}
            kept = {name: merged[name] for name in before}
            if kept == before:
                self.variables = merged
                break
            self.variables = kept
            del self.bodies[known:]
        return made

    @contextmanager
    def _round(self) -> Iterator[list[ast.stmt]]:
        """What a round of a loop begins with: it takes a step, and those of the calls that it makes."""
        outer, self.body = self.body, Body()
        self.bodies.append(self.body)
        total = ast.Attribute(self.value(self.body), "total", ast.Load())
        yield [ast.Expr(self.call_of(charge, [total]))]
        self.body = outer

    def _with(self, node: ast.With) -> Iterator[ast.stmt]:
        if len(node.items) != 1:
            raise refused("one context manager at a time", node, self.function.record)
        item = node.items[0]
        context = self.expression(item.context_expr)
        name = self.fresh()
        held = Made(ast.Name(name, ast.Load()), context.type)
        entered = self.method_call(held, "__enter__", [], {}, node)
        yield ast.Assign([ast.Name(name, ast.Store())], context.node)
        if item.optional_vars is None:
            yield ast.Expr(entered.node)
        else:
            yield from self._store(item.optional_vars, entered)
        nothing = [Made(ast.Constant(None), NONE)] * 3
        left = self.method_call(held, "__exit__", nothing, {}, node)
        yield ast.Try(self.block(node.body) or [ast.Pass()], [], [], [ast.Expr(left.node)])

    def _functiondef(self, node: ast.FunctionDef) -> Iterator[ast.stmt]:
        """A function without parameters, for ``fork``."""
        if node.args.args or node.decorator_list:
            raise refused("functions inside of functions take no parameters", node, self.function.record)
        before = dict(self.variables)
        body = self.block(node.body)
        self.variables = {**before, node.name: Type("closure")}
        yield _definition(local(node.name), [], body)


def _definition(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    made = ast.FunctionDef(name, arguments, body, [])
    return made


def _fields(node: ast.AST) -> dict[str, Any]:
    return dict(ast.iter_fields(node))


def _merged(a: dict[str, Type], b: dict[str, Type]) -> dict[str, Type]:
    """The types of variables after two ways; those of one way alone keep theirs."""
    return {
        name: joined(a[name], b[name]) if name in a and name in b else a.get(name) or b[name] for name in {**a, **b}
    }


def _types_of_items(t: Type, count: int) -> list[Type] | None:
    if t.name == "Tuple":
        return list(t.parts) if len(t.parts) == count else None
    if t.cls is not None and t.name == "class" and t.cls.kind == "namedtuple":
        types = list(t.cls.attributes.values())
        return types if len(types) == count else None
    return [t.parts[0] if t.name == "List" else UNKNOWN] * count
