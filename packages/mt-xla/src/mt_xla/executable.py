"""A graph of operators as one program of XLA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mindtorch.fx.graph_module import GraphModule
from mt_core import Tensor
from mt_core.autograd_state import no_grad
from mt_core.tensor import from_array

from .arrays import Layout, array_of, tensor_of
from .calls import Check, checked, convert, jax_dtype
from .device.array import replace
from .device.sharding import device_of, devices, is_spread, together
from .device.tensors import on_device, overwrite, result_of, values_of
from .draws import Draw, drawn
from .interpreter import Interpreter
from .philox import PhiloxDraw

__all__ = ["check_graph", "compile_graph"]


def compile_graph(graph: GraphModule, inputs: Sequence[Any], rng: str = "torch") -> Callable[..., list[Any]]:
    """A function of the graph's inputs, tensors of the CPU or numbers, that gives its results.

    Parameters
    ----------
    rng
        Whose random numbers it draws (`draws.drawn`).

    Raises
    ------
    NotLowered
        When an operator of the graph cannot be handed to XLA.
    """
    made = Executable(graph, inputs, rng)
    made.compile()
    return made


def check_graph(graph: GraphModule, rng: str = "torch") -> None:
    """See that a graph can be compiled.

    Raises
    ------
    NotLowered
        Where it cannot.
    """
    Executable(graph, [node.meta["val"] for node in graph.graph.find_nodes(op="placeholder")], rng).trace()


class Executable:
    """Runs a graph: one program, of the graph's inputs and what was drawn for it."""

    def __init__(self, graph: GraphModule, inputs: Sequence[Any], rng: str) -> None:
        self._inputs = list(graph.graph.find_nodes(op="placeholder"))
        (output,) = graph.graph.find_nodes(op="output")
        draws = [drawn(node, rng) for node in graph.graph.nodes]
        self._draws: list[Draw | PhiloxDraw] = [draw for draw in draws if draw is not None]
        given = {node: place for place, node in enumerate(self._inputs)}
        self._results = [_Result(node, given, first) for node, first in _firsts(output.args[0])]
        self._has_host_results = any(r.layout is not None and not on_device(r.like) for r in self._results)
        self._interpreter = Interpreter(graph, self._inputs, [draw.node for draw in self._draws])
        self._checks: list[Check] = []
        self._dtypes = [_dtype_of(value) for value in inputs]
        self._devices = [_device_of(value) for value in inputs]
        self._index = next((value.device.index or 0 for value in inputs if on_device(value)), 0)
        self._donated: list[int] = []
        self._run: Any = None
        #: How arrays are spread over devices -> the program for that.
        self._runs: dict[Any, Any] = {}
        self._shapes = self._shapes_of(inputs)

    def compile(self) -> None:
        """Have XLA compile the program."""
        with jax.enable_x64(True):
            if any(device is not None for device in self._devices):
                self.trace()  # tells what is written: its memory is the program's to overwrite
                self._donated = [place for place in self._written if self._devices[place] is not None]
                if len(devices()) > 1:
                    return  # how they are spread over these is known when it is called
            self._run = self._made_for(self._shapes, None)

    def _made_for(self, shapes: list[Any], places: list[Any] | None) -> Any:
        settings = {} if places is None else {"out_shardings": places}
        lowered = jax.jit(self._program, donate_argnums=self._donated, **settings).lower(*shapes)
        return lowered.compile(compiler_options={"xla_allow_excess_precision": False})

    def _run_for(self, arrays: list[Any]) -> tuple[Any, list[Any]]:
        """The program for arrays that lie like these, and these where it takes them."""
        if self._run is not None and not any(is_spread(array) for array in arrays):
            return self._run, arrays
        arrays = together(arrays, self._index)
        key = tuple([array.sharding for array in arrays])
        if key not in self._runs:
            shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) for a in arrays]
            free = [None for result in self._results if result.layout is not None]
            # What is written stays spread as it was.
            places = [*free, *(arrays[place].sharding for place in self._written), *([None] if self._checks else [])]
            self._runs[key] = self._made_for(shapes, places)
        return self._runs[key], arrays

    def trace(self) -> None:
        """See that the program can be compiled."""
        with jax.enable_x64(True):
            jax.eval_shape(self._program, *self._shapes)

    def _shapes_of(self, inputs: Sequence[Any]) -> list[Any]:
        shapes = [() if dtype is None else tuple(t.shape) for t, dtype in zip(inputs, self._dtypes, strict=True)]
        given = [
            jax.ShapeDtypeStruct(shape, jnp.result_type(value) if dtype is None else dtype, sharding=_on(device))
            for value, shape, dtype, device in zip(inputs, shapes, self._dtypes, self._devices, strict=True)
        ]
        return [*given, *(like for draw in self._draws for like in draw.likes)]

    def _program(self, *arrays: Any) -> list[Any]:
        """What is traced: the values that the graph computes, as they are to lie in memory."""
        count = len(self._inputs)
        rest = iter(arrays[count:])
        draws = [draw.values([next(rest) for _ in draw.likes]) for draw in self._draws]
        with checked() as checks:
            values = self._interpreter.run(arrays[:count], draws)
        self._checks = checks
        self._written = [place for place, node in enumerate(self._inputs) if values[node] is not arrays[place]]
        found = []
        for result in self._results:
            if result.layout is not None:
                found.append(result.layout.put(_as(values[result.node], result.like)))
        written = [values[self._inputs[place]] for place in self._written]
        if not checks:
            return [*found, *written]
        holds = jnp.stack([check.holds for check in checks])
        for i, place in enumerate(self._written):
            if place in self._donated:  # what a program that refuses was given is given back
                written[i] = jnp.where(holds.all(), written[i], arrays[place])
        return [*found, *written, holds]

    def __call__(self, *given: Any) -> list[Any]:
        """The results, of tensors that have memory of their own or are inputs."""
        with no_grad(), jax.enable_x64(True):
            there = values_of(given, self._donated)
            arrays = [there[place] if place in there else array_of(value) for place, value in enumerate(given)]
            for draw in self._draws:
                arrays.extend(draw.arrays())
            run, arrays = self._run_for(arrays) if len(devices()) > 1 else (self._run, arrays)
            found = run(*arrays)
            if len(there) < len(given) or self._has_host_results:
                # Memory of inputs and results is shared with tensors of the CPU, which know of no later moment.
                jax.block_until_ready(found)
            holds = np.asarray(found.pop()) if self._checks else None
            is_refused = holds is not None and not holds.all()
            for place in reversed(self._written):
                value = found.pop()
                if is_refused:
                    if place in self._donated:
                        replace(given[place]._array, value)
                elif place in there:
                    overwrite(given[place], value)
                else:
                    given[place].copy_(from_array(np.asarray(value)))
            if holds is not None:
                self._refuse(holds)
            computed = iter(found)
            made: list[Any] = []
            for result in self._results:
                if result.layout is not None:
                    value = next(computed)
                    if on_device(result.like):
                        made.append(result_of(value, result.layout, result.like))
                    else:
                        made.append(tensor_of(value, result.layout, result.shape))
                elif result.same is not None:
                    made.append(made[result.same].clone())
                else:
                    made.append(given[result.place] if result.place is not None else result.node)
            return made

    def _refuse(self, holds: np.ndarray) -> None:
        for check, is_true in zip(self._checks, holds, strict=True):
            if not is_true:
                raise check.error(check.text)


