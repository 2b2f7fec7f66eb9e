"""Tracing: a program is run once with stand-ins for its inputs, and what it does to them is its graph."""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from mt_core import Tensor, pytree
from mt_core.api.signatures import LazySignature
from mt_core.pytree.nodes import is_namedtuple_instance
from mt_nn import Module, Parameter, Sequential

from ._codegen import _PyTreeCodeGen, _PyTreeInfo
from ._patching import Patcher, patch_listed, patch_wrapped
from ._patching import wrapped_functions as _wrapped_fns_to_patch
from ._patching import wrapped_methods as _wrapped_methods_to_patch
from .graph import Graph
from .graph_module import GraphModule, tracers
from .node import Node
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase, base_types

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_tracing_depth = 0


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return _tracing_depth > 0


is_fx_symbolic_tracing = is_fx_tracing

#: Classes whose instances may be made while tracing, with proxies as arguments.
_proxyable_classes: dict[type, None] = {}


class ProxyableClassMeta(type):
    """Metaclass of classes whose instances may be made while tracing: making one with proxies becomes a step."""

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made: Any = cls
        instance = made.__new__(made)
        if not is_fx_tracing():
            made.__init__(instance, *args, **kwargs)
            return instance
        found = [a for a in pytree.tree_leaves((args, kwargs)) if isinstance(a, Proxy)]
        if found:
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        made.__init__(instance, *args, **kwargs)
        return instance


class PHBase:
    """Stands in `concrete_args` for a part that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A `PHBase` whose attributes the input's node is given."""

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


def _without_variadics(fn: FunctionType, nargs: int) -> FunctionType:
    """The function with all its parameters by position, ``*args`` and ``**kwargs`` among them."""
    code = fn.__code__.replace(
        co_flags=fn.__code__.co_flags & ~_VARIADIC, co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0
    )
    return FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


