"""Programs: captured as graphs of calls of ``torch``, these as graphs of operators, and these compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mindtorch import _logging
from mindtorch._dynamo.eval_frame import CapturedProgram
from mindtorch._dynamo.exc import Unsupported
from mindtorch._dynamo.utils import counters
from mindtorch._functorch._aot_autograd.runtime import NoGradient, SharedMemory
from mindtorch._functorch.aot_autograd import aot_module_simplified, make_boxed_func
from mindtorch._functorch.partitioners import default_partition

from .cache import keep_programs
from .calls import NotLowered
from .executable import check_graph, compile_graph
from .sizes import BySizes, has_sizes

__all__ = ["CompiledProgram", "compiled_module"]


class CompiledProgram(CapturedProgram):
    """A program that runs by what XLA made of it; where that cannot be, as it is."""

    opens_rates = True

    def __init__(
        self, program: Callable[..., Any], fullgraph: bool = False, recompile_limit: int | None = None,
        dynamic: bool | None = None, rng: str = "torch",
    ) -> None:  # fmt: skip
        keep_programs()
        self.rng = rng
        super().__init__(program, compiled_module, fullgraph, recompile_limit, dynamic)

    def _compiled(self, captured: Any, inputs: list[Any]) -> Callable[..., Any] | None:
        if has_sizes(inputs):
            return BySizes(captured.graph_module, inputs, self._of_tensors, self._name(), self.fullgraph)
        return self._of_tensors(captured.graph_module, inputs)

    def _of_tensors(self, graph: Any, inputs: list[Any]) -> Callable[..., Any] | None:
        try:
            return compiled_module(graph, inputs, self.rng)
        except (NotLowered, NotImplementedError, NoGradient) as error:
            counters["graph_break"][str(error)] += 1
            if self.fullgraph:
                raise Unsupported(f"{self._name()} cannot be compiled by XLA: {error}") from error
            _logging.artifact("graph_breaks", "Graph break in %s: %s", self._name(), error)
            return None


def compiled_module(module: Any, inputs: Sequence[Any], rng: str = "torch") -> Callable[..., Any]:
    """What runs in the place of a graph of calls of ``torch``, for arguments like the given ones.

    It is a backend of ``torch.compile`` too. Where a function has a gradient, whether its graph can be compiled is seen
    before the function runs; it is compiled when it is asked for.

    Raises
    ------
    NotLowered
        When an operator has neither a lowering nor is written in others that have.
    NotImplementedError
        For what `aot_module_simplified` refuses.
    """

    def compiled(graph: Any, given: Sequence[Any]) -> Callable[..., Any]:
        return make_boxed_func(compile_graph(graph, given, rng))

    def checked_partition(joint: Any, given: Sequence[Any], **settings: Any) -> Any:
        check_graph(joint, rng)
        return default_partition(joint, given, **settings)

    run = aot_module_simplified(
        module, inputs, fw_compiler=compiled, bw_compiler=compiled, partition_fn=checked_partition,
        keep_inference_input_mutations=True,
    )  # fmt: skip

    def serving(*given: Any) -> Any:
        try:
            return run(*given)
        except SharedMemory as error:  # it is told before anything has run
            _logging.artifact("graph_breaks", "A graph runs operator by operator: %s", error)
            return module(*given)

    return serving
