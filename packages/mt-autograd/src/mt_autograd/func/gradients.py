"""``grad``, ``grad_and_value`` and ``vjp``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.autograd_state import enable_grad, is_grad_enabled
from mt_core.dispatch.registry import find_overload
from mt_core.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from mt_core.tensor import Tensor
from mt_core.transforms.interpreters import Interpreter

from .. import api
from ..graph import disable_saved_tensors_hooks
from .levels import GradInterpreter, inside, outside_of

__all__ = [
    "checked_tensors", "chosen", "differentiable", "grad", "grad_and_value", "gradients", "only_tensors", "pair_of",
    "recorded", "vjp", "vjp_by", "with_chosen",
]  # fmt: skip

ArgNums = Any

_HOOKED = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use "
    "case."
)


def grad(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that computes the gradient of a scalar function.

    Parameters
    ----------
    func
        Returns one tensor without dimensions; with `has_aux`, it and anything else.
    argnums
        By which positional argument, or by which of them, to differentiate. Arguments may be containers of tensors.
    has_aux
        Whether `func` returns a pair, whose second part is handed over as it is.

    Returns
    -------
    callable
        Gives the gradients in the form of the arguments; with `has_aux`, a pair of them and the second part.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        results = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (results[0], results[1][1]) if has_aux else results[0]

    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `grad`, but for pairs of the gradient and the value (which is a pair itself with `has_aux`)."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _grad_and_value(func, argnums, has_aux, args, kwargs)

    return wrapper


def _grad_and_value(
    func: Callable[..., Any], argnums: ArgNums, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    with disable_saved_tensors_hooks(_HOOKED), GradInterpreter() as level, enable_grad():
        args, kwargs = inside((args, kwargs), level)
        by = tree_map(differentiable, chosen(args, argnums))
        output = func(*with_chosen(args, argnums, by), **kwargs)
        aux = None
        if has_aux:
            output, aux = pair_of(output, "grad_and_value(f)(*args): output")
        _check_scalar(output)
        leaves, structure = tree_flatten(by)
        found = gradients([output], leaves, None)
        value = outside_of(output, level)
        if has_aux:
            value = value, only_tensors(aux, level)
        return outside_of(tree_unflatten(found, structure), level), value


def only_tensors(aux: Any, level: Interpreter) -> Any:
    """What a function returns besides its value, without a level's wrappers.

    Raises
    ------
    RuntimeError
        For anything but containers of tensors.
    """
    for leaf in tree_leaves(aux):
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return outside_of(aux, level)


def pair_of(output: Any, what: str) -> tuple[Any, Any]:
    """What a function with ``has_aux`` returned, if it is a pair.

    Raises
    ------
    RuntimeError
        For anything else.
    """
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{what} of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
    if output.dim():
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
        )


def differentiable(value: Any) -> Tensor:
    """A tensor inside of a level that the level records; a leaf.

    Raises
    ------
    ValueError
        For anything but a tensor.
    """
    if not isinstance(value, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    return value._set_requires_grad()


def chosen(args: Sequence[Any], argnums: ArgNums) -> Any:
    """The arguments that are differentiated by: one, or a tuple.

    Raises
    ------
    RuntimeError
        For numbers that name no argument, or one twice.
    """
    if isinstance(argnums, int):
        return args[_position(argnums, len(args))]
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    positions = [_position(number, len(args)) for number in argnums]
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(positions)}")
    return tuple(args[position] for position in positions)


def _position(number: Any, count: int) -> int:
    if not isinstance(number, int):
        raise RuntimeError(f"argnum must be int, got: {type(number)}")
    if not -count <= number < count:
        raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
    return number % count


def with_chosen(args: Sequence[Any], argnums: ArgNums, values: Any) -> list[Any]:
    """The arguments, those that are differentiated by replaced."""
    replaced = list(args)
    pairs = [(argnums, values)] if isinstance(argnums, int) else zip(argnums, values, strict=True)
    for number, value in pairs:
        replaced[number] = value
    return replaced


def gradients(
    outputs: Sequence[Tensor], by: Sequence[Tensor], cotangents: Sequence[Tensor] | None, retain_graph: bool = True,
    create_graph: bool = True,
) -> list[Tensor]:  # fmt: skip
    """Gradients inside of a level; zeros where an output does not depend on it."""
    given: Sequence[Tensor | None] = [None] * len(outputs) if cotangents is None else cotangents
    pairs = list(zip(outputs, given, strict=True))
    pairs = [(output, cotangent) for output, cotangent in pairs if output.requires_grad]
    if not pairs:
        return [_zeros(tensor) for tensor in by]
    found = api.grad(
        [output for output, _ in pairs], list(by), [cotangent for _, cotangent in pairs], retain_graph=retain_graph,
        create_graph=create_graph, allow_unused=True,
    )  # fmt: skip
    return [_zeros(tensor) if gradient is None else gradient for gradient, tensor in zip(found, by, strict=True)]


def _zeros(tensor: Tensor) -> Tensor:
    zeros: Tensor = find_overload("zeros_like").call(tensor, None, None, None, None, None)
    return zeros


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and a function from cotangents of it to gradients by its arguments.

    Parameters
    ----------
    func
        Takes `primals` and returns tensors or containers of them; with `has_aux`, a pair of that and anything else.
    *primals
        Tensors or containers of them.

    Returns
    -------
    tuple
        ``(output, vjp_fn)``, and the second part of the pair where there is one. `vjp_fn` takes cotangents of the form
        of the output, and gives a tuple with gradients for each argument. They may be differentiated again where
        gradients are recorded when it is called, or with ``create_graph=True``; ``retain_graph=False`` lets it be
        called once.
    """
    return vjp_by(func, primals, None, has_aux)


def vjp_by(func: Callable[..., Any], primals: tuple[Any, ...], argnums: ArgNums, has_aux: bool) -> Any:
    """`vjp` by some of the arguments; None for all."""
    with disable_saved_tensors_hooks(_HOOKED):
        return recorded(func, primals, argnums, has_aux)


def recorded(func: Callable[..., Any], primals: tuple[Any, ...], argnums: ArgNums, has_aux: bool) -> Any:
    """`vjp_by`, which does not refuse hooks on what is saved."""
    with GradInterpreter() as level, enable_grad():
        args = inside(primals, level)
        by = tree_map(differentiable, args if argnums is None else chosen(args, argnums))
        output = func(*(by if argnums is None else with_chosen(args, argnums, by)))
        aux = None
        if has_aux:
            output, aux = pair_of(output, "vjp(f, *primals): output")
            aux = only_tensors(aux, level)
        leaves, structure = tree_flatten(output)
        checked_tensors(output, leaves, "vjp(f, *primals)")
        values = outside_of(output, level)
        by_leaves, by_structure = tree_flatten(by)

    def pull_back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_structure = tree_flatten(cotangents)
        if given_structure != structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {given_structure}, primal output: {structure}"
            )
        records = is_grad_enabled() if create_graph is None else create_graph
        return tree_unflatten(gradients(leaves, by_leaves, given, retain_graph, records), by_structure)

    return (values, pull_back, aux) if has_aux else (values, pull_back)


def checked_tensors(output: Any, leaves: Sequence[Any], what: str) -> None:
    """Refuse what is no tensor among the results of a function, and no results.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if not leaves or len(leaves) == 1 and leaves[0] is None:
        raise RuntimeError(
            f"{what}: Expected f to be a function that has non-empty output (got output = {list(leaves)})"
        )
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(
                f"{what}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
