"""``torch.fx.experimental.rewriter``: assert statements of a program as steps of its graph."""

from __future__ import annotations
import __future__

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any

import mindtorch as torch
from mt_nn import Module

from .._symbolic_trace import Tracer
from ..graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites functions, so that ``assert`` becomes a call of ``torch._assert``."""

    def rewrite(self, fn: FunctionType) -> Any:
        """A function that does the same with its asserts as calls; decorators are applied again.

        Raises
        ------
        OSError
            When the function's text is not at hand.
        """
        inner: Any = inspect.unwrap(fn)
        tree = ast.parse(textwrap.dedent(inspect.getsource(inner)))
        definition = tree.body[0]
        if not isinstance(definition, ast.FunctionDef):
            return fn  # an expression, such as a lambda: it holds no statements
        made = _compiled(ast.fix_missing_locations(self.visit(definition)), inner)
        if not definition.decorator_list:
            made.__defaults__, made.__kwdefaults__ = inner.__defaults__, inner.__kwdefaults__
            made.__qualname__ = inner.__qualname__
        return made

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """``assert a, b`` as ``torch._assert(a, b)``."""
        called = ast.Name(id="torch_assert_of_rewriter", ctx=ast.Load())
        message = node.msg or ast.Constant(value="")
        call = ast.Call(func=called, args=[node.test, message], keywords=[])
        return ast.copy_location(ast.Expr(value=call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """``a: T = b`` as ``a = annotate(b, T)``, so that the type stands in the graph."""
        if node.value is None:
            return node
        called = ast.Name(id="annotate_of_rewriter", ctx=ast.Load())
        call = ast.Call(func=called, args=[node.value, node.annotation], keywords=[])
        return ast.copy_location(ast.Assign(targets=[node.target], value=call), node)


def _compiled(definition: ast.FunctionDef, fn: FunctionType) -> Any:
    """What a changed definition defines, with the globals and the enclosed values of the old one."""
    from ..annotate import annotate  # lazy: few programs rewrite functions

    enclosed = dict(zip(fn.__code__.co_freevars, (cell.cell_contents for cell in fn.__closure__ or ()), strict=True))
    enclosed.update(torch_assert_of_rewriter=torch._assert, annotate_of_rewriter=annotate)
    outer = ast.parse(f"def outer({', '.join(enclosed)}):\n    pass\n    return {definition.name}")
    outer.body[0].body[0] = definition  # type: ignore[attr-defined]
    space: dict[str, Any] = {}
    future = fn.__code__.co_flags & __future__.annotations.compiler_flag  # as where it was written, not as here
    code = compile(ast.fix_missing_locations(outer), fn.__code__.co_filename, "exec", future, dont_inherit=True)
    exec(code, fn.__globals__, space)  # noqa: S102 - a program's own text
    return space["outer"](**enclosed)


def _rewritten_module(module: Module) -> Module:
    """A module with the same attributes whose ``forward`` is rewritten."""

    class RewrittenModule(Module):
        def __init__(self, orig: Module) -> None:
            super().__init__()
            self.__dict__.update({key: value for key, value in orig.__dict__.items() if key != "forward"})
            for name, child in orig._modules.items():
                self._modules[name] = child if child is None else _rewritten_module(child) if _is_own(child) else child

    RewrittenModule.forward = AST_Rewriter().rewrite(_forward_of(module))  # type: ignore[method-assign, assignment]
    return RewrittenModule(module)


def _forward_of(module: Module) -> FunctionType:
    forward: Any = module.__dict__.get("forward", type(module).forward)
    return getattr(forward, "__func__", forward)


def _is_own(module: Module) -> bool:
    return not type(module).__module__.startswith(("torch.nn", "mt_nn"))


class RewritingTracer(Tracer):
    """A tracer that keeps assert statements, as calls of ``torch._assert``."""

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function, rewritten."""
        if isinstance(root, Module):
            return super().trace(_rewritten_module(root), concrete_args)
        return super().trace(AST_Rewriter().rewrite(root), concrete_args)  # type: ignore[arg-type]
