"""``parallelize_module``."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch

from mt_nn import Module

from ...device_mesh import DeviceMesh, current_mesh
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Make a module, or parts of it, distributed over a mesh of one dimension, in place; the module.

    Parameters
    ----------
    parallelize_plan
        A style for the module, or styles by the names of its parts, with ``*`` for any: ``"layers.*.linear"``.
    src_data_rank
        From which rank parameters are taken; None for each rank's own.

    Raises
    ------
    ValueError
        For a mesh of several dimensions: take a part of it by name.
    TypeError
        For a plan that is neither.
    """
    mesh = device_mesh or current_mesh()
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
            "parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        found = _parts(module, path)
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching it in module {module}, "
                "skipping this plan entry.",
                stacklevel=2,
            )
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _parts(module: Module, path: str) -> list[Module]:
    """The parts of a module that a path means; itself for an empty one."""
    if path == "":
        return [module]
    first, _, rest = path.partition(".")
    return [found for name, child in module.named_children() if fnmatch(name, first) for found in _parts(child, rest)]
