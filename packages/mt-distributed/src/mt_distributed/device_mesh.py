"""``torch.distributed.device_mesh``: ranks in several dimensions, and the groups of each.

A mesh is a part of its *root*, the mesh that was made first: all know the ranks of the root in a row (`_rank_map`), and
a dimension is a tuple of (size, stride) pairs in this row, more than one where dimensions were flattened that do not
lie beside one another. The ranks of a mesh are those that this rank reaches along its dimensions.
"""

import itertools
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

import mt_core as mt

from .distributed_c10d import init_process_group
from .groups import new_group
from .world import _get_default_group, get_process_group_ranks, get_rank, get_world_size, is_initialized

__all__ = ["DeviceMesh", "init_device_mesh"]

#: One dimension: (size, stride) pairs, the outermost first; none for a dimension of one rank.
Dim = tuple[tuple[int, int], ...]


class _Active(threading.local):
    def __init__(self) -> None:
        self.meshes: list[DeviceMesh] = []


_active = _Active()


def current_mesh() -> "DeviceMesh":
    """The innermost mesh that this thread entered by ``with``.

    Raises
    ------
    RuntimeError
        Where there is none.
    """
    if not _active.meshes:
        raise RuntimeError("No device mesh is currently active!")
    return _active.meshes[-1]


