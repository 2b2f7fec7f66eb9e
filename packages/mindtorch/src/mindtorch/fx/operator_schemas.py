"""``torch.fx.operator_schemas``: the signatures of what graphs call, and arguments in their form."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from mt_nn import Module

from ._names import qualified_name

if TYPE_CHECKING:
    from .node import Node

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
]


class ArgsKwargsPair(NamedTuple):
    """Arguments by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an operator of ``torch``, one for each overload; None for what is none.

    Parameters
    ----------
    return_schemas
        The schemas as well, in a tuple.
    """
    schemas = _schemas_of(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = [_signature_of(schema) for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


def _schemas_of(op: Any) -> list[Any]:
    if hasattr(op, "_schema"):
        return [op._schema]
    if not hasattr(op, "overloads"):
        op = packet_of(op)
        if op is None:
            return []
    return [getattr(op, name)._schema for name in op.overloads()]


def packet_of(op: Any) -> Any:
    """The operator of ``torch.ops.aten`` that a function is."""
    import mindtorch as torch  # lazy: it must be complete

    try:
        path = qualified_name(op)
    except RuntimeError:
        return None
    if not path.startswith(("torch.", "_operator.")):
        return None
    name = _OF_OPERATORS.get(path, path.rpartition(".")[2])
    packet = getattr(torch.ops.aten, name, None)
    return packet if hasattr(packet, "overloads") else None


_OF_OPERATORS = {
    "_operator.add": "add", "_operator.sub": "sub", "_operator.mul": "mul", "_operator.truediv": "div",
    "_operator.neg": "neg", "_operator.matmul": "matmul", "_operator.pow": "pow",
}  # fmt: skip


def _signature_of(schema: Any) -> inspect.Signature:
    """The signature of a schema; ``self`` is called ``input``, as Python's functions call it."""
    parameters = []
    for argument in schema.arguments:
        name = "input" if argument.name == "self" else argument.name
        name = "from_" if name == "from" else name
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        has_default = argument.has_default_value()
        default = argument.default_value if has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def check_for_mutable_operation(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse an operator that changes an argument.

    Raises
    ------
    RuntimeError
        When the overload that takes these arguments changes one of them.
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    for signature, schema in zip(signatures or (), schemas or (), strict=True):
        if _fits(signature, args, kwargs) and getattr(schema, "is_mutable", False):
            raise RuntimeError(
                f"Tried to trace mutable operation {schema}. FX only supports functional code, so operations that "
                "mutate operands in-place (e.g. via `out` arguments) are not supported"
            )


def _fits(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Arguments in the form of a function's signature, defaults filled in; None where none fits, or several do.

    Parameters
    ----------
    arg_types, kwarg_types
        Not supported: which overload is meant is told by the arguments' number and names.
    """
    if arg_types is not None or kwarg_types is not None:
        raise NotImplementedError("normalize_function(arg_types, kwarg_types) is not supported by mindtorch.")
    kwargs = kwargs or {}
    signatures = _signatures(target)
    fitting = [signature for signature in signatures if _fits(signature, args, kwargs)]
    if len(fitting) != 1:
        return None
    return _normalized(fitting[0], args, kwargs, normalize_to_only_use_kwargs)


def _signatures(target: Any) -> list[inspect.Signature]:
    found = get_signature_for_torch_op(target)
    if found is not None:
        return list(found)
    try:
        return [inspect.signature(inspect.unwrap(target))]
    except (TypeError, ValueError):
        return []  # of some built-in functions Python does not tell


def normalize_module(
    root: Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Arguments in the form of a layer's ``forward``; None for modules that are no layers.

    Raises
    ------
    RuntimeError
        When there is no such submodule.
    """
    try:
        submodule = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have submodule {target}!"
        ) from error
    if not type(submodule).__module__.startswith(("torch.nn", "mt_nn")):
        return None
    signature = inspect.signature(inspect.unwrap(submodule.forward))
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    by_position: list[Any] = []
    by_name: dict[str, Any] = {}
    for index, (name, value) in enumerate(bound.arguments.items()):
        if not only_kwargs and index < len(args):
            by_position.append(value)
        else:
            by_name[name] = value
    return ArgsKwargsPair(tuple(by_position), by_name)


def signature_order(first: Node, second: Node) -> tuple[list[Any], list[Any]] | None:
    """The arguments of two calls of one function in the order of a signature that both fit; None without one."""
    if first.op != "call_function":
        return None
    for signature in _signatures(first.target):
        if _fits(signature, first.args, first.kwargs) and _fits(signature, second.args, second.kwargs):
            return _in_order(signature, first), _in_order(signature, second)
    return None


def _in_order(signature: inspect.Signature, node: Node) -> list[Any]:
    bound = signature.bind(*node.args, **node.kwargs)
    bound.apply_defaults()
    return list(bound.arguments.values())
