"""Meshes of ranks: parts, groups, how they print, and what they refuse, as PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch as torch
from mindtorch.distributed.device_mesh import DeviceMesh, init_device_mesh
from mt_distributed.testing import run_threads


def _cube(_: Any) -> list[Any]:
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("a", "b", "c"))
    flat = mesh["b", "c"]._flatten("bc")
    ranks = torch.distributed.get_process_group_ranks
    outer = mesh["a", "c"]._flatten()
    divided = mesh._unflatten(0, (2, 1), ("p", "q"))
    return [
        repr(mesh), mesh.mesh.tolist(), mesh.mesh.dtype, mesh.shape, mesh.size(), mesh.size(1), mesh.ndim,
        repr(mesh["a"]), repr(mesh["b", "c"]), mesh["b"].mesh.tolist(), mesh["a", "c"].mesh.tolist(),
        mesh.get_coordinate(), mesh.get_local_rank("b"), mesh["b"].get_coordinate(), mesh.get_rank(),
        [ranks(group) for group in mesh.get_all_groups()], mesh.get_group("b").group_desc,
        mesh["b"].get_group() is mesh.get_group(1), repr(flat), repr(mesh["a", "bc"]), ranks(mesh["bc"].get_group()),
        repr(outer), outer.mesh.tolist(), ranks(outer.get_group()), repr(divided),
        mesh["a"] == mesh["a"], mesh["a", "b", "c"] is mesh, mesh["b"]._get_root_mesh() is mesh,
        repr(DeviceMesh._concatenate([mesh["a"], mesh["c"]])),
    ]  # fmt: skip


def test_parts_and_groups() -> None:
    """A cube of eight ranks, seen from rank 5; values from PyTorch."""
    assert run_threads(8, _cube)[5] == [
        "DeviceMesh((a=2, b=2, c=2), 'cpu', stride=(4, 2, 1))",
        [[[0, 1], [2, 3]], [[4, 5], [6, 7]]], torch.int32, (2, 2, 2), 8, 2, 3,
        "DeviceMesh((a=2), 'cpu', stride=(4,))", "DeviceMesh((b=2, c=2), 'cpu', stride=(2, 1))", [5, 7],
        [[0, 1], [4, 5]], (1, 0, 1), 0, (0,), 5, [[1, 5], [5, 7], [4, 5]], "mesh_b", True,
        "DeviceMesh((bc=4), 'cpu', stride=(1,))", "DeviceMesh((a=2, bc=4), 'cpu', stride=(4, 1))", [4, 5, 6, 7],
        "DeviceMesh((a_c=4), 'cpu', stride=((4, 1),))", [0, 1, 4, 5], [0, 1, 4, 5],
        "DeviceMesh((p=2, q=1, b=2, c=2), 'cpu', stride=(4, (), 2, 1))", True, True, True,
        "DeviceMesh((a=2, c=2), 'cpu', stride=(4, 1))",
    ]  # fmt: skip


REFUSED = {
    "order": (lambda m: m["b", "a"], KeyError, "Mesh dim indices should be in ascending order"),
    "name": (lambda m: m["z"], KeyError, "('z',) specified. Valid mesh_dim_names are ['a', 'b']"),
    "twice": (lambda m: m["a", "a"], RuntimeError, "Slicing overlapping dim_names ('a', 'a') is not allowed."),
    "group": (lambda m: m.get_group(), RuntimeError, "please use `get_all_groups()` instead."),
    "group name": (lambda m: m.get_group("z"), KeyError, "Mesh dimension 'z' does not exist."),
    "group number": (lambda m: m.get_group(7), IndexError, "list index out of range"),
    "taken": (lambda m: m._flatten("a"), ValueError, "Please specify another valid mesh_dim_name."),
    "unnamed": (lambda m: init_device_mesh("cpu", (2, 2))["a"], RuntimeError, "without mesh_dim_names!"),
    "size": (lambda m: init_device_mesh("cpu", (8,)), RuntimeError, "default world size 4, but found 8 ranks!"),
    "names": (
        lambda m: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a",)), RuntimeError,
        "Found len(mesh_dim_names): 1 and len(mesh_shape):2.",
    ),
    "same names": (
        lambda m: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "a")), RuntimeError,
        "Found repeated mesh_dim_name in mesh_dim_names ('a', 'a')",
    ),
    "device": (lambda m: init_device_mesh("cpu:0", (2, 2)), RuntimeError, "Device type with index is not supported"),
    "ranks": (lambda m: DeviceMesh("cpu", [0, 0, 1]), ValueError, "must not contain duplicate entries, got [0, 0, 1]"),
    "groups": (
        lambda m: DeviceMesh.from_group([m.get_group(0)], "cpu"), ValueError,
        "Must pass mesh if passing multiple ProcessGroups",
    ),
}  # fmt: skip


def test_refusals() -> None:
    """PyTorch's types and words."""

    def run(_: Any) -> dict[str, tuple[type, str]]:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        said = {}
        for name, (call, kind, _words) in REFUSED.items():
            with pytest.raises(kind) as caught:
                call(mesh)
            said[name] = str(caught.value)
        return said

    said = run_threads(4, run)[2]
    assert [name for name, (_, _, words) in REFUSED.items() if words not in said[name]] == []


def test_outside_and_around() -> None:
    """Ranks outside of a mesh have no place in it; a mesh of one dimension over all ranks has the default group."""

    def run(group: Any) -> Any:
        some = DeviceMesh("cpu", [0, 2])
        every = DeviceMesh.from_group(group, "cpu", mesh_dim_names=("all",))
        assert init_device_mesh("cpu", (3,)).get_group() is group
        assert every.get_group() is group
        with every as entered:
            zeros = torch.distributed.tensor.zeros(5)
        return some.get_coordinate(), repr(some), entered is every, zeros.device_mesh is every

    answers = run_threads(3, run)
    assert [answer[0] for answer in answers] == [(0,), None, (1,)]
    assert {answer[1:] for answer in answers} == {("DeviceMesh((2,), 'cpu', stride=(1,))", True, True)}