class DeviceMesh:
    """Ranks in an array of any number of dimensions, with a process group for each row along each dimension.

    All ranks make it, in the same order.

    Parameters
    ----------
    device_type
        ``"cpu"``, say; without a number. The ranks of ``"xla"`` are the devices of this process: there are no groups.
    mesh
        The ranks, as a tensor or nested lists; none twice.
    mesh_dim_names
        Names of the dimensions, by which parts can be taken: ``mesh["dp", "tp"]``.

    Raises
    ------
    RuntimeError
        For more ranks than there are, and names that do not fit.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        _rank: int | None = None,
    ) -> None:
        if mesh is None:
            raise TypeError("DeviceMesh: the ranks are missing (mesh)")
        if isinstance(mesh, mt.Tensor) and mesh.device.type != "cpu":
            raise ValueError(f"`mesh` must be a CPU tensor, got {mesh}")
        if backend_override is not None:
            raise NotImplementedError("DeviceMesh(backend_override=...) is not supported by mindtorch")
        ranks = np.asarray(mesh.tolist() if isinstance(mesh, mt.Tensor) else mesh, dtype=np.int32)
        dims = tuple(_dim(size, stride) for size, stride in zip(ranks.shape, _strides(ranks.shape), strict=True))
        names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if device_type == "xla":
            _init_backend, _rank = False, 0
        if _init_backend and not is_initialized():
            init_process_group()
        self._set(device_type, ranks.reshape(-1), dims, names, None, _rank)
        if _init_backend:
            size = get_world_size()
            if ranks.size > size:
                raise RuntimeError(
                    f"Mesh should not be bigger than default world size {size}, but found {ranks.size} ranks!"
                )
            if ranks.size:
                self._groups.extend(self._made_groups(at) for at in range(len(dims)))

    def _set(
        self, device_type: str, rank_map: np.ndarray, dims: tuple[Dim, ...], names: tuple[str, ...] | None,
        root: "DeviceMesh | None", rank: int | None = None,
    ) -> None:  # fmt: skip
        self._device_type, self._rank_map, self._dims, self._mesh_dim_names = device_type, rank_map, dims, names
        self._root, self._thread = root, threading.get_ident()
        self._rank = get_rank() if rank is None and is_initialized() else (rank or 0)
        self._groups: list[Any] = []
        #: Of a root: the meshes that were flattened, by name.
        self._flattened: dict[str, DeviceMesh] = {}
        at = np.flatnonzero(rank_map == self._rank)
        self._coordinate: tuple[int, ...] | None = None
        base = 0
        if at.size:
            self._coordinate = tuple(_coordinate(int(at[0]), dim) for dim in dims)
            base = int(at[0]) - sum(map(_offset, self._coordinate, dims))
        self._ranks = rank_map[base + self._offsets()] if rank_map.size else rank_map.reshape(self.shape)

    def _offsets(self) -> np.ndarray:
        """Where the ranks of the mesh lie in the row of the root's, from the first of them on."""
        parts = [np.array([_offset(c, dim) for c in range(_size(dim))], int) for dim in self._dims]
        total = np.zeros((), int)
        for part in parts:
            total = total[..., None] + part
        return total

    def _made_groups(self, at: int) -> Any:
        """Make the groups along a dimension, all of them on all ranks; this rank's, or None outside of the mesh."""
        dim = self._dims[at]
        along = [_offset(c, dim) for c in range(_size(dim))]
        covered = {base for base in range(self._rank_map.size) if _coordinate(base, dim) == 0}
        if len(covered) == 1 and self._rank_map.tolist() == list(range(get_world_size())):
            return _get_default_group()
        name = f"mesh_{self._mesh_dim_names[at]}" if self._mesh_dim_names else f"mesh_dim_{at}"
        own = None
        for base in sorted(covered):
            ranks = [int(self._rank_map[base + offset]) for offset in along]
            made = new_group(ranks, group_desc=name)
            if self._rank in ranks:
                own = made
        return own

    # What it is.

    @property
    def device_type(self) -> str:
        """The kind of device that the ranks work on."""
        return self._device_type

    @property
    def mesh(self) -> mt.Tensor:
        """The ranks: a tensor of int32."""
        return mt.tensor(self._ranks.tolist(), dtype=mt.int32)

    @property
    def mesh_dim_names(self) -> tuple[str, ...] | None:
        """The names of the dimensions."""
        return self._mesh_dim_names

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self._dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks lie along each dimension."""
        return tuple(map(_size, self._dims))

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, or lie along a dimension."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def __repr__(self) -> str:
        names = self._mesh_dim_names
        sizes = ", ".join(f"{names[at]}={size}" if names else str(size) for at, size in enumerate(self.shape))
        if not names and len(self._dims) == 1:
            sizes += ","
        strides = tuple(_shown_stride(dim) for dim in self._dims)
        return f"DeviceMesh(({sizes}), '{self._device_type}', stride={strides})"

    def _key(self) -> tuple[Any, ...]:
        return self._device_type, tuple(self._rank_map.tolist()), self._dims, self._mesh_dim_names, self._thread

    def __eq__(self, other: object) -> bool:
        return self is other or (self._key() == other._key() if isinstance(other, DeviceMesh) else NotImplemented)

    def __hash__(self) -> int:
        return hash(self._key())

    def __enter__(self) -> "DeviceMesh":
        _active.meshes.append(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        _active.meshes.pop()

    # This rank's place.

    def get_rank(self) -> int:
        """This process's rank in the world."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This rank's index along each dimension; None outside of the mesh."""
        return self._coordinate

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._coordinate is not None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This rank's index along a dimension, which need not be said where there is only one."""
        return get_rank(self.get_group(self._chosen(mesh_dim)))

    def _chosen(self, mesh_dim: int | str | None, *more: str) -> int | str:
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    *more,
                )
            return 0
        return mesh_dim

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The process group of this rank along a dimension, which need not be said where there is only one.

        Raises
        ------
        KeyError, IndexError
            For a dimension that it has not; IndexError also outside of the mesh.
        """
        dim = self._chosen(
            mesh_dim,
            "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
            "please use `get_all_groups()` instead.",
        )
        at = self._get_mesh_dim_by_name(dim) if isinstance(dim, str) else dim
        groups = self._groups if self._coordinate is not None else []
        return groups[at]

    def get_all_groups(self) -> list[Any]:
        """The process groups of this rank along all dimensions."""
        return [self.get_group(at) for at in range(self.ndim)]

    # Its parts.

    def _get_root_mesh(self) -> "DeviceMesh":
        return self if self._root is None else self._root

    def _get_mesh_dim_by_name(self, mesh_dim_name: str) -> int:
        if self._mesh_dim_names is None or mesh_dim_name not in self._mesh_dim_names:
            raise KeyError(
                f"Mesh dimension '{mesh_dim_name}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={self._mesh_dim_names}",
            )
        return self._mesh_dim_names.index(mesh_dim_name)

    def _part(self, dims: tuple[Dim, ...], names: tuple[str, ...] | None, groups: list[Any]) -> "DeviceMesh":
        made = DeviceMesh.__new__(DeviceMesh)
        made._set(self._device_type, self._rank_map, dims, names, self._get_root_mesh(), self._rank)
        made._groups = groups
        return made

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> "DeviceMesh":
        """The mesh of some dimensions, in their order, through this rank; they share the groups.

        Raises
        ------
        KeyError
            For names that it has not, or in another order.
        RuntimeError
            For a mesh without names, and dimensions that share ranks.
        """
        if self._mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self._mesh_dim_names:
            return self
        flattened = self._get_root_mesh()._flattened
        valid = [*self._mesh_dim_names, *flattened]
        if any(name not in valid for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {valid}.")
        found = [self._named(name) for name in names]
        dims = tuple(dim for dim, _ in found)
        pairs = [pair for dim in dims for pair in dim]
        if len(set(pairs)) != len(pairs) or _overlap(pairs):
            raise RuntimeError(f"Slicing overlapping dim_names {names} is not allowed.")
        strides = [dim[0][1] for dim in dims if dim]
        if strides != sorted(strides, reverse=True):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        return self._part(dims, names, [group for _, group in found])

    def _named(self, name: str) -> tuple[Dim, Any]:
        """A dimension, and this rank's group along it (None outside of the mesh)."""
        names = self._mesh_dim_names or ()
        if name in names:
            at = names.index(name)
            return self._dims[at], self._groups[at] if self._groups else None
        other = self._get_root_mesh()._flattened[name]
        return other._dims[0], other._groups[0] if other._groups else None

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> "DeviceMesh":
        """All dimensions as one, under a name (theirs with ``_`` between them); then part of the root by it.

        Raises
        ------
        ValueError
            For a name that another dimension has.
        """
        if backend_override is not None:
            raise NotImplementedError("DeviceMesh._flatten(backend_override=...) is not supported by mindtorch")
        if self._mesh_dim_names is None:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        root = self._get_root_mesh()
        name = mesh_dim_name or "_".join(self._mesh_dim_names)
        dim = _coalesced([pair for dim in self._dims for pair in dim])
        if self.ndim == 1 and name == self._mesh_dim_names[0]:
            return self
        known = root._flattened.get(name)
        if known is not None and known._dims == (dim,):
            return known
        taken = (*(root._mesh_dim_names or ()), *root._flattened)
        if name in taken:
            raise ValueError(
                f"{name} already exists for submesh of the {root}. ",
                f"The mesh_dim_names of submesh and flattened mesh are {taken}. "
                "Please specify another valid mesh_dim_name.",
            )
        made = self._part((dim,), (name,), [])
        made._groups = [made._made_groups(0)]
        root._flattened[name] = made
        return made

    def _unflatten(
        self, dim: int | str, mesh_sizes: Sequence[int], mesh_dim_names: Sequence[str], backend_override: Any = None
    ) -> "DeviceMesh":
        """One dimension as several.

        Raises
        ------
        ValueError
            Where sizes do not fit.
        """
        if backend_override is not None:
            raise NotImplementedError("DeviceMesh._unflatten(backend_override=...) is not supported by mindtorch")
        at = self._get_mesh_dim_by_name(dim) if isinstance(dim, str) else dim
        old = self._dims[at]
        if len(old) > 1 or math.prod(mesh_sizes) != _size(old):
            raise ValueError(f"a dimension of {_size(old)} ranks ({self}) cannot be taken as {tuple(mesh_sizes)}")
        inner = old[0][1] if old else 1
        new = tuple(
            _dim(size, stride * inner) for size, stride in zip(mesh_sizes, _strides(tuple(mesh_sizes)), strict=True)
        )
        names = self._mesh_dim_names or ()
        dims = (*self._dims[:at], *new, *self._dims[at + 1 :])
        made = self._part(dims, (*names[:at], *mesh_dim_names, *names[at + 1 :]), [])
        groups = [made._made_groups(at + place) for place in range(len(new))]
        made._groups = [*self._groups[:at], *groups, *self._groups[at + 1 :]]
        return made

    @staticmethod
    def _concatenate(device_mesh_list: Sequence["DeviceMesh"]) -> "DeviceMesh":
        """The dimensions of parts of one root as those of one mesh."""
        first = device_mesh_list[0]
        if any(mesh._get_root_mesh() != first._get_root_mesh() for mesh in device_mesh_list):
            raise RuntimeError("Cannot concatenate DeviceMeshes of different root meshes")
        dims = tuple(dim for mesh in device_mesh_list for dim in mesh._dims)
        if _overlap([pair for dim in dims for pair in dim]):
            raise RuntimeError(f"Cannot concatenate overlapping meshes: {list(device_mesh_list)}")
        names = tuple(name for mesh in device_mesh_list for name in mesh._mesh_dim_names or ())
        return first._part(dims, names, [group for mesh in device_mesh_list for group in mesh._groups])

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None
    ) -> "DeviceMesh":
        """A mesh on a process group that exists, or on a list of those of its dimensions (then `mesh` is needed).

        Raises
        ------
        ValueError
            Where `mesh` is missing, or is not of the group.
        """
        if not isinstance(group, list):
            ranks = get_process_group_ranks(group)
            if mesh is not None:
                given = mesh.tolist() if isinstance(mesh, mt.Tensor) else mesh
                if given != ranks:
                    raise ValueError(f"Invalid mesh {mesh!s} for ProcessGroup with ranks {ranks}")
            made = DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _init_backend=False)
            made._groups = [group]
            return made
        if len(group) == 0:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        if mesh_dim_names is None:
            raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        made = DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _init_backend=False)
        if made.ndim != len(group):
            raise ValueError(
                "Expects mesh with ndim equal to number of ProcessGroups but got "
                f"mesh {made.mesh.tolist()} and {len(group)} ProcessGroups"
            )
        made._groups = list(group)
        return made


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """A mesh of that shape with all ranks from 0 on, row by row; every rank calls this.

    Raises
    ------
    RuntimeError
        For names that are not as many, or not different, a device with a number, and more ranks than there are.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique. "
                f"Found repeated mesh_dim_name in mesh_dim_names {tuple(mesh_dim_names)}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    ranks = np.arange(math.prod(mesh_shape)).reshape(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backend_override)


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[at + 1 :]) for at in range(len(shape))]


def _dim(size: int, stride: int) -> Dim:
    return () if size == 1 else ((size, stride),)


def _size(dim: Dim) -> int:
    return math.prod(size for size, _ in dim)


def _shown_stride(dim: Dim) -> Any:
    return dim[0][1] if len(dim) == 1 else tuple(stride for _, stride in dim)


def _coordinate(position: int, dim: Dim) -> int:
    """The index along a dimension of a position in the root's row."""
    index = 0
    for size, stride in dim:
        index = index * size + position // stride % size
    return index


def _offset(index: int, dim: Dim) -> int:
    """How far an index along a dimension lies from the first."""
    offset = 0
    for size, stride in reversed(dim):
        offset += index % size * stride
        index //= size
    return offset


def _coalesced(pairs: Sequence[tuple[int, int]]) -> Dim:
    """Pairs that lie beside one another as one."""
    made: list[tuple[int, int]] = []
    for size, stride in pairs:
        if made and made[-1][1] == size * stride:
            made[-1] = (made[-1][0] * size, stride)
        else:
            made.append((size, stride))
    return tuple(made)


def _overlap(pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether two combinations of indices mean one rank."""
    ranges = [[index * stride for index in range(size)] for size, stride in pairs]
    totals = [sum(offsets) for offsets in itertools.product(*ranges)]
    return len(set(totals)) != len(totals)
