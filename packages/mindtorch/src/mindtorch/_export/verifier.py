"""``torch._export.verifier``: what must hold of the graph of an exported program."""

from __future__ import annotations

from operator import getitem
from typing import Any

from mt_library.higher_order import HigherOrderOperator
from mt_library.ops import OpOverload

from .._C import _set_grad_enabled
from ._size_functions import SIZE_FUNCTIONS

__all__ = ["VERIFIERS", "SpecViolationError", "TrainingIRVerifier", "Verifier", "load_verifier"]


class SpecViolationError(Exception):
    """A program that breaks the rules of its dialect."""


class Verifier:
    """The rules of graphs that are taken apart."""

    dialect = "ATEN"

    def check(self, ep: Any) -> None:
        """Check a program.

        Raises
        ------
        SpecViolationError
            Saying which rule it breaks.
        """
        ep.graph.lint()
        self._check_steps(ep.graph_module)
        self._check_inputs(ep)
        self._check_outputs(ep)

    def _check_steps(self, module: Any) -> None:
        for node in module.graph.nodes:
            if node.op in ("call_module", "call_method"):
                raise SpecViolationError(f"call_module is not valid: got a class '{node.target}' " if "mod" in node.op
                                         else f"call_method is not valid: {node.target}")  # fmt: skip
            if node.op == "call_function" and not self._is_allowed(node.target):
                raise SpecViolationError(f"Operator '{node.target}' is not an allowed operator type")

    def _is_allowed(self, target: Any) -> bool:
        if isinstance(target, (OpOverload, HigherOrderOperator)):
            return True
        return target in (getitem, _set_grad_enabled) or target in SIZE_FUNCTIONS

    def _check_inputs(self, ep: Any) -> None:
        names = [node.name for node in ep.graph.find_nodes(op="placeholder")]
        specs = ep.graph_signature.input_specs
        if len(names) != len(specs):
            raise SpecViolationError(f"Expected {len(specs)} inputs of the signature, and the graph has {len(names)}")
        for name, spec in zip(names, specs, strict=True):
            if spec.arg.name != name:
                raise SpecViolationError(f"Input spec {spec} does not match the placeholder {name}")
        for name in ep.graph_signature.parameters:
            if name not in ep.state_dict:
                raise SpecViolationError(f"Parameter {name} is not in the state dict.")
        kept = set(ep.graph_signature.non_persistent_buffers)
        for name in ep.graph_signature.buffers:
            if name not in (ep.constants if name in kept else ep.state_dict):
                where = "constants" if name in kept else "state dict"
                raise SpecViolationError(f"Buffer {name} is not in the {where}.")
        for name in ep.graph_signature.lifted_tensor_constants:
            if name not in ep.constants:
                raise SpecViolationError(f"Constant tensor {name} is not in the constants dictionary.")

    def _check_outputs(self, ep: Any) -> None:
        (values,) = ep.graph.output_node().args
        specs = ep.graph_signature.output_specs
        if len(values) != len(specs):
            raise SpecViolationError(f"Number of output nodes {len(values)} is different from {len(specs)} outputs")
        for value, spec in zip(values, specs, strict=True):
            found = getattr(value, "name", None)
            if found is not None and spec.arg.name != found:
                raise SpecViolationError(f"Output spec {spec} does not match the output {found}")


class TrainingIRVerifier(Verifier):
    """The rules of graphs of operators as a program called them."""

    dialect = "TRAINING"


#: Dialect -> its rules.
VERIFIERS: dict[str, type[Verifier]] = {kind.dialect: kind for kind in (Verifier, TrainingIRVerifier)}


def load_verifier(dialect: str) -> type[Verifier]:
    """The rules of a dialect."""
    return VERIFIERS[dialect]
