"""Forward mode: ``jvp``, ``jacfwd`` and ``hessian``; and ``linearize``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.dispatch.registry import find_overload
from mt_core.keys import TORCH_FUNCTION
from mt_core.pytree import TreeSpec, tree_flatten, tree_unflatten
from mt_core.state import excluding
from mt_core.tensor import Tensor
from mt_core.transforms.vmapping import vmap
from mt_core.transforms.wrapped import lifted, unwrapped, wrapped

from ..tangents import make_dual, stored_as, unpack
from .gradients import ArgNums, checked_tensors, chosen, only_tensors, pair_of, recorded, with_chosen
from .jacobians import identity_blocks, jacrev
from .levels import JvpInterpreter, inside

__all__ = ["hessian", "jacfwd", "jvp", "linearize"]


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of a function, and its derivative along a direction, by forward mode.

    Parameters
    ----------
    func
        Takes ``*primals``, tensors or containers of them, and returns the same; with `has_aux`, a pair of that and
        more of it.
    primals, tangents : tuple
        The point and the direction, of one structure.
    strict
        Refuse outputs that do not depend on the primals, instead of giving zeros.

    Returns
    -------
    tuple
        ``(output, tangent of the output)``, and the second part of the pair where there is one.

    Raises
    ------
    RuntimeError
        For primals and tangents that do not fit, and for what is no tensor.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    return jvp_by(func, primals, primals, tangents, None, strict, has_aux)


def jvp_by(
    func: Callable[..., Any], args: tuple[Any, ...], primals: Any, tangents: Any, argnums: ArgNums, strict: bool,
    has_aux: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """`jvp` by some of the arguments, which are `primals`; None for all."""
    points, structure = tree_flatten(primals)
    directions, of_directions = tree_flatten(tangents)
    _check_structures(structure, of_directions, points)
    _check_tensors(points, "primals")
    _check_tensors(directions, "tangents")
    directions = [stored_as(*pair) for pair in zip(directions, points, strict=True)]
    with JvpInterpreter() as level:
        duals = tree_unflatten([_dual(*pair, level) for pair in zip(points, directions, strict=True)], structure)
        output = func(*(duals if argnums is None else with_chosen(inside(args, level), argnums, duals)))
        aux: tuple[Any, ...] = ()
        if has_aux:
            output, further = pair_of(output, "jvp(f, primals, tangents): output")
            aux = (only_tensors(further, level),)
        leaves, of_output = tree_flatten(output)
        checked_tensors(output, leaves, "jvp(f, primals, tangents)")
        parts = [_parted(leaf, level, strict) for leaf in leaves]
    values, moved = ([part[side] for part in parts] for side in range(2))
    return (tree_unflatten(values, of_output), tree_unflatten(moved, of_output), *aux)


def _check_structures(of_primals: TreeSpec, of_tangents: TreeSpec, points: Sequence[Any]) -> None:
    if of_primals != of_tangents:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            f"if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {of_primals} and "
            f"tangents with structure {of_tangents}"
        )
    if not points:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to contain at least one Tensor.")


def _check_tensors(leaves: Sequence[Any], what: str) -> None:
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"jvp(f, primals, tangents): Expected {what} to only contain Tensors, got {type(leaf)}")


def _dual(primal: Tensor, tangent: Tensor, level: JvpInterpreter) -> Tensor:
    for role, given in (("primal", primal), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {role} to be floating point or complex, but got: {given.dtype}")
    return make_dual(wrapped(primal, level), wrapped(tangent, level), level.number)


def _parted(output: Tensor, level: JvpInterpreter, strict: bool) -> tuple[Tensor, Tensor]:
    """A result and its tangent, outside of the level."""
    value, tangent = unpack(lifted(output, level), level.number)
    value = unwrapped(value, level)
    if tangent is not None:
        return value, unwrapped(tangent, level)
    if strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    return value, unwrapped(find_overload("zeros_like").call(value, None, None, None, None, None), level)


def jacfwd(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that computes the Jacobian of `func`, column by column, by forward mode.

    Parameters
    ----------
    func
        Returns tensors or containers of them; with `has_aux`, a pair of that and more of it.
    argnums
        By which positional argument, or by which of them, to differentiate.
    randomness
        As that of ``vmap``.

    Returns
    -------
    callable
        Gives what that of `jacrev` gives.
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        by = args if argnums is None else chosen(args, argnums)
        points, structure = tree_flatten(by)
        _check_tensors(points, "primals")

        def push_forward(directions: list[Tensor]) -> Any:
            return jvp_by(func, args, by, tree_unflatten(directions, structure), argnums, False, has_aux)[1:]

        found = vmap(push_forward, randomness=randomness)(identity_blocks(points))
        columns, of_output = tree_flatten(found[0])
        shapes = [tuple(point.shape) for point in points]
        blocks = [tree_unflatten(_by_argument(column, points, shapes), structure) for column in columns]
        jacobian = tree_unflatten(blocks, of_output)
        if not has_aux:
            return jacobian
        aux, of_aux = tree_flatten(found[1])
        return jacobian, tree_unflatten([value[0] for value in aux], of_aux)

    return wrapper


def _by_argument(column: Tensor, points: Sequence[Tensor], shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """The derivatives of one output along all elements of all arguments, as blocks by argument."""
    last = column.movedim(0, -1)
    parts = last.split([point.numel() for point in points], -1)
    return [part.reshape((*last.shape[:-1], *shape)) for part, shape in zip(parts, shapes, strict=True)]


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """A function that computes the Hessian of `func`, by forward mode over reverse mode.

    Parameters
    ----------
    func
        Returns tensors or containers of them.
    argnums
        By which positional argument, or by which of them, to differentiate twice.
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The value of a function, and its derivative at that point as a function of the direction.

    The function runs once: a pull-back is linear in the cotangent, and pulled back itself it is the push-forward.

    Parameters
    ----------
    func
        Takes `primals`, tensors or containers of them, and returns the same.

    Returns
    -------
    tuple
        ``(output, jvp_fn)``; `jvp_fn` takes tangents of the form of `primals`, and gives one of the form of the output.

    Raises
    ------
    RuntimeError
        When `jvp_fn` is called: for tangents of another structure, shape or dtype.
    """
    output, pull_back = recorded(func, primals, None, False)
    pull_back = functools.partial(pull_back, create_graph=True)
    leaves, structure = tree_flatten(output)
    with excluding(TORCH_FUNCTION):
        zeros = [find_overload("zeros_like").call(leaf, None, None, None, None, None) for leaf in leaves]
    _, push_forward = recorded(pull_back, (tree_unflatten(zeros, structure),), None, False)
    points, of_primals = tree_flatten(primals)

    def jvp_fn(*tangents: Any) -> Any:
        directions, of_tangents = tree_flatten(tangents)
        if of_tangents != of_primals:
            raise RuntimeError(
                f"Expected the tangents {of_tangents} to have the same argspec as the primals {of_primals}"
            )
        for number, (point, direction) in enumerate(zip(points, directions, strict=True)):
            _check_alike(number, point, direction)
        return push_forward(tangents)[0]

    return output, jvp_fn


def _check_alike(number: int, point: Tensor, direction: Tensor) -> None:
    for what in ("shape", "dtype"):
        if getattr(point, what) != getattr(direction, what):
            raise RuntimeError(
                f"tangent:{number} with {what} {getattr(direction, what)} in flattened pytree doesn't match the {what} "
                f"{getattr(point, what)} of the corresponding primal."
            )