class _Result:
    """One result of a graph: computed, an input, one that is there twice, or a constant."""

    def __init__(self, node: Any, given: dict[Any, int], first: int | None) -> None:
        is_node = hasattr(node, "meta")
        self.node, self.same = node, first
        self.place = given.get(node) if is_node else None
        self.like = node.meta["val"] if is_node else node
        self.layout: Layout | None = None
        if is_node and first is None and self.place is None and isinstance(self.like, Tensor):
            self.shape = tuple(self.like.shape)
            self.layout = Layout(self.shape, self.like.stride())


def _firsts(results: Sequence[Any]) -> list[tuple[Any, int | None]]:
    """Results, each with the place of an earlier one that is the same."""
    seen: dict[int, int] = {}
    found = []
    for place, node in enumerate(results):
        found.append((node, seen.get(id(node)) if node is not None else None))
        seen.setdefault(id(node), place)
    return found


def _dtype_of(value: Any) -> Any:
    return jax_dtype(value.dtype) if isinstance(value, Tensor) else None


def _device_of(value: Any) -> Any:
    """jax's device of a tensor of device ``xla``."""
    return device_of(value.device.index or 0) if on_device(value) else None


def _on(device: Any) -> Any:
    return None if device is None else jax.sharding.SingleDeviceSharding(device)


def _as(value: Any, like: Any) -> Any:
    value = convert(jnp.asarray(value), jax_dtype(like.dtype))
    return jnp.broadcast_to(value, tuple(like.shape))
