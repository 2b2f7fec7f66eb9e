"""The layer of the key `SPARSE`: operators on sparse tensors, carried out on their indices and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cell import cell_of
from ..dispatch.lookup import composite_of
from ..dispatch.registry import Overload, find_overload, load_family
from ..dtypes import can_cast, scalar_type_name
from ..errors import no_kernel
from ..keys import AUTOCAST, AUTOGRAD, FORWARD_GRAD, MULTI_VIEW, NO_GRAD_VIEW
from ..layers.rule_room import RuleRoom
from ..plugins.protocols import CONTRACT
from ..state import excluding
from ..tensor import Tensor
from ..tensor_types import tensors_in
from .tensors import is_sparse, layout_name, replace

__all__ = ["LAYER", "SparseLayer", "parts", "rule"]

Callee = Callable[..., Any]

#: What has been done to a call when it comes here.
_ABOVE = AUTOCAST | AUTOGRAD | FORWARD_GRAD
_RULES = RuleRoom(f"{__package__}.rules")
#: Operators that are others where a tensor is sparse, which are recorded in their place.
_PARTS = RuleRoom(f"{__package__}.rules")
#: Enter what operators do to sparse tensors; at least one of the arguments is sparse.
rule = _RULES.rule
#: Enter which other operators an operator is where a tensor is sparse; these are what gradients are recorded of.
parts = _PARTS.rule


class SparseLayer:
    """Finds the rule for an operator; what has none is refused by name."""

    contract = CONTRACT
    dispatch_key = "SPARSE"

    def parts_of(self, overload: Overload) -> Callee | None:
        """The other operators that an operator on sparse tensors is made of; None where it is none of these."""
        return _PARTS.find(overload.name)

    def build(self, overload: Overload, call_keys: int, below: Callable[[], Callee]) -> Callee | None:
        """A rule, the composite of an operator of the family, or the functional form of one that writes."""
        found = self._found(overload)
        if found is not None:
            return _unrecorded(found)
        functional = overload.declaration.functional
        if functional is None or (found := self._found(find_overload(functional))) is None:
            return None
        if overload.declaration.form == "inplace":
            return _written_to_self(overload, _unrecorded(found))
        if len(overload.schema.returns) == 1:
            return _written_to_out(overload, _unrecorded(found))
        return None

    def fallback(self, overload: Overload, call_keys: int, below: Callable[[], Callee], composite: Any) -> Callee:
        def refuse(*args: Any) -> Any:
            given = next(tensor for tensor in tensors_in(args) if is_sparse(tensor))
            kind = f"{layout_name(given)}{given.device.type.upper()}"
            raise no_kernel(
                f"Could not run 'aten::{overload.name}' with arguments from the '{kind}' backend. This "
                "operator is not implemented for sparse tensors."
            )

        return refuse

    def _found(self, overload: Overload) -> Callee | None:
        found = _RULES.find(overload.name)
        if found is not None:
            return found
        if overload.family == "sparse":
            load_family("mt_core.decomp", "sparse")
            composite = composite_of(overload)
            return None if composite is None else composite.function
        return None


def _unrecorded(function: Callee) -> Callee:
    """A rule, whose parts are not recorded: dense results are no views of what was computed on the way."""

    def run(*args: Any) -> Any:
        with excluding(_ABOVE):
            result = function(*args)
        for tensor in tensors_in((result,)):
            if tensor._base is not None:
                tensor._base = None
                tensor._keys &= ~(NO_GRAD_VIEW | MULTI_VIEW)
                cell_of(tensor).version = 0
        return result

    return run


def _written_to_self(overload: Overload, function: Callee) -> Callee:
    at = next(i for i, a in enumerate(overload.schema.arguments) if a.writes)

    def run(*args: Any) -> Any:
        return _write(overload, args[at], function(*args))

    return run


def _written_to_out(overload: Overload, function: Callee) -> Callee:
    at = next(i for i, a in enumerate(overload.schema.arguments) if a.writes)

    def run(*args: Any) -> Any:
        return _write(overload, args[at], function(*args[:at], *args[at + 1 :]))

    return run


def _write(overload: Overload, target: Tensor, made: Tensor) -> Tensor:
    """Let a tensor be what was computed, in its own dtype.

    Raises
    ------
    RuntimeError
        Where one of the two is sparse and the other is not, or the dtype cannot be cast.
    """
    if made.dtype is not target.dtype:
        if not can_cast(made.dtype, target.dtype):
            raise RuntimeError(f"result type {_word(made)} can't be cast to the desired output type {_word(target)}")
        made = made.to(target.dtype)
    if is_sparse(target):
        if not is_sparse(made):
            raise RuntimeError(f"{overload.name}: a dense result cannot be written to a sparse tensor")
        return replace(target, made)
    if is_sparse(made):
        raise RuntimeError(f"{overload.name}: a sparse result cannot be written to a dense tensor")
    if tuple(target.shape) != tuple(made.shape):
        if overload.declaration.form == "inplace":
            raise RuntimeError(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(made.shape)}"
            )
        target.resize_(made.shape)
    return target.copy_(made)


def _word(tensor: Tensor) -> str:
    return scalar_type_name(tensor.dtype)


#: Registered by `mt_core._assemble`.
LAYER = SparseLayer()
