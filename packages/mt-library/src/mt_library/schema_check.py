"""Whether an operator does what its schema says: which arguments it writes to, and which results share memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mt_core import Tensor
from mt_core.cell import cell_of
from mt_core.tensor_types import tensors_in

from .function_schema import Argument
from .ops import OpOverload

__all__ = ["Aliasing", "Mutation", "checked_call"]


class Mutation(NamedTuple):
    """An operator wrote to an argument, as its schema says."""

    op_name: str
    arg_name: str


class Aliasing(NamedTuple):
    """A result of an operator shares memory with an argument, as its schema says."""

    op_name: str
    arg_name: str
    output_number: str


def checked_call(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], call: Callable[..., Any],
    found: Callable[[Mutation | Aliasing], None] = lambda _: None,
) -> Any:  # fmt: skip
    """What ``call(*args, **kwargs)`` gives.

    Parameters
    ----------
    found
        Is told of each mutation and each sharing of memory that the schema allows.

    Raises
    ------
    RuntimeError
        Where it wrote to an argument, or a result shares memory, and the schema does not say so.
    """
    arguments = op._schema.arguments
    given = [(a, kwargs[a.name] if a.name in kwargs else args[i] if i < len(args) else None)
             for i, a in enumerate(arguments)]  # fmt: skip
    before = [[_state(tensor) for tensor in tensors_in((value,))] for _, value in given]
    result = call(*args, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    name = op._schema.name
    for (argument, value), states in zip(given, before):
        changed = any(_has_changed(t, state) for t, state in zip(tensors_in((value,)), states))
        if changed and not argument.is_write:
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
        if changed:
            found(Mutation(name, _shown(argument)))
        _check_shared(op, argument, value, results, found)
    _check_results(op, results)
    return result


def _shown(argument: Argument) -> str:
    return "input" if argument.name == "self" else argument.name


class _State(NamedTuple):
    version: int
    elements: Any
    layout: Any


def _state(tensor: Tensor) -> _State:
    if tensor.is_inference():
        version = 0
    else:
        version = cell_of(tensor).version
    copied = tensor.detach().clone() if tensor.device.type != "meta" else None
    return _State(version, copied, (tensor.shape, tensor.stride(), tensor.storage_offset()))


def _has_changed(tensor: Tensor, state: _State) -> bool:
    if (tensor.shape, tensor.stride(), tensor.storage_offset()) != state.layout:
        return True
    if state.elements is None:
        return False
    now = tensor.detach()
    return not bool(((now == state.elements) | ((now != now) & (state.elements != state.elements))).all())


def _blocks(value: Any) -> set[int]:
    return {tensor.untyped_storage().data_ptr() for tensor in tensors_in((value,))} - {0}


def _check_shared(
    op: OpOverload, argument: Argument, value: Any, results: tuple[Any, ...], found: Callable[..., None]
) -> None:
    mine = _blocks(value)
    for number, (result, declared) in enumerate(zip(results, op._schema.returns)):
        if not mine & _blocks(result):
            continue
        if not _may_share(argument, declared):
            raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")
        found(Aliasing(op._schema.name, _shown(argument), f"output_{number}"))


def _may_share(one: Argument, other: Argument) -> bool:
    first, second = one.alias_info, other.alias_info
    if first is None or second is None:
        return False
    names, others = first.after_set, second.after_set
    return not names or not others or "*" in names | others or bool(names & others)


def _check_results(op: OpOverload, results: tuple[Any, ...]) -> None:
    returns = op._schema.returns
    for i, one in enumerate(results):
        for j in range(i + 1, min(len(results), len(returns))):
            if _blocks(one) & _blocks(results[j]) and not _may_share(returns[i], returns[j]):
                raise RuntimeError(f"Outputs {i} and {j} alias unexpectedly")
