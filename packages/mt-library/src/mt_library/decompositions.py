"""``torch._decomp``: operators written in other operators, by operator."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mt_core.dispatch.composed import widened
from mt_core.dispatch.executors import rule_of
from mt_core.dispatch.lookup import composite_of
from mt_core.dispatch.registry import DECLARATIONS, Overload, find_overload
from mt_core.dtypes import promote_types
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in

from .binding import bind
from .ops import OpOverload, OpOverloadPacket, operator_of
from .registrations import known_names
from .tags import Tag

__all__ = [
    "core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table", "meta_table",
    "pre_autograd_decomposition_table", "register_decomposition", "remove_decompositions",
]  # fmt: skip

Decomposition = Callable[..., Any]
_KINDS = ("post_autograd", "pre_autograd", "meta")


class _Table(dict[Any, Decomposition]):
    """Decompositions by operator: those that were registered, and those that the core has, found when asked for."""

    def __missing__(self, op: Any) -> Decomposition:
        found = _own(op)
        if found is None:
            raise KeyError(op)
        self[op] = found
        return found

    def __contains__(self, op: object) -> bool:
        return super().__contains__(op) or _own(op) is not None

    def get(self, op: Any, default: Any = None) -> Any:
        return self[op] if op in self else default

    def fill(self) -> None:
        """Look all operators up."""
        for name in known_names():
            name = name.removeprefix("aten::")
            if name in DECLARATIONS and "::" not in name:
                self.get(operator_of(find_overload(name)))


def _own(op: Any) -> Decomposition | None:
    """What the core writes an operator in."""
    if not isinstance(op, OpOverload) or "::" in op._overload.name:
        return None
    function = written_in_others(op._overload)
    if function is None:
        return None

    def decomposition(*args: Any, **kwargs: Any) -> Any:
        return function(*bind(op._schema, args, kwargs, op._numbers))

    return functools.update_wrapper(decomposition, function)


def written_in_others(overload: Overload) -> Decomposition | None:
    """What carries a functional operator out by others, given all arguments of the schema in order; None without."""
    composite = composite_of(overload)
    if composite is None or overload.declaration.form != "functional":
        return None

    kind = overload.declaration.kind
    rule = rule_of(overload) if composite.explicit and kind in ("plain", "factory") else None
    if rule is None and not (composite.explicit and kind == "elementwise"):
        return composite.function
    names = [argument.name for argument in overload.schema.arguments]

    def function(*args: Any) -> Any:
        spec = rule(*args) if rule is not None else None
        given = widened(overload, args)
        for name, value in _normalized(spec).items():
            given[names.index(name)] = value
        result = composite.function(*given)
        return _as_ruled(result, spec) if rule is not None else _narrowed(result, args)

    return functools.update_wrapper(function, composite.function)


# What a composite is handed that stands for a kernel, and what it gives, as operators that can be followed


def _normalized(spec: Any) -> dict[str, Any]:
    first = spec[0] if isinstance(spec, (list, tuple)) and spec else spec
    return getattr(first, "arguments", None) or {}


def _as_ruled(result: Any, spec: Any) -> Any:
    """Results in the dtypes that a rule says they have."""
    if isinstance(result, Tensor):
        return result if result._dtype is spec.dtype else result.to(spec.dtype)
    if isinstance(result, (list, tuple)):
        return type(result)(map(_as_ruled, result, spec))
    return result


def _narrowed(result: Any, args: tuple[Any, ...]) -> Any:
    """The result of an elementwise operator on half types, in the dtype that they promote to."""
    halves = [one for one in tensors_in(args) if one._dtype.compute is not one._dtype]
    if not halves or not isinstance(result, Tensor) or result._dtype is not halves[0]._dtype.compute:
        return result
    promoted = functools.reduce(promote_types, [one._dtype for one in tensors_in(args)])
    return result if promoted is result._dtype else result.to(promoted)


#: Kind -> decompositions: of what is left below autograd, of what is taken apart above it, and for the meta device.
global_decomposition_table: dict[str, dict[Any, Decomposition]] = defaultdict(dict)
decomposition_table = global_decomposition_table["post_autograd"] = _Table()
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _overloads_of(op: Any) -> list[Any]:
    if isinstance(op, OpOverloadPacket):
        return list(op.op_overloads())
    return [op]


def register_decomposition(
    aten_op: Any, registry: dict[Any, Decomposition] | None = None, *, type: str = "post_autograd", unsafe: bool = False
) -> Callable[[Decomposition], Decomposition]:  # fmt: skip
    """A decorator that enters a decomposition of an operator, of all overloads of a packet, or of several.

    Parameters
    ----------
    registry
        A table of one's own; by default the one of the kind `type` says, of ``post_autograd pre_autograd meta``.
    unsafe
        Whether operators that are none may be entered.

    Raises
    ------
    AssertionError
        For another `type`.
    RuntimeError
        For an operator that has a decomposition in the table.
    TypeError
        For what is no operator.
    """
    if type not in _KINDS:
        raise AssertionError(f"type must be one of {set(_KINDS)}, got {type}")
    table = global_decomposition_table[type] if registry is None else registry

    def enter(fn: Decomposition) -> Decomposition:
        for op in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            for overload in _overloads_of(op):
                if not unsafe and not isinstance(overload, OpOverload):
                    raise TypeError(f"register_decomposition: expected an operator of torch.ops, got {overload!r}")
                if dict.__contains__(table, overload):
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn

    return enter


def get_decompositions(
    aten_ops: Sequence[OpOverload | OpOverloadPacket], type: str = "post_autograd"
) -> dict[OpOverload, Decomposition]:
    """The decompositions of operators, and of all overloads of packets; those that have none are left out.

    Raises
    ------
    AssertionError
        For another `type`.
    """
    if type not in _KINDS:
        raise AssertionError(f"type must be one of {set(_KINDS)}, got {type}")
    table = global_decomposition_table[type]
    overloads = [overload for op in aten_ops for overload in _overloads_of(op)]
    return {overload: table[overload] for overload in overloads if overload in table}


def remove_decompositions(
    decompositions: dict[Any, Decomposition], aten_ops: Iterable[OpOverload | OpOverloadPacket]
) -> None:
    """Take operators, and all overloads of packets, out of a table."""
    for op in aten_ops:
        for overload in _overloads_of(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> dict[Any, Decomposition]:
    """The decompositions of the operators that are not of PyTorch's core set."""
    decomposition_table.fill()
    return {op: fn for op, fn in decomposition_table.items() if Tag["core"] not in op.tags}
