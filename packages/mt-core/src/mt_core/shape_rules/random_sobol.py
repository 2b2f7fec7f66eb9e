"""Sobol' sequences: shapes, and what is refused. PyTorch reads and writes beside tensors that are too small."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..dtypes import dtype, float32, float64, get_default_dtype, int64, scalar_type_name
from ..spec import Spec

__all__: list[str] = []

#: Bits of a direction number, and the dimensions that there are numbers for.
BITS, DIMENSIONS = 30, 21201


def _check_long(name: str, tensor: Any) -> None:
    if tensor.dtype is not int64:
        raise RuntimeError(f"{name} needs to be of type {scalar_type_name(int64)}")


def _check_shape(name: str, tensor: Any, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise RuntimeError(f"{name} needs to be of shape {list(shape)}, but has {list(tensor.shape)}")


def _check_dimension(dimension: int) -> None:
    if not 1 <= dimension <= DIMENSIONS:
        raise RuntimeError(f"there are direction numbers of 1 to {DIMENSIONS} dimensions, not of {dimension}")


@shape_rule("_sobol_engine_initialize_state_")
def initialize_state(self: Any, dimension: int) -> Spec:
    """self (dimension, 30) of int64 -> (dimension, 30)."""
    _check_long("sobolstate", self)
    _check_dimension(dimension)
    _check_shape("sobolstate", self, (dimension, BITS))
    return Spec(self.shape, int64)


@shape_rule("_sobol_engine_scramble_")
def scramble(self: Any, ltm: Any, dimension: int) -> Spec:
    """self (dimension, 30), ltm (dimension, 30, 30), both of int64 -> (dimension, 30)."""
    _check_long("sobolstate", self)
    _check_shape("sobolstate", self, (dimension, BITS))
    if ltm.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_type_name(ltm.dtype)}")
    _check_shape("ltm", ltm, (dimension, BITS, BITS))
    return Spec(self.shape, int64)


@shape_rule("_sobol_engine_ff_")
def fast_forward(self: Any, n: int, sobolstate: Any, dimension: int, num_generated: int) -> Spec:
    """self (dimension), sobolstate (dimension, 30), both of int64 -> (dimension)."""
    _check_long("sobolstate", sobolstate)
    _check_long("quasi", self)
    _check_shape("quasi", self, (dimension,))
    _check_shape("sobolstate", sobolstate, (dimension, BITS))
    return Spec(self.shape, int64)


@shape_rule("_sobol_engine_draw")
def draw(
    quasi: Any, n: int, sobolstate: Any, dimension: int, num_generated: int, dtype: dtype | None
) -> tuple[Spec, Spec]:
    """quasi (dimension), sobolstate (dimension, 30), both of int64 -> (n, dimension), (dimension)."""
    _check_long("sobolstate", sobolstate)
    _check_long("quasi", quasi)
    _check_shape("quasi", quasi, (dimension,))
    _check_shape("sobolstate", sobolstate, (dimension, BITS))
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}, {dimension}]")
    wanted = get_default_dtype() if dtype is None else dtype
    if wanted not in (float32, float64):
        raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for '{scalar_type_name(wanted)}'")
    return Spec((n, dimension), wanted, arguments={"dtype": wanted}), Spec((dimension,), int64)
