"""``torch.export.unflatten``: a program as modules that call each other as the exported ones did."""

from __future__ import annotations

import abc
import dataclasses
import logging
from collections.abc import Iterator
from operator import getitem
from typing import Any

from mt_core import Tensor, pytree
from mt_core.symbolic import plain_sizes
from mt_library.ops import ops
from mt_nn import Module, Parameter

from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.interpreter import Interpreter
from ..fx.node import Node
from .exported_program import ExportedProgram, guards_of
from .graph_signature import InputKind

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]

log = logging.getLogger(__name__)


class FlatArgsAdapter(abc.ABC):
    """Makes arguments of another structure fit a program."""

    @abc.abstractmethod
    def adapt(
        self, target_spec: pytree.TreeSpec, input_spec: pytree.TreeSpec, input_args: list[Any],
        metadata: dict[str, Any] | None = None, obj: Any | None = None,
    ) -> list[Any]:  # fmt: skip
        """The leaves of the structure `target_spec`, given those of `input_spec`.

        Parameters
        ----------
        metadata
            The ``meta`` of the module that is called.
        obj
            The arguments and named arguments of the call.
        """


class InterpreterModule(Module):
    """One module of an unflattened program: its ``graph`` is carried out step by step."""

    graph: Graph

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Carry the graph out; its inputs are what the module was called with in the exported program."""
        return Interpreter(self, graph=self.graph).run(*args, *kwargs.values())

    def print_readable(
        self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
        colored: bool = False,
    ) -> str:  # fmt: skip
        """The text of the graph, and of those of the modules below."""
        return GraphModule(self, self.graph, type(self).__name__).print_readable(
            print_output, include_stride, include_device, colored
        )


class UnflattenedModule(InterpreterModule):
    """An exported program as modules in modules, with copies of the program's parameters and buffers.

    Attributes
    ----------
    graph
        What the outermost module does.
    flat_args_adapter
        Asked where arguments have another structure than those that the program was exported with.
    """

    def __init__(self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> None:
        super().__init__()
        self.graph_signature = export_module.graph_signature
        self.module_call_graph = export_module.module_call_graph
        self.range_constraints = export_module.range_constraints
        self.flat_args_adapter = flat_args_adapter
        self.meta: dict[str, Any] = {}
        self.adapted = False
        self.check_input_constraints = True
        self._call = export_module.call_spec
        self._expected = [
            node.meta["val"]
            for spec, node in zip(
                self.graph_signature.input_specs, export_module.graph.find_nodes(op="placeholder"), strict=True
            )
            if spec.kind is InputKind.USER_INPUT
        ]
        #: What is asked of sizes that vary; in a tuple, as it is no part of the program.
        self._relations = (guards_of(export_module),) if export_module.range_constraints else ()
        _Builder(export_module, self).build()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the program.

        Raises
        ------
        TypeError
            For arguments of another structure, where there is no adapter.
        RuntimeError
            For tensors of other sizes.
        AssertionError
            For sizes that vary, and that the program is not for.
        """
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._call.in_spec:
            leaves = self._adapted(leaves, spec, (args, kwargs))
        if self.check_input_constraints:
            self._check_sizes(leaves)
            for relations in self._relations:
                relations(*leaves)
        results = Interpreter(self, graph=self.graph).run(*leaves)
        return pytree.tree_unflatten(results, self._call.out_spec)  # type: ignore[arg-type]

    def _adapted(self, leaves: list[Any], spec: pytree.TreeSpec, given: Any) -> list[Any]:
        target = self._call.in_spec
        if target is None:
            raise AssertionError("an exported program has a structure of arguments")
        if not self.adapted:
            log.warning(
                "Input treespec does not match with exported module's: \nInput treespec: %s.  Exported module "
                "treespec: %s\nAdapting flat arg to match exported module's treespec",
                spec, target,
            )  # fmt: skip
        self.adapted = True
        if self.flat_args_adapter is None:
            raise TypeError(
                "There is no flat args adapter specified. Are you sure you are calling this with the right arguments? "
            )
        leaves = self.flat_args_adapter.adapt(
            target_spec=target,
            input_spec=spec,
            input_args=leaves,
            metadata=self.meta,
            obj=given,
        )
        if len(leaves) != target.num_leaves:
            raise TypeError(f"Flat args adaption failed, number of args mismatch Adapted: {len(leaves)} \n")
        return leaves

    def _check_sizes(self, leaves: list[Any]) -> None:
        args, kwargs = pytree.tree_unflatten(range(len(leaves)), self._call.in_spec)  # type: ignore[arg-type]
        places = [("*args", args), ("*kwargs", kwargs)]
        named = [
            what + pytree.keystr(path) for what, tree in places for path, _ in pytree.tree_flatten_with_path(tree)[0]
        ]
        for name, leaf, expected in zip(named, leaves, self._expected, strict=True):
            if not isinstance(expected, Tensor):
                continue
            if not isinstance(leaf, Tensor) or leaf.dim() != expected.dim():
                raise RuntimeError(f"Expected input at {name} to be a tensor of {expected.dim()} dimensions")
            for dim, (found, size) in enumerate(zip(leaf.shape, plain_sizes(expected.shape), strict=True)):
                if isinstance(size, int) and found != size:
                    raise RuntimeError(
                        f"Expected input at {name}.shape[{dim}] to be equal to {size}, but got {found}. If you meant "
                        "for this dimension to be dynamic, please re-export and specify dynamic_shapes (e.g. with "
                        "Dim.DYNAMIC)"
                    )


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """The program as modules that call each other as the exported ones did, each with a graph of its own.

    A module that is called several times is there once for all calls that do the same, and once more, as ``name@1``,
    for each that does something else.

    Parameters
    ----------
    flat_args_adapter
        Asked where arguments have another structure than those that the program was exported with.

    Raises
    ------
    NotImplementedError
        Where steps of one call of a module lie apart in the graph.
    """
    return UnflattenedModule(module, flat_args_adapter)


