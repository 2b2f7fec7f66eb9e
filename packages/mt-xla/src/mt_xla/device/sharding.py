"""Arrays that are spread over several devices, which XLA computes with as one.

The devices are those of a mesh; what is spread by no dimension of a tensor, all devices of the mesh have.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

__all__ = ["device_of", "devices", "is_spread", "mesh_sharding", "moved", "together"]


@functools.cache
def devices() -> list[Any]:
    """jax's devices of its first platform, in their order: ``xla:0``, ``xla:1``, ..."""
    return list(jax.local_devices())


def device_of(index: int) -> Any:
    """jax's device of an index."""
    return devices()[index]


def is_spread(value: Any) -> bool:
    """Whether a value is jax's array on several devices."""
    return isinstance(value, jax.Array) and len(value.sharding.device_set) > 1


def mesh_sharding(ranks: np.ndarray, split: Sequence[int | None], shape: Sequence[int]) -> NamedSharding:
    """How elements are spread over a mesh.

    Parameters
    ----------
    ranks
        The indices of the devices, in an array of any number of dimensions.
    split
        For each dimension of the mesh, the dimension of the elements that is divided along it, or None.
    shape
        That of the elements.

    Raises
    ------
    RuntimeError
        For a device that there is not.
    NotImplementedError
        For a dimension that is not divided into parts of one size, and where ``jax.distributed`` joins processes.
    """
    if jax.process_count() > 1:
        raise NotImplementedError(
            "device 'xla' spreads tensors over the devices of one process (jax.distributed has more)"
        )
    if ranks.size and ranks.max() >= len(devices()):
        raise RuntimeError(f"a mesh of device 'xla' with index {ranks.max()}: jax has {len(devices())} devices")
    names = [f"mesh{at}" for at in range(ranks.ndim)]
    placed = np.array([device_of(rank) for rank in ranks.reshape(-1)], dtype=object).reshape(ranks.shape)
    by_dim: list[tuple[str, ...]] = []
    for dim, size in enumerate(shape):
        axes = [at for at, chosen in enumerate(split) if chosen == dim]
        parts = int(np.prod([ranks.shape[at] for at in axes]))
        if size % parts:
            raise NotImplementedError(
                f"device 'xla' divides dimensions into parts of one size: dimension {dim}, of size {size}, by {parts}"
            )
        by_dim.append(tuple([names[at] for at in axes]))
    return NamedSharding(Mesh(placed, names), PartitionSpec(*[axes or None for axes in by_dim]))


def moved(value: jax.Array, place: Any) -> jax.Array:
    """An array spread so, itself where it is."""
    return value if value.sharding == place else jax.device_put(value, place)


def together(values: Sequence[Any], index: int) -> list[jax.Array]:
    """Arrays on one device, or all on the devices of one mesh: those that were on one device are on each then."""
    spread = next((value for value in values if is_spread(value)), None)
    if spread is None:
        place = device_of(index)
        return [
            value
            if isinstance(value, jax.Array) and place in value.sharding.device_set
            else jax.device_put(value, place)
            for value in values
        ]
    everywhere = NamedSharding(_mesh_of(spread.sharding), PartitionSpec())
    return [value if is_spread(value) else jax.device_put(value, everywhere) for value in values]


def _mesh_of(sharding: Any) -> Mesh:
    if isinstance(sharding, NamedSharding):
        return sharding.mesh
    return Mesh(np.array(sorted(sharding.device_set, key=lambda d: d.id), dtype=object), ["mesh0"])
