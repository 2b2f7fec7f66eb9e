"""The transforms by levels of reverse and forward mode."""

from __future__ import annotations

from typing import Any

from mindtorch.func import functionalize as functionalize
from mt_autograd.func import grad as grad
from mt_autograd.func import grad_and_value as grad_and_value
from mt_autograd.func import hessian as hessian
from mt_autograd.func import jacfwd as jacfwd
from mt_autograd.func import jacrev as jacrev
from mt_autograd.func import jvp as jvp
from mt_autograd.func import linearize as linearize
from mt_autograd.func import vjp as vjp
from mt_autograd.func.gradients import chosen

__all__ = ["functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


def _slice_argnums(args: tuple[Any, ...], argnums: int | tuple[int, ...], as_tuple: bool = True) -> Any:
    """The arguments of some positions, as a tuple; with ``as_tuple=False``, that of one position itself.

    Raises
    ------
    RuntimeError
        For positions that name no argument, one twice, or none.
    """
    found = chosen(args, argnums)
    return (found,) if isinstance(argnums, int) and as_tuple else found