# Making it


@dataclasses.dataclass(eq=False)
class _Frame:
    """One call of a module: what it does, in order.

    Attributes
    ----------
    key, path
        What tells the call from others, and the module's name.
    items
        Steps, and calls of other modules.
    """

    key: str
    path: str
    items: list[Any] = dataclasses.field(default_factory=list)

    def nodes(self) -> Iterator[Node]:
        """All steps, those of calls below included."""
        for item in self.items:
            if isinstance(item, _Frame):
                yield from item.nodes()
            else:
                yield item


class _Builder:
    """Makes the modules of a program below a root."""

    def __init__(self, program: ExportedProgram, root: UnflattenedModule) -> None:
        self._program = program
        self._root = root
        inputs = program.graph.find_nodes(op="placeholder")
        specs = program.graph_signature.input_specs
        #: Input of the graph -> the name of the tensor in the module.
        self._held = {
            node: str(spec.target)
            for spec, node in zip(specs, inputs, strict=True)
            if spec.kind is not InputKind.USER_INPUT
        }
        self._arguments = [node for node in inputs if node not in self._held]
        self._values = {**program.state_dict, **program.constants}
        #: Module -> the different things that its calls do, and the modules that do them.
        self._made: dict[str, list[tuple[Any, InterpreterModule]]] = {}

    def build(self) -> None:
        """Give the root its graph, and the modules below."""
        (whole,) = self._frames()
        copies: dict[int, Any] = {}
        for name, value in self._values.items():
            if id(value) not in copies:
                copies[id(value)] = _copied(value)
            self._put(name, copies[id(value)])
        self._root.graph = self._graph(whole, self._root, self._arguments)

    # The calls of the program

    def _frames(self) -> list[_Frame]:
        whole = _Frame("", "")
        open_frames, closed = [whole], set()
        for node in self._program.graph.nodes:
            if node.op in ("placeholder", "output", "get_attr"):
                continue
            stack = [(key, path) for key, (path, _) in node.meta.get("nn_module_stack", {}).items() if path]
            depth = 0
            while depth < min(len(stack), len(open_frames) - 1) and open_frames[depth + 1].key == stack[depth][0]:
                depth += 1
            closed |= {frame.key for frame in open_frames[depth + 1 :]}
            del open_frames[depth + 1 :]
            for key, path in stack[depth:]:
                if key in closed:
                    raise NotImplementedError(f"torch.export.unflatten: the steps of the call {key} lie apart")
                frame = _Frame(key, path)
                open_frames[-1].items.append(frame)
                open_frames.append(frame)
            open_frames[-1].items.append(node)
        return [whole]

    # Graphs

    def _graph(self, frame: _Frame, module: InterpreterModule, inputs: list[Node]) -> Graph:
        graph = Graph()
        env: dict[Node, Node] = {}
        for node in inputs:
            made = graph.placeholder(node.name)
            made.name = made.target = node.name
            made.meta = dict(node.meta)
            env[node] = made
        for node in self._used_attributes(frame):
            env[node] = self._attribute(graph, frame, module, node)
        for item in frame.items:
            if isinstance(item, _Frame):
                self._call(graph, env, frame, module, item)
            else:
                env[item] = graph.node_copy(item, env.__getitem__)
        if frame.path:
            outputs = [env[node] for node in self._outputs(frame)]
            graph.output(outputs[0] if len(outputs) == 1 else outputs)
        else:
            self._finish(graph, env)
        graph.lint()
        return graph

    def _used_attributes(self, frame: _Frame) -> list[Node]:
        """Tensors that the frame reads itself, or hands to a call that cannot; and the functions of its operators."""
        used: dict[Node, None] = {}
        for item in frame.items:
            wanted = self._inputs(item) if isinstance(item, _Frame) else item.all_input_nodes
            used.update(
                dict.fromkeys(node for node in wanted if self._is_attribute(node) and self._in_reach(node, frame))
            )
        if not frame.path:
            results = self._program.graph.output_node().all_input_nodes
            used.update(dict.fromkeys(node for node in results if self._is_attribute(node)))
            written = {spec.target for spec in self._program.graph_signature.output_specs if spec.target is not None}
            used.update(dict.fromkeys(node for node, name in self._held.items() if name in written))
        return list(used)

    def _is_attribute(self, node: Node) -> bool:
        return node in self._held or node.op == "get_attr"

    def _in_reach(self, node: Node, frame: _Frame) -> bool:
        """Whether the frame's module has the tensor, itself or below; functions of operators are with any."""
        return node.op == "get_attr" or not frame.path or self._held[node].startswith(frame.path + ".")

    def _attribute(self, graph: Graph, frame: _Frame, module: InterpreterModule, node: Node) -> Node:
        if node.op == "get_attr":
            module.add_module(str(node.target), self._program.graph_module.get_submodule(str(node.target)))
            target = str(node.target)
        else:
            target = self._held[node][len(frame.path) + 1 if frame.path else 0 :]
        made = graph.get_attr(target)
        made.meta = dict(node.meta)
        return made

    def _inputs(self, frame: _Frame) -> list[Node]:
        """What the frame is given: values of others, and tensors that are not in its reach."""
        own = set(frame.nodes())
        used: dict[Node, None] = {}
        for node in frame.nodes():
            used.update(dict.fromkeys(value for value in node.all_input_nodes if value not in own))
        return [node for node in used if not self._is_attribute(node) or not self._in_reach(node, frame)]

    def _outputs(self, frame: _Frame) -> list[Node]:
        """Values of the frame that others use."""
        own = set(frame.nodes())
        return [node for node in frame.nodes() if any(user not in own for user in node.users)]

    def _call(
        self, graph: Graph, env: dict[Node, Node], frame: _Frame, module: InterpreterModule, called: _Frame
    ) -> None:
        inputs, outputs = self._inputs(called), self._outputs(called)
        path = self._module_for(called, inputs)
        if frame.path and not path.startswith(frame.path + "."):
            target = path.replace(".", "_")
            module.add_module(target, self._root.get_submodule(path))
        else:
            target = path[len(frame.path) + 1 if frame.path else 0 :]
        made = graph.call_module(target, tuple(env[node] for node in inputs))
        made.meta["nn_module_stack"] = next(iter(called.nodes())).meta["nn_module_stack"]
        if len(outputs) == 1:
            env[outputs[0]] = made
            made.meta["val"] = outputs[0].meta.get("val")
            return
        for index, node in enumerate(outputs):
            env[node] = graph.call_function(getitem, (made, index))
            env[node].meta["val"] = node.meta.get("val")

    def _module_for(self, frame: _Frame, inputs: list[Node]) -> str:
        """The path of a module that does what a call does: one that is there, or a new one."""
        made = self._made.setdefault(frame.path, [])
        candidate = self._module_at(frame.path) if not made else InterpreterModule()
        if made:
            self._fill(candidate, frame.path)
        graph = self._graph(frame, candidate, inputs)
        found = _canonical(graph)
        for count, (known, _) in enumerate(made):
            if known == found:
                return frame.path if not count else f"{frame.path}@{count}"
        candidate.graph = graph
        path = frame.path if not made else f"{frame.path}@{len(made)}"
        if made:
            owner, _, name = path.rpartition(".")
            self._module_at(owner).add_module(name, candidate)
        made.append((found, candidate))
        return path

    def _fill(self, module: InterpreterModule, path: str) -> None:
        """Give a second module for the same path the tensors and modules of the first."""
        first = self._root.get_submodule(path)
        module._parameters.update(first._parameters)
        module._buffers.update(first._buffers)
        module._modules.update(first._modules)
        module._non_persistent_buffers_set.update(first._non_persistent_buffers_set)
        module.__dict__.update({name: held for name, held in vars(first).items() if isinstance(held, Tensor)})

    def _finish(self, graph: Graph, env: dict[Node, Node]) -> None:
        """Write what the program writes, and return what it returns."""
        (values,) = self._program.graph.output_node().args
        results = []
        names = {node.name: node for node in self._arguments} | {name: node for node, name in self._held.items()}
        for spec, value in zip(self._program.graph_signature.output_specs, values, strict=True):
            given = env[value] if isinstance(value, Node) else value
            if spec.target is None:
                results.append(given)
            else:
                graph.call_function(ops.aten.copy_.default, (env[names[spec.target]], given))
        graph.output(tuple(results))

    # Modules

    def _module_at(self, path: str) -> InterpreterModule:
        """The module of a path, which is made where there is none."""
        found: Any = self._root
        for part in path.split(".") if path else ():
            if part not in found._modules:
                found.add_module(part, InterpreterModule())
            found = found._modules[part]
        return found  # type: ignore[no-any-return]

    def _put(self, name: str, value: Any) -> None:
        path, _, own = name.rpartition(".")
        owner = self._module_at(path)
        signature = self._program.graph_signature
        if isinstance(value, Parameter):
            owner.register_parameter(own, value)
        elif name in signature.buffers:
            owner.register_buffer(own, value, persistent=name not in signature.non_persistent_buffers)
        else:
            object.__setattr__(owner, own, value)


def _copied(value: Tensor) -> Any:
    """A tensor of the same values; a parameter of a parameter."""
    made = value.detach().clone()
    if isinstance(value, Parameter):
        return Parameter(made, requires_grad=value.requires_grad)
    return made.requires_grad_(value.requires_grad)


def _canonical(graph: Graph) -> Any:
    """What a graph does, whatever its values are called."""
    place = {node: index for index, node in enumerate(graph.nodes)}

    def plain(value: Any) -> Any:
        if isinstance(value, Node):
            return ("value", place[value])
        if isinstance(value, (list, tuple)):
            return (type(value).__name__, *(plain(item) for item in value))
        if isinstance(value, dict):
            return ("dict", *((key, plain(item)) for key, item in value.items()))
        return (type(value).__name__, repr(value))

    return [
        (node.op, None if node.op in ("placeholder", "output") else node.target, plain(node.args), plain(node.kwargs))
        for node in graph.nodes
    ]
