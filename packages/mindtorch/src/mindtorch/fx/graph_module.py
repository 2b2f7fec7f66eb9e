"""``torch.fx.graph_module``: a graph as a module, whose ``forward`` is made from the graph's text."""

from __future__ import annotations

import contextlib
import copy
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mt_core import Tensor
from mt_nn import Module, Parameter

from ._names import qualified_name
from ._namespace import builtin_globals
from .graph import Graph, PythonCode, _PyTreeCodeGen, refuse_options

__all__ = ["GraphModule", "reduce_graph_module"]

#: Of a module's `meta`: what a transformation keeps.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


# Running text


class _EvalCacheLoader:
    """Keeps the text of generated functions, so that tracebacks and ``inspect.getsource`` show it."""

    def __init__(self) -> None:
        self.eval_cache: dict[str, str] = {}
        self.next_id = 0

    def cache(self, src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> str:
        """A file name for a text; `globals` are those in which it is to run."""
        key = f"<eval_with_key>.{self.next_id}"
        self.next_id += 1
        if co_fields and "co_filename" in co_fields:
            key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
        self.eval_cache[key] = src
        globals_copy = {**globals, "__file__": key, "__name__": key, "__loader__": self}
        linecache.lazycache(key, globals_copy)
        return key

    def get_source(self, module_name: str) -> str | None:
        """The text of a file name; a traceback shows it from there."""
        return self.eval_cache.get(module_name)


_loader = _EvalCacheLoader()


def _exec_with_source(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> None:
    key = _loader.cache(src, globals, co_fields)
    exec(compile(src, key, "exec", dont_inherit=True), globals)  # noqa: S102 - the text of a graph


def _forward_from_src(src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None) -> Any:
    return _method_from_src("forward", src, globals, co_fields)


def _method_from_src(
    method_name: str, src: str, globals: dict[str, Any], co_fields: dict[str, Any] | None = None
) -> Any:
    """The function of a name that a text defines."""
    space = dict(globals)
    _exec_with_source(src, space, co_fields)
    return space[method_name]


# Imports of a text


def _format_import_statement(name: str, obj: Any) -> str:
    known = builtin_globals()
    if name in known:
        return known[name].import_str
    if isinstance(obj, type(sys)):
        return f"import {obj.__name__} as {name}"
    module, _, attribute = qualified_name(obj).rpartition(".")
    return f"from {module or 'builtins'} import {attribute} as {name}"


def _format_import_block(globals: dict[str, Any]) -> str:
    """The statements that give a text its names, sorted."""
    return "\n".join(sorted({_format_import_statement(name, obj) for name, obj in globals.items()}))


def _globals_of(import_block: str) -> dict[str, Any]:
    """What an import block gives; ``torch`` is this package, whatever else is installed under that name."""
    known = {entry.import_str: (name, entry.obj) for name, entry in builtin_globals().items()}
    lines = import_block.splitlines()
    space = dict(known[line] for line in lines if line in known)
    exec("\n".join(line for line in lines if line not in known), space)  # noqa: S102 - imports alone
    return space


# Attributes by path


def _owner_of(module: Any, target: str) -> tuple[Any, str]:
    """Of a path: the object before the last dot, and the name after it. Modules in between are made."""
    *path, name = target.split(".")
    for part in path:
        inner = getattr(module, part, None)
        if inner is None:
            inner = Module()
            setattr(module, part, inner)
        module = inner
    return module, name


def _copy_attr(from_module: Any, to_module: Module, target: str) -> None:
    """Give a module what another has under a path; what is there already stays."""
    *path, name = target.split(".")
    for part in path:
        inner = getattr(from_module, part)
        if getattr(to_module, part, None) is inner:
            return  # the whole of it is there
        from_module = inner
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _put(to_module, name, getattr(from_module, name))


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Put an object under a path of a module."""
    owner, name = _owner_of(to_module, target)
    _put(owner, name, from_obj)


def _put(owner: Any, name: str, value: Any) -> None:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        owner.register_buffer(name, value)
    else:
        setattr(owner, name, value)


def _get_attr(model: Any, attr_name: str) -> Any:
    for part in attr_name.split("."):
        model = getattr(model, part)
    return model


def _del_attr(model: Any, attr_name: str) -> None:
    owner, _, name = attr_name.rpartition(".")
    delattr(_get_attr(model, owner) if owner else model, name)


# Pickling


#: The class that traces where a pickle names none; `_symbolic_trace` enters it.
tracers: list[Any] = []


class _CodeOnlyModule(Module):
    """The attributes of a module, for a tracer that reads its graph out of the generated function."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: dict[str, Any], import_block: str) -> Module:
    """A `GraphModule` from its attributes and its text, as pickles hold it."""
    src = body.get("_code") or body["code"]
    return _deserialize_graph_module(_forward_from_src(src, _globals_of(import_block)), body)


def _deserialize_graph_module(forward: Callable[..., Any], body: dict[str, Any]) -> Module:
    made = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)
    tracer_class: Any = body.get("_tracer_cls") or tracers[0]

    class KeepModules(tracer_class):  # type: ignore[misc]
        # A call of a module in the text is a step: where the first tracer went inside, the text has what is inside.
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    graph = KeepModules().trace(made, **(body.get("_tracer_extras") or {}))
    graph._tracer_cls = body.get("_tracer_cls")
    result = GraphModule(made, graph, class_name=body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in made.__dict__.items():
        if name not in result.__dict__:
            result.__dict__[name] = value
    return result


# Calling


class _WrappedCall:
    """Calls a module's class; for an error in generated code it prints the lines around."""

    def __init__(self, cls: type, cls_call: Callable[..., Any] | None) -> None:
        self.cls = cls
        self.cls_call = cls_call

    @staticmethod
    def _generate_error_message(frame: traceback.FrameSummary) -> str:
        number, line = frame.lineno or 0, frame.line or ""
        lines = linecache.getlines(frame.filename)
        return "\n".join(
            [
                traceback.format_exc(),
                f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:",
                "".join(lines[number - 2 : number]),
                "~" * len(line) + "~~~ <--- HERE",
                "\n".join(lines[number : number + 2]),
            ]
        )

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[misc, arg-type]
        except Exception as error:
            innermost = _innermost(traceback.extract_tb(error.__traceback__))
            if "eval_with_key" not in innermost.filename:
                raise
            print(self._generate_error_message(innermost), file=sys.stderr)
            raise error.with_traceback(None)  # noqa: B904 - the text above has the traceback


#: Where operators are, which are no part of the program.
_OPERATORS = tuple(os.sep + name + os.sep for name in ("mt_core", "mt_autograd", "mt_backend_cpu", "mt_library"))


def _innermost(frames: traceback.StackSummary) -> traceback.FrameSummary:
    """The frame that called what failed."""
    return next(frame for frame in reversed(frames) if not any(part in frame.filename for part in _OPERATORS))


class GraphModule(Module):
    """A module that runs a graph. Its ``forward`` is the text `code`, made anew by `recompile`.

    Each instance has a class of its own, for its ``forward``.

    Parameters
    ----------
    root
        The module whose attributes the graph refers to, or a dict path -> object; what the graph uses is taken over.
    class_name
        The name that is printed.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # A class made here for an earlier instance is not derived from again: copies of copies would be a chain.
        base = cls.__bases__[0] if "_wrapped_call" in cls.__dict__ else cls

        class GraphModuleImpl(base):  # type: ignore[misc, valid-type]
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        if isinstance(root, Module):
            self._take_from_module(root, graph)
        elif isinstance(root, dict):
            self._take_from_dict(root, graph)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        if isinstance(root, Module) and isinstance(getattr(root, "meta", None), dict):
            self.meta = root.meta  # type: ignore[assignment]
        self._replace_hooks: list[Any] = []
        self._create_node_hooks: list[Any] = []
        self._erase_node_hooks: list[Any] = []
        self._deepcopy_hooks: list[Any] = []

    def _take_from_module(self, root: Module, graph: Graph) -> None:
        if hasattr(root, "training"):
            self.training = root.training
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, node.target)

    def _take_from_dict(self, root: dict[str, Any], graph: Graph) -> None:
        targets = []
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not provided in ``root``!"
                    )
                targets.append(node.target)
        for target in sorted(targets, key=lambda path: path.count(".")):
            _assign_attr(root[target], self, target)

    # The graph and its text

    @property
    def graph(self) -> Graph:
        """The graph. Assigning one makes ``forward`` anew; changes to it take effect at `recompile`."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The text of ``forward``."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Make ``forward`` from the graph as it is now; returns its text."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        python_code = self._graph.python_code(root_module="self")
        self._code = python_code.src
        self._lineno_map = python_code._lineno_map
        self._prologue_start = python_code._prologue_start
        cls: Any = type(self)
        cls.forward = _forward_from_src(self._code, python_code.globals, self._graph._co_fields)
        self._wrap_call(cls)
        return python_code

    @staticmethod
    def _wrap_call(cls: Any) -> None:
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))

            def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
                return self._wrapped_call(self, *args, **kwargs)

            cls.__call__ = call_wrapped

    def _recompile_submodules(self) -> list[tuple[str, PythonCode]]:
        """Recompile all graphs below this one; returns their names and texts."""
        return [
            (name, module.recompile())
            for name, module in self.named_modules()
            if isinstance(module, GraphModule) and module is not self
        ]

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """The text of this module and of those in it that are graphs, with what is known of tensors; printed too.

        Raises
        ------
        NotImplementedError
            For `colored`, `fast_sympy_print` and `additional_meta`.
        """
        refuse_options(colored=colored, fast_sympy_print=fast_sympy_print, additional_meta=additional_meta)
        text = _readable(self, self._get_name(), include_stride, include_device, expanded_def)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        shown = super().__str__()
        return "\n".join([shown, self._code, "# To see more debug info, please use `graph_module.print_readable()`"])

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a package in a folder, which can be imported without `torch.fx`'s tracing.

        Submodules that are not layers by themselves are pickled beside it; a warning names them.
        """
        from ._folders import write_package  # lazy: rarely used

        write_package(self, Path(folder), module_name, _format_import_statement)

    # Submodules

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module under a path, making modules in between; returns False where something else is in the way."""
        *path, name = target.split(".")
        module: Module = self
        for part in path:
            inner = getattr(module, part, None)
            if inner is None:
                inner = Module()
                setattr(module, part, inner)
            if not isinstance(inner, Module):
                return False
            module = inner
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module under a path; returns False where there is none."""
        *path, name = target.split(".")
        module: Any = self
        for part in path:
            module = getattr(module, part, None)
            if not isinstance(module, Module):
                return False
        if not isinstance(getattr(module, name, None), Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the submodules that no node of the graph uses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
                if node.op == "call_module" and not self._use_insides(node.target, used):
                    return
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    def _use_insides(self, target: str, used: set[str]) -> bool:
        try:
            submodule = self.get_submodule(target)
        except AttributeError:
            return False  # a node calls what is not there: nothing is known of what is used
        used.update(f"{target}.{name}" for name, _ in submodule.named_modules() if name)
        return True

    # Copies

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        attributes = self.__dict__.copy()
        python_code = self.recompile()
        import_block = _format_import_block(python_code.globals)
        del attributes["_graph"]
        attributes["_code"] = self._code
        name = type(self).__name__
        if name != "GraphModule":
            attributes["_graphmodule_cls_name"] = name
        return reduce_graph_module, (attributes, import_block)

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made: Any = type(self).__new__(type(self))
        memo[id(self)] = made
        attributes = _CodeOnlyModule(copy.deepcopy(self.__dict__, memo))
        self._deepcopy_init()(made, attributes, attributes.__dict__["_graph"])
        for name in _KEPT:
            if name in self.__dict__:
                setattr(made, name, copy.deepcopy(self.__dict__[name], memo))
        made.meta = copy.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in attributes.__dict__.items():
            made.__dict__.setdefault(name, value)
        for hook in made._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph, type(self).__name__)
        made.meta = getattr(self, "meta", {})
        return made

    def _replicate_for_data_parallel(self) -> GraphModule:
        made: Any = self.__copy__()
        made.__dict__.update(self.__dict__)
        made._parameters, made._buffers, made._modules = {}, self._buffers.copy(), self._modules.copy()
        made._is_replica = True
        return made

    # Hooks

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        _check_hook(f, "Replace hook")
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        _check_hook(f, "create_node hook")
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        _check_hook(f, "create_node hook")
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        _check_hook(f, "create_node hook")
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        _check_hook(f, "erase_node hook")
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        _check_hook(f, "erase_node hook")
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        _check_hook(f, "deepcopy hook")
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        _check_hook(f, "deepcopy hook")
        self._deepcopy_hooks.remove(f)


#: What a deep copy keeps of a module besides the graph and what it uses.
_KEPT = (
    "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_replace_hooks",
    "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks",
)  # fmt: skip


def _check_hook(f: Any, what: str) -> None:
    if not callable(f):
        raise AssertionError(f"{what} must be a callable.")


def _readable(module: Any, name: str, include_stride: bool, include_device: bool, expanded_def: bool) -> str:
    code = module._graph.python_code(
        root_module="self",
        verbose=True,
        include_stride=include_stride,
        include_device=include_device,
        expanded_def=expanded_def,
    ).src.strip("\n ")
    inner = [
        _readable(child, child_name, include_stride, include_device, expanded_def)
        for child_name, child in module.named_children()
        if hasattr(child, "_graph")
    ]
    parts = [code, *(text.rstrip("\n") for text in inner)]
    return f"class {name}(torch.nn.Module):\n{_indented(chr(10).join(_spaced(parts)))}\n"


def _spaced(parts: list[str]) -> list[str]:
    return [parts[0], *(f"\n{part}" for part in parts[1:])]


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.split("\n"))
