"""All parameters of one unit of `FullyShardedDataParallel` as one flat parameter, of which each rank has a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mt_core as mt
from mt_nn.modules.module import Module
from mt_nn.parameter import Parameter

from .. import distributed_c10d as dist
from .sharded_parameter import ShardedParameter

__all__ = ["FlatParameter", "Layout", "Piece"]

#: Bytes at multiples of which original parameters begin where programs see them.
_ALIGNMENT = 16


@dataclass(frozen=True)
class Layout:
    """Who has the parts of a parameter (the second), and who the same (the first): like a mesh of two dimensions."""

    groups: tuple[Any, Any]
    sizes: tuple[int, int]
    rank: int

    @property
    def ndim(self) -> int:
        """One where nobody has the same."""
        return 1 if self.groups[0] is None else 2

    def get_group(self, dim: int) -> Any:
        """Of replicas, or of parts."""
        return self.groups[dim if self.ndim == 2 else 1]

    def size(self, dim: int) -> int:
        """Of replicas, or of parts."""
        return self.sizes[dim if self.ndim == 2 else 1]

    def get_local_rank(self, dim: int) -> int:
        """Which part this rank has."""
        return self.rank


@dataclass
class Piece:
    """One original parameter: its place in the flat one, and who has it."""

    name: str
    places: list[tuple[Module, str]]
    shape: Any
    start: int
    parameter: Any
    trained: bool = field(init=False)

    def __post_init__(self) -> None:
        self.trained = self.parameter.requires_grad

    @property
    def numel(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count


def _found(module: Module, ignored: set[int]) -> list[tuple[str, Any, list[tuple[Module, str]]]]:
    """Parameters of a unit: those below that are in no other, by name, and everyone who has each."""
    found: dict[int, tuple[str, Any, list[tuple[Module, str]]]] = {}
    seen: set[Module] = set()

    def visit(prefix: str, at: Module) -> None:
        if at in seen or "_flat" in vars(at):
            return
        seen.add(at)
        for name, parameter in at._parameters.items():
            if parameter is not None and id(parameter) not in ignored:
                found.setdefault(id(parameter), (prefix + name, parameter, []))[2].append((at, name))
        for name, child in at.named_children():
            visit(f"{prefix}{name}.", child)

    visit("", module)
    return list(found.values())


class FlatParameter(ShardedParameter):
    """A unit's parameters one after another, spread evenly; modules are given views of the whole.

    Parameters
    ----------
    module
        The unit, without those below it that are units themselves.
    layout
        Who has which part.
    ignored
        Identities of parameters that stay as they are.
    keeps_originals
        Whether programs see the original parameters, each a view of this rank's part, in the place of the flat one.

    Raises
    ------
    ValueError
        For several dtypes, and where only some are trained and programs see the flat one.
    """

    def __init__(self, module: Module, layout: Layout, ignored: set[int], keeps_originals: bool) -> None:
        found = _found(module, ignored)
        dtypes = list(dict.fromkeys(parameter.dtype for _, parameter, _ in found))
        if len(dtypes) > 1:
            raise ValueError(f"Must flatten tensors with uniform dtype but got {dtypes[0]} and {dtypes[1]}")
        if not dtypes[0].is_floating_point:
            raise ValueError("Cannot flatten integer dtype tensors")
        if not keeps_originals and len({parameter.requires_grad for _, parameter, _ in found}) > 1:
            raise ValueError("Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`")
        self.module, self.keeps_originals, self.dim = module, keeps_originals, 0
        self.dtype, self.rank, self.count = dtypes[0], layout.get_local_rank(1), layout.size(1)
        self.pieces: list[Piece] = []
        end = 0
        step = _ALIGNMENT // self.dtype.itemsize if keeps_originals else 1
        for name, parameter, places in found:
            start = -(-end // step) * step
            self.pieces.append(Piece(name, places, parameter.shape, start, parameter))
            end = start + parameter.numel()
        self.total = end
        chunk = -(-end // self.count)
        self.shape, self.sizes = mt.Size([chunk * self.count]), [chunk] * self.count
        self.trained = any(piece.trained for piece in self.pieces)
        self.whole, self.accumulated, self.shows_gradients = None, None, False
        with mt.no_grad():
            flat = mt.zeros(self.shape, dtype=self.dtype)
            for piece in self.pieces:
                flat[piece.start : piece.start + piece.numel].copy_(piece.parameter.detach().reshape(-1))
            own = flat[chunk * self.rank : chunk * (self.rank + 1)].clone()
        self.sharded = Parameter(own, requires_grad=self.trained)
        if keeps_originals:
            self._show_originals()
        else:
            for piece, view in zip(self.pieces, self.views(flat), strict=True):
                for owner, name in piece.places:
                    del owner._parameters[name]
                    setattr(owner, name, view)
            module._parameters["_flat_param"] = self.sharded

    @property
    def local(self) -> Any:
        return self.sharded

    def own(self, piece: Piece) -> slice:
        """Where this rank's elements of a piece lie in its part."""
        begin = self.rank * self.sizes[0]
        start = min(max(piece.start - begin, 0), self.sizes[0])
        return slice(start, max(start, min(piece.start + piece.numel - begin, self.sizes[0])))

    def _part_of(self, own: Any, piece: Piece) -> Any:
        """A piece's elements in this rank's part: flat, or in its shape where the part is the whole."""
        found = own[self.own(piece)]
        return found.view(piece.shape) if self.count == 1 else found

    def views(self, flat: Any) -> list[Any]:
        """The pieces of a whole flat tensor."""
        sizes, end = [], 0
        for piece in self.pieces:
            sizes += [piece.start - end, piece.numel]
            end = piece.start + piece.numel
        parts = flat.split([*sizes, flat.numel() - end])[1::2]
        return [part.view(piece.shape) for piece, part in zip(self.pieces, parts, strict=True)]

    # What modules have

    def give(self, parameter: Any) -> None:
        if parameter is self.sharded and self.keeps_originals:
            self._show_originals()

    def use(self) -> None:
        """Let the modules compute with views of the whole, through which gradients come."""
        for piece, view in zip(self.pieces, self.views(self.whole), strict=True):
            shown = view if piece.trained else view.detach()
            for owner, name in piece.places:
                self._set(owner, name, shown)

    def _show_originals(self) -> None:
        for piece in self.pieces:
            with mt.no_grad():
                piece.parameter.data = self._part_of(self.sharded.detach(), piece)
            for owner, name in piece.places:
                self._set(owner, name, piece.parameter)

    def _set(self, owner: Module, name: str, value: Any) -> None:
        if type(owner).__setattr__ is not Module.__setattr__:  # such as of RNNs, which keep a list beside
            owner._parameters.pop(name, None)
            vars(owner).pop(name, None)
            setattr(owner, name, value)
        if self.keeps_originals or isinstance(value, Parameter):
            vars(owner).pop(name, None)
            owner._parameters[name] = value
        else:
            owner._parameters.pop(name, None)
            vars(owner)[name] = value

    def whole_gradients(self, layout: Layout) -> list[Any]:
        """The whole gradients of original parameters, None for those that have none on any rank; all ranks call it."""
        kept = self._kept_gradient()
        own = mt.zeros(self.sizes[0], dtype=self.dtype) if kept is None else kept
        has = mt.tensor([int(piece.parameter.grad is not None) for piece in self.pieces])
        every = own
        if self.count > 1:
            every = mt.empty(self.shape, dtype=self.dtype)
            dist.all_gather_into_tensor(every, own, group=layout.groups[1])
            dist.all_reduce(has, dist.ReduceOp.MAX, group=layout.groups[1])
        return [
            view.clone() if is_there else None for view, is_there in zip(self.views(every), has.tolist(), strict=True)
        ]

    def show_whole(self, grads: Sequence[Any] | None = None) -> list[Any]:
        """Let the modules have copies of the whole as their parameters, by the original names; the copies.

        Parameters
        ----------
        grads
            Their gradients, which `hide_whole` takes with the values.
        """
        with mt.no_grad():
            copies = [
                Parameter(view.detach().clone(), piece.trained)
                for piece, view in zip(self.pieces, self.views(self.whole), strict=True)
            ]
        self.shows_gradients = grads is not None
        for copied, grad in zip(copies, grads or (), strict=False):
            copied.grad = grad
        self.module._parameters.pop("_flat_param", None)
        for piece, copied in zip(self.pieces, copies, strict=True):
            for owner, name in piece.places:
                self._set(owner, name, copied)
        return copies

    def hide_whole(self, takes_values: bool) -> None:
        """End `show_whole`: take the values that the modules' parameters have now, or forget them."""
        for piece in self.pieces:
            owner, name = piece.places[0]
            given = owner._parameters[name]
            if takes_values:
                if given is None or given.shape != piece.shape:
                    raise RuntimeError(f"{piece.name} was replaced by something of another shape than {piece.shape}")
                begin, own = self.rank * self.sizes[0] - piece.start, self.own(piece)
                with mt.no_grad():
                    flat = given.detach().reshape(-1)[begin + own.start : begin + own.stop]
                    self.sharded.detach()[own].copy_(flat)
                    if self.shows_gradients:
                        is_here = given.grad is not None and own.stop > own.start
                        part = given.grad.reshape(-1)[begin + own.start : begin + own.stop] if is_here else None
                        piece.parameter.grad = None if part is None else part.clone().view(piece.parameter.shape)
        stale = self.views(self.whole)
        for piece, view in zip(self.pieces, stale, strict=True):
            for owner, name in piece.places:
                self._set(owner, name, piece.parameter if self.keeps_originals else view.detach())
        if self.keeps_originals:
            self._show_originals()
        else:
            self.module._parameters["_flat_param"] = self.sharded

    # What is gathered and reduced

    def adopt(self) -> None:
        """Take what a program has put in the place of this rank's part: another dtype, values that were assigned."""
        if not self.keeps_originals:
            given: Any = self.module._parameters["_flat_param"]
            if given.shape != mt.Size([self.sizes[0]]):
                raise RuntimeError(f"_flat_param was replaced by a tensor of shape {given.shape}")
            self.sharded, self.dtype = given, given.dtype
            return
        dtypes = {piece.parameter.dtype for piece in self.pieces}
        if len(dtypes) > 1:
            raise RuntimeError(f"the parameters of a unit are to have one dtype, but have {sorted(map(str, dtypes))}")
        storage = self.sharded.untyped_storage().data_ptr()
        moved = [piece for piece in self.pieces if piece.parameter.untyped_storage().data_ptr() != storage]
        if not moved:
            return
        (dtype,) = dtypes
        with mt.no_grad():
            if dtype != self.dtype:
                grad = self.sharded.grad
                self.sharded = Parameter(self.sharded.detach().to(dtype), self.trained)
                self.sharded.grad = None if grad is None else grad.to(dtype)
                self.dtype = dtype
            for piece in moved:
                own = self.own(piece)
                if piece.parameter.numel() != own.stop - own.start:
                    raise RuntimeError(f"{piece.name} was replaced by a tensor of shape {piece.parameter.shape}")
                self.sharded.detach()[own].copy_(piece.parameter.detach().reshape(-1))
        self._show_originals()

    def write_part(self, flat: Any) -> None:
        flat.copy_(self.sharded.detach())

    def accumulate(self, flat: Any) -> None:
        """Add to the gradient of this rank's part; programs see that of each original parameter, if any is here."""
        own = flat.to(self.dtype)
        kept = self._kept_gradient()
        grad = own.clone() if kept is None else kept.add_(own)
        self.sharded.grad = grad
        if self.keeps_originals:
            for piece in self.pieces:
                at = self.own(piece)
                is_here = piece.trained and at.stop > at.start
                piece.parameter.grad = self._part_of(grad, piece) if is_here else None

    def _kept_gradient(self) -> Any:
        """The gradient that is there: programs may have set that of original parameters to None, or to another."""
        if not self.keeps_originals:
            return self.sharded.grad
        grads = [piece.parameter.grad for piece in self.pieces]
        if all(grad is None for grad in grads):
            return None
        kept = mt.zeros(self.sizes[0], dtype=self.dtype)
        for piece, grad in zip(self.pieces, grads, strict=True):
            if grad is not None:
                kept[self.own(piece)].copy_(grad.reshape(-1))
        return kept

    def gradients(self) -> Sequence[Any]:
        """The gradients of this rank's part."""
        given = [piece.parameter.grad for piece in self.pieces] if self.keeps_originals else [self.sharded.grad]
        return [grad for grad in given if grad is not None]
