"""The layer of the key `QUANTIZED`: operators on quantized tensors, carried out on their integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.lookup import composite_of
from ..dispatch.registry import Overload, load_family
from ..errors import no_kernel
from ..keys import AUTOCAST, AUTOGRAD, FORWARD_GRAD
from ..layers.rule_room import RuleRoom
from ..plugins.protocols import CONTRACT
from ..state import excluding
from ..tensor_types import tensors_in
from .tensors import PerTensor, is_quantized, quantized

__all__ = ["LAYER", "QuantizedLayer", "rule"]

Callee = Callable[..., Any]

#: What has been done to a call when it comes here.
_ABOVE = AUTOCAST | AUTOGRAD | FORWARD_GRAD
_RULES = RuleRoom(f"{__package__}.rules")
#: Enter what operators do to quantized tensors.
rule = _RULES.rule


class QuantizedLayer:
    """Finds the rule for an operator; views are views of the integers; what has none is refused by name."""

    contract = CONTRACT
    dispatch_key = "QUANTIZED"

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee | None:
        """A rule, a view, or the composite of an operator of the family."""
        found = _RULES.find(overload.name)
        if found is None and overload.family == "quantized":
            load_family("mt_core.decomp", "quantized")
            composite = composite_of(overload)
            found = None if composite is None else composite.function
        if found is None and _is_view(overload):
            found = _view(overload)
        return None if found is None else _below_autograd(found)

    def fallback(self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Any) -> Callee:
        if composite is not None:
            return composite  # type: ignore[no-any-return]

        def refuse(*args: Any) -> Any:
            given = next(tensor for tensor in tensors_in(args) if is_quantized(tensor))
            raise no_kernel(
                f"Could not run 'aten::{overload.name}' with arguments from the "
                f"'Quantized{given.device.type.upper()}' backend. This operator is not implemented for quantized "
                "tensors; `dequantize` them first."
            )

        return refuse


def _is_view(overload: Overload) -> bool:
    schema = overload.schema
    return not schema.is_mutable and any(r.alias is not None for r in schema.returns)


def _view(overload: Overload) -> Callee:
    """The same view of the integers."""

    def run(self: Any, *args: Any) -> Any:
        if any(is_quantized(tensor) for tensor in tensors_in(args)):
            raise no_kernel(f"aten::{overload.name} takes one quantized tensor")
        quantizer = self._array.quantizer
        if not isinstance(quantizer, PerTensor):
            raise RuntimeError(f"{overload.name}: Setting strides is possible only on uniformly quantized tensor")
        made = overload.call(self._array.integers, *args)
        if isinstance(made, (list, tuple)):
            return type(made)([quantized(one, quantizer) for one in made])
        return self if made is self._array.integers else quantized(made, quantizer)

    return run


def _below_autograd(function: Callee) -> Callee:
    def run(*args: Any) -> Any:
        with excluding(_ABOVE):
            return function(*args)

    return run


#: Registered by `mt_core._assemble`.
LAYER = QuantizedLayer()