class Tracer(TracerBase):
    """Makes the graph of a module or function by running it with proxies.

    Parameters
    ----------
    autowrap_modules, autowrap_functions
        Functions that are steps of the graph where they are given proxies, and modules all of whose functions are.
    param_shapes_constant
        Let the shapes of parameters be numbers, so that programs can branch on them.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[Any, str] = {}
        self._qualname_counter: dict[str, int] = collections.defaultdict(int)
        self.root: Any = None

    # Arguments

    def get_fresh_qualname(self, prefix: str) -> str:
        """``prefix0``, ``prefix1``: a name that the root has no attribute of."""
        while True:
            name = f"{prefix}{self._qualname_counter[prefix]}"
            self._qualname_counter[prefix] += 1
            if not hasattr(self.root, name):
                return name

    def create_arg(self, a: Any) -> Any:
        """A value as argument of a node: parameters, modules and other tensors become nodes that read them."""
        if isinstance(a, Parameter):
            return self._member(self.root.named_parameters(), a, "parameter is not a member of this module")
        if isinstance(a, Module):
            return self._member(self.root.named_modules(), a, "module is not a member of this module")
        if is_namedtuple_instance(a):
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        if isinstance(a, Tensor) or type(a) in _proxyable_classes:
            return self._constant(a)
        return super().create_arg(a)

    def _member(self, named: Iterator[tuple[str, Any]], value: Any, refusal: str) -> Node:
        for name, member in named:
            if member is value:
                return self.create_node("get_attr", name, (), {})
        raise NameError(refusal)

    def _constant(self, a: Any) -> Node:
        """A node that reads a tensor; one that belongs to nothing becomes an attribute of the root."""
        name = next((n for n, b in self.root.named_buffers() if b is a), None)
        name = name or self.tensor_attrs.get(_ById(a))
        if name is None:
            name = self.get_fresh_qualname(
                "_tensor_constant" if isinstance(a, Tensor) else f"_{type(a).__name__}_constant_"
            )
            self.tensor_attrs[_ById(a)] = name
            setattr(self.root, name, a)
        return self.create_node("get_attr", name, (), {})

    # Modules

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one step; of others the steps inside are traced."""
        home = type(m).__module__
        return home.startswith(("torch.nn", "torch.ao.nn", "mt_nn.")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a submodule of the root.

        Raises
        ------
        NameError
            When it is none.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is not None:
                return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of a module gives: the proxy of a step, or what its `forward` gives."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            key = f"{scope.module_path}@{calls}" if calls else scope.module_path
            self.module_stack[key] = (scope.module_path, scope.module_type)
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """What an attribute of a module gives: of a parameter, the proxy of a step that reads it."""
        if isinstance(attr_val, Parameter):
            return self._proxy_of(attr_val, self.root.named_parameters(), parameter_proxy_cache)
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            return self._proxy_of(attr_val, self.root.named_buffers(), parameter_proxy_cache)
        return attr_val

    def _proxy_of(self, value: Any, named: Iterator[tuple[str, Any]], cache: dict[str, Proxy]) -> Any:
        for name, member in named:
            if member is value:
                if name not in cache:
                    factory = functools.partial(_parameter_proxy, self, name, value)
                    constant = self.param_shapes_constant and isinstance(value, Parameter)
                    cache[name] = self.create_proxy(
                        "get_attr", name, (), {}, proxy_factory_fn=factory if constant else None
                    )
                return cache[name]
        return value

    # Inputs

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Any, list[Any]]:
        """The function to run and its arguments: a proxy for each parameter that has no fixed value."""
        fn_for_analysis: Any = _plain(inspect.unwrap(root_fn))
        code = fn_for_analysis.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        args: list[Any] = []
        skipped = 1 if is_module else 0
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
        own_names = names[skipped:total]
        if isinstance(concrete_args, tuple):
            if code.co_flags & inspect.CO_VARARGS:
                return root_fn, [*args, *self._positions(concrete_args)]
            if len(own_names) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(own_names)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(own_names, concrete_args, strict=True))
        signature = inspect.signature(fn_for_analysis)
        made = functools.partial(
            self._proxy_placeholder, concrete_args=concrete_args, sig=signature, fn_for_analysis=fn_for_analysis
        )
        args += [made(name) for name in own_names]
        if code.co_kwonlyargcount > 0 or code.co_flags & _VARIADIC:
            rest = iter(names[total:])
            if code.co_flags & inspect.CO_VARARGS:
                args.append(made("*" + next(rest)))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(made("**" + next(rest)))
            root_fn = _without_variadics(_plain(root_fn), len(args))
        flat_args, in_spec = pytree.tree_flatten(tuple(args))
        if any(not child.is_leaf() for child in in_spec.children()):
            return self._flattening(root_fn, names[:total], in_spec), flat_args
        return root_fn, args

    def _positions(self, concrete_args: tuple[Any, ...]) -> list[Proxy]:
        """An input for each argument of a function that takes any number of them."""
        if not all(isinstance(value, PHBase) for value in concrete_args):
            raise NotImplementedError(
                "torch.fx: fixed values of *args are not supported by mindtorch; give PH for each."
            )
        return [self.create_proxy("placeholder", f"input_{i}", (), {}) for i in range(len(concrete_args))]

    def _flattening(self, root_fn: Any, names: list[str], in_spec: pytree.TreeSpec) -> Any:
        """A function of the leaves of nested inputs that gives the leaves of the output."""
        codegen = self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names, in_spec, None))

        def flatten_fn(*args: Any) -> Any:
            out = root_fn(*pytree.tree_unflatten(list(args), in_spec))
            leaves, out_spec = pytree.tree_flatten(out)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return leaves

        flatten_fn.__annotations__ = {}  # the program's own types are not those of the leaves
        return flatten_fn

    def _proxy_placeholder(self, name: str, concrete_args: Any, sig: inspect.Signature, fn_for_analysis: Any) -> Any:
        if concrete_args is not None and name in concrete_args:
            return self._fixed_placeholder(name, concrete_args[name], sig)
        default = () if name[0] == "*" else _default_of(sig, name)
        annotation = getattr(fn_for_analysis, "__annotations__", {}).get(name)
        return self.create_proxy("placeholder", name, default, {}, type_expr=annotation)

    def _fixed_placeholder(self, name: str, value: Any, sig: inspect.Signature) -> Any:
        """A fixed value, after inputs and checks of them for each of its leaves."""
        count = 0

        def replace(leaf: Any) -> Any:
            nonlocal count
            count += 1
            out = self.create_proxy("placeholder", f"{name}_{count}", _default_of(sig, name), {})
            if isinstance(leaf, PHBase):
                if type(leaf) is not PHBase:
                    _transfer_attributes(leaf, out.node)
                return out
            self._check_of(name, leaf, out)
            return leaf

        return pytree.tree_map(replace, value)

    def _check_of(self, name: str, leaf: Any, out: Proxy) -> None:
        """The step that compares an input with the value it was fixed to."""
        text = f"{name} has been specialized to have value {leaf} but got another value"
        if leaf is None:
            self.create_proxy("call_function", _assert_is_none, (out, text), {})
        elif isinstance(leaf, base_types) and not isinstance(leaf, Tensor):
            self.create_proxy("call_function", _torch_assert(), (out == leaf, text), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up "
                "to the user to make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=2,
            )

    # Tracing

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function.

        Parameters
        ----------
        concrete_args
            Parameter -> the value that it is fixed to; `PH` in nested values stays an input.
        """
        global _tracing_depth
        fn = self._start(root)
        is_module = isinstance(root, Module)
        _tracing_depth += 1
        try:
            fn, args = self.create_args_for_root(fn, is_module, concrete_args)
            with self._patched(fn):
                result = self.create_arg(fn(*args))
                self.create_node("output", "output", (result,), {}, type_expr=_annotations(fn).get("return"))
        finally:
            _tracing_depth -= 1
            self.submodule_paths = None
        return self.graph

    def _start(self, root: Any) -> Any:
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, fn = Module(), root
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        self.tensor_attrs = {_ById(value): path for path, value in _tensors_of(self.root, "")}
        code = getattr(fn, "__code__", None)
        if code is not None:
            self.graph._co_fields = {
                "co_name": code.co_name, "co_filename": code.co_filename, "co_firstlineno": code.co_firstlineno
            }  # fmt: skip
        return fn

    def _patched(self, fn: Any) -> Patcher:
        """Have modules, and functions that are to be steps, ask this tracer."""
        patcher = Patcher()
        cache: dict[str, Proxy] = {}
        original_call, original_getattr = Module.__call__, Module.__getattr__
        ids = self._autowrap_function_ids

        def module_getattr(mod: Module, attr: str) -> Any:
            return self.getattr(attr, original_getattr(mod, attr), cache)

        def module_call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return original_call(mod, *args, **kwargs)

            patch_listed(patcher, getattr(getattr(mod, "forward", mod), "__globals__", {}), ids)
            return self.call_module(mod, forward, args, kwargs)

        patcher.patch_method(Module, "__getattr__", module_getattr)
        patcher.patch_method(Module, "__call__", module_call)
        patch_wrapped(patcher)
        patch_listed(patcher, getattr(inspect.unwrap(fn), "__globals__", {}), ids)
        for module in self._autowrap_search:
            patch_listed(patcher, module.__dict__, ids)
        return patcher

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = Tracer.__new__(type(self))
        for name, value in self.__dict__.items():
            # Modules that functions are looked for in are no values, and cannot be copied.
            made.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return made


tracers.append(Tracer)


class _ById:
    """A key by identity, for values that compare by elements; it keeps the value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.value is other.value

    def __deepcopy__(self, memo: dict[int, Any]) -> _ById:
        return _ById(copy.deepcopy(self.value, memo))


