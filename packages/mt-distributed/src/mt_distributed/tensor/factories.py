"""``torch.distributed.tensor.{zeros, ones, ...}``: each rank makes its part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mt_core as mt

from ..device_mesh import DeviceMesh, current_mesh
from ._api import DTensor, device_type_of
from .placement_types import Placement, Replicate
from .spec import DTensorSpec, TensorMeta, local_part, normalized

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def _made(
    make: Callable[..., mt.Tensor], size: Sequence[Any], dtype: Any, layout: Any, requires_grad: bool,
    device_mesh: DeviceMesh | None, placements: Sequence[Placement] | None,
) -> DTensor:  # fmt: skip
    mesh = device_mesh or current_mesh()
    shape = mt.Size(size[0] if len(size) == 1 and isinstance(size[0], Sequence) else size)
    chosen = normalized([Replicate()] * mesh.ndim if placements is None else placements, len(shape))
    assert layout == mt.strided, "layout value not supported!"
    assert len(chosen) == mesh.ndim, "mesh dimension does not match the length of placements"
    local = make(local_part(shape, mesh, chosen)[0], dtype=dtype, device=device_type_of(mesh))
    whole = mt.empty(shape, dtype=local.dtype, device="meta")
    spec = DTensorSpec(mesh, chosen, TensorMeta(shape, tuple(whole.stride()), local.dtype))
    return DTensor(local, spec, requires_grad=requires_grad)


def _factory(name: str, make: Callable[..., mt.Tensor], text: str) -> Any:
    def factory(
        *size: Any,
        dtype: Any = None,
        layout: Any = mt.strided,
        requires_grad: bool = False,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        return _made(make, size, dtype, layout, requires_grad, device_mesh, placements)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = f"""{text} of shape `size`, on `device_mesh` (or the mesh entered by ``with``), by `placements`.

    Raises
    ------
    RuntimeError
        Where there is no mesh.
    """
    return factory


zeros = _factory("zeros", mt.zeros, "Zeros")
ones = _factory("ones", mt.ones, "Ones")
empty = _factory("empty", mt.empty, "A tensor that was not filled")
rand = _factory("rand", mt.rand, "Numbers between 0 and 1, from this rank's generator,")
randn = _factory("randn", mt.randn, "Normal numbers, from this rank's generator,")


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = mt.strided, requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """`fill_value` in the shape `size`, on `device_mesh` (or the mesh entered by ``with``) as `placements` say.

    Raises
    ------
    RuntimeError
        Where there is no mesh.
    """

    def make(shape: Any, *, dtype: Any, device: Any) -> mt.Tensor:
        return mt.full(shape, fill_value, dtype=dtype, device=device)

    return _made(make, (size,), dtype, layout, requires_grad, device_mesh, placements)