def _tensors_of(module: Module, prefix: str) -> Iterator[tuple[str, Tensor]]:
    """Tensors that modules hold as plain attributes, with their paths."""
    for name, value in module.__dict__.items():
        if isinstance(value, Tensor) or type(value) in _proxyable_classes:
            yield f"{prefix}{name}", value
    for name, child in module.named_children():
        yield from _tensors_of(child, f"{prefix}{name}.")


def _plain(fn: Any) -> FunctionType:
    if isinstance(fn, FunctionType) and not isinstance(fn.__dict__.get("__signature__"), LazySignature):
        return fn  # and no operator, which is built in
    raise AssertionError(f"Expected FunctionType, got {type(fn)}")


def _annotations(fn: Any) -> dict[str, Any]:
    return getattr(fn, "__annotations__", {})


def _default_of(sig: inspect.Signature, name: str) -> tuple[Any, ...]:
    default = sig.parameters[name].default
    return () if default is inspect.Parameter.empty else (default,)


def _transfer_attributes(source: Any, node: Node) -> None:
    for name, value in vars(source).items():
        if not hasattr(node, name):
            setattr(node, name, value)


def _parameter_proxy(tracer: Tracer, name: str, value: Any, node: Node) -> Proxy:
    return ParameterProxy(tracer, node, name, value)


def _torch_assert() -> Any:
    from .._predicates import _assert  # lazy: the package's own functions load when asked for

    return _assert


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


# A traced program may be traced again, and keeps its checks.
_wrapped_fns_to_patch[id(globals()), "_assert_is_none"] = globals()


# What programs call


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Have calls of a global function, or of a built-in one, be steps where they are given proxies.

    It is called at the top level of the module that calls the function, with its name or as decorator; it returns what
    it was given.

    Raises
    ------
    RuntimeError
        When it is given neither a function nor a name.
    NotImplementedError
        When it is not called at the top level of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module or function as a `GraphModule`.

    Parameters
    ----------
    concrete_args
        Parameter -> the value that it is fixed to, which the program may branch on.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__all__ += ["_wrapped_fns_to_patch", "_wrapped_methods_to_patch"]
