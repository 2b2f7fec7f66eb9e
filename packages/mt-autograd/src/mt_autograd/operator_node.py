"""Nodes of operators: they keep what their rule's formulas ask for, and apply the formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.keys import STRIDED
from mt_core.spec import Spec
from mt_core.state import settle
from mt_core.tensor import Tensor

from .node import LEAF, NO_EDGE, AccumulateGrad, Edge, Node, OutputSpec, device_of_keys, output_spec
from .rules import MASK, Plan, SavedSlot
from .saved import (
    FREED,
    Packed,
    SavedOutput,
    SavedTensor,
    check_version,
    pack,
    packing_hooks,
    refuse_inference,
    unpack_input,
)
from .views import edge_of

__all__ = ["OperatorNode", "keep_spec", "node_class", "pack_item", "zeros_for"]


#: Its formula needs no sizes, as the engine sums a gradient to those of the input.
_EXPAND = "ExpandBackward0"
#: What PyTorch's nodes tell of the layouts of arguments that they keep, or of whose layout they keep.
_LAYOUTS = {
    "Addbmm": "batch1_sym_argsize_0 batch1_sym_argsize_1 batch2_sym_argsize_2",
    "Addmm": "mat1_sym_sizes mat1_sym_strides mat2_sym_sizes mat2_sym_strides",
    "Convolution": "bias_sym_sizes_opt",
    "Embedding": "weight_sym_argsize_0",
    "IndexAdd": "source_dim",
    "IndexCopy": "source_dim",
    "MaskedScatter": "source_sym_sizes",
    "Mean": "self_sym_numel",
    "Mm": "self_sym_sizes self_sym_strides mat2_sym_sizes mat2_sym_strides",
}
_OF_LAYOUT = re.compile(r"(\w+?)_(?:sym_(sizes_opt|sizes|strides|numel)|sym_argsize_(\d)|(dim))")
#: Formulas that read the sizes of their input where PyTorch's keep the input, or nothing.
_SIZELESS = frozenset("AsStrided ChannelShuffle LogSoftmax MaxUnpool2D MaxUnpool3D Mm Softmax ToCopy Unbind".split())


def keep_spec(value: Any, kind: str) -> Any:
    """What a node keeps of a tensor argument's layout; None for a number or None in its place."""
    if kind == "list":
        return tuple([keep_spec(item, "spec") for item in value])
    if not isinstance(value, Tensor):
        return None
    if kind == "offset":
        return value.storage_offset()
    if kind == "device":
        return value.device
    strides = value._array.strides if value._keys & STRIDED else None
    return strides if kind == "strides" else (value._array.shape, value._dtype, value._keys, strides)


def as_spec(saved: Any, is_list: bool = False) -> Any:
    """The `Spec` that formulas see of what was kept; a tuple of them for a list of tensors."""
    if saved is None:
        return None
    if is_list:
        return tuple([as_spec(item) for item in saved])
    shape, dtype, keys, strides = saved
    in_elements = None if strides is None else tuple(step // dtype.itemsize for step in strides)
    return Spec(shape, dtype, in_elements, device_of_keys(keys))


class OperatorNode(Node):
    """The node of one operator call.

    Attributes
    ----------
    plan : Plan
        On the class.
    saved : tuple or None
        (tensor, expected version) flattened, per slot of the plan; None once released. A list of tensors stands in its
        slot as a tuple, its versions likewise.
    values, specs : tuple
        Arguments that are not tensors, and layouts of those that are, in the plan's order.
    wanted : int
        Bit mask over the differentiable arguments: which have an edge.
    list_sizes : tuple of int
        How many edges each differentiable argument has, where one of them is a list.
    inplace_view : weakref or None
        For an in-place operation on a view: the `CopySlices` that holds this node.
    """

    __slots__ = ()

    plan: Plan
    saved: tuple[Any, ...] | None = ()
    values: tuple[Any, ...] = ()
    specs: tuple[Any, ...] = ()
    wanted: int = 1
    list_sizes: tuple[int, ...] = ()
    inplace_view: Any = None

    def name(self) -> str:
        return self.plan.rule.node_name

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        plan = self.plan
        if not plan.several and not plan.has_lists and self._edges[:1] == (None,):
            return [None]
        grad = grads[0]
        if grad is None:
            if not any(g is not None for g in grads):
                return [None] * (len(self._edges) // 2)
            if plan.uses_grad:
                grad = zeros_for(self.output_spec(0), grads)
        wanted = self.wanted if needed is None else self._wanted_of(needed)
        pool = [grad, grads, wanted]
        if plan.saved:
            self._unpack_to(pool, wanted)
        pool += self.values
        if plan.specs:
            pool += self._specs()
        if plan.joint:
            pool[MASK] = [bool(wanted >> i & 1) for i in range(len(plan.positions))]
            results = plan.formulas[0].call(pool)
        else:
            results = [formula.call(pool) if wanted & formula.bit else None for formula in plan.formulas]
        return flattened(results, self.list_sizes) if self.list_sizes else results  # type: ignore[no-any-return]

    def _wanted_of(self, needed: Sequence[bool]) -> int:
        """Bit mask of the arguments whose gradient goes somewhere, where only some edges are needed."""
        wanted = start = 0
        for ordinal, size in enumerate(self.list_sizes or (1,) * len(needed)):
            if any(needed[start : start + size]):
                wanted |= 1 << ordinal
            start += size
        return wanted & self.wanted

    def _unpack_to(self, pool: list[Any], wanted: int) -> None:
        """Append the saved tensors that formulas of the wanted arguments use, and None for the others."""
        saved = self.saved
        if saved is None:
            # What formulas of several arguments use is kept whichever of them is wanted.
            if any(slot.wanted_by & wanted or slot.wanted_by & slot.wanted_by - 1 for slot in self.plan.saved):
                raise RuntimeError(FREED)
            pool += [None] * len(self.plan.saved)
            return
        position = 0
        for slot in self.plan.saved:
            item, version = saved[position], saved[position + 1]
            position += 2
            if not slot.wanted_by & wanted:
                item = None
            elif (
                item.__class__ is not Tensor
                or (0 if item._cell is None else item._cell.version) != version
                or item._autograd is None
                or item._autograd.grad_fn is None
            ):
                item = self.unpack_slot(slot, item, version)
            pool.append(item)

    def _specs(self) -> list[Any]:
        """The layouts that formulas see."""
        return [self._spec(kept, position, kind) for kept, (_, position, kind) in zip(self.specs, self.plan.specs)]

    def _spec(self, kept: Any, position: int, kind: str) -> Any:
        if kind in ("offset", "device"):
            return kept
        if kind != "strides":
            return as_spec(kept, kind == "list")
        ordinal = self.plan.positions.index(position)
        target, output_nr = self._edges[2 * ordinal], self._edges[2 * ordinal + 1]
        if target is None:
            return None
        return as_spec((*(output_spec(target) if output_nr == LEAF else target.output_spec(output_nr)), kept))

    def unpack_slot(self, slot: SavedSlot, item: Any, version: Any) -> Any:
        """A saved item as a tensor (or list of them), its version checked."""
        if slot.is_result:
            return self._unpack_output(item, version, slot.position)
        if slot.is_list and item is not None:
            return tuple(unpack_input(t, v) for t, v in zip(item, version, strict=True))
        if slot.edge is not None and isinstance(item, Tensor):
            self._refuse_detached(slot.edge, item)
        return unpack_input(item, version)

    def _refuse_detached(self, edge: int, item: Tensor) -> None:
        """Raise where a saved tensor had a history that it no longer has."""
        target, output_nr = self._edges[2 * edge : 2 * edge + 2]
        had_history = target is not None and output_nr != LEAF and not isinstance(target, AccumulateGrad)
        if had_history and (item._autograd is None or item._autograd.grad_fn is None):
            raise RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not "
                "supported, please use out-of-place `.detach()` instead"
            )

    def _unpack_output(self, item: Any, version: int, output_nr: int) -> Any:
        if item is None:
            return None
        edge = self.own_edge(output_nr) if self._has_history(output_nr) and is_grad_enabled() else NO_EDGE
        if isinstance(item, Packed):
            return item.unpack(edge)
        alias = item.tensor(edge)
        check_version(alias, item.cell.version, version, (self, output_nr))
        return alias

    def _has_history(self, output_nr: int) -> bool:
        """Whether an output is differentiable: indices beside values are not."""
        chosen, d = self.plan.rule.differentiable_outputs, self.output_spec(output_nr)[1]
        return (chosen is None or chosen[output_nr]) and (d.is_floating_point or d.is_complex)

    def own_edge(self, output_nr: int) -> Edge:
        """Where gradients of an output go: to this node, or through the view that an in-place operation changed."""
        if self.inplace_view is not None:
            copy_slices = self.inplace_view()
            if copy_slices is not None:
                return copy_slices.view_edge()  # type: ignore[no-any-return]
        return self, output_nr

    def release(self) -> None:
        if self.plan.saved:
            self.saved = None

    def __getattr__(self, name: str) -> Any:
        """``_saved_<what>`` and ``_raw_saved_<what>``: what the node keeps for backward."""
        if name.startswith("_saved_"):
            return self._kept_value(name[7:])
        if name.startswith("_raw_saved_"):
            return self._raw_saved(name[11:])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _kept_value(self, wanted: str) -> Any:
        settle()
        for i, slot in enumerate(self.plan.saved):
            if wanted in (slot.name, self._told(slot)):
                if self.saved is None:
                    raise RuntimeError(FREED)
                return self.unpack_slot(slot, self.saved[2 * i], self.saved[2 * i + 1])
        for (name, _), value in zip(self.plan.values, self.values, strict=True):
            if name == wanted:
                return value
        for (name, position, kind), kept in zip(self.plan.specs, self.specs, strict=True):
            if wanted in (name, f"{name[:-5]}_sym_sizes"):
                spec = self._spec(kept, position, kind)
                return spec if wanted == name else spec.shape
        if wanted in _LAYOUTS.get(self._family(), "").split():
            return self._layout_fact(wanted)
        if wanted == "self_sym_sizes" and self.name() == _EXPAND:
            target, output_nr = self._edges[:2]
            return tuple((output_spec(target) if output_nr == LEAF else target.output_spec(output_nr))[0])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '_saved_{wanted}'")

    def _family(self) -> str:
        """``Mm`` of ``MmBackward0``."""
        return self.name().rstrip("0123456789").removesuffix("Backward")

    def _layout_fact(self, wanted: str) -> Any:
        """A fact of the layout of an argument, told by its name in PyTorch."""
        named = _OF_LAYOUT.fullmatch(wanted)
        assert named is not None
        argument, fact, dim, _ = named.groups()
        specs = zip(self.plan.specs, self.specs, strict=True)
        of = next((self._spec(kept, at, kind) for (name, at, kind), kept in specs if name == f"{argument}_spec"), None)
        if of is None and fact == "sizes_opt":
            return (0,)
        if of is None:
            of = self._kept_value(argument)
        if dim is not None:
            return of.shape[int(dim)]
        if fact == "sizes_opt":
            return tuple(of.shape)
        if fact in ("sizes", "strides"):
            names = [self.plan.schema.arguments[position].name for position in self.plan.positions]
            if self._edges[2 * names.index(argument)] is None:
                return ()  # kept for a gradient that nobody wants
            return tuple(of.shape if fact == "sizes" else of.stride())
        return of.numel() if fact == "numel" else len(of.shape)

    def _raw_saved(self, wanted: str) -> Any:
        for i, slot in enumerate(self.plan.saved):
            if wanted in (slot.name, self._told(slot)):
                if slot.is_list:
                    return tuple(SavedTensor(self, i, k) for k in range(len(self.saved[2 * i]) if self.saved else 0))
                return SavedTensor(self, i)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '_raw_saved_{wanted}'")

    def _told(self, slot: SavedSlot) -> str:
        """The name of a saved tensor in PyTorch: of an output, the one that the schema gives it."""
        named = self.plan.schema.returns[slot.position].name if slot.is_result else None
        return named or slot.name

    def __dir__(self) -> list[str]:
        plan = self.plan
        tensors = [self._told(slot) for slot in plan.saved]
        kept = [*tensors, *(name for name, _ in plan.values)]
        if self._shows_sizes():
            kept.append("self_sym_sizes")
        kept += _LAYOUTS.get(self._family(), "").split()
        return [*super().__dir__(), *(f"_saved_{name}" for name in kept), *(f"_raw_saved_{name}" for name in tensors)]

    def _shows_sizes(self) -> bool:
        """Whether PyTorch's node keeps the sizes of its first input."""
        name = self.name()
        reads = any(spec == "self_spec" and kind in ("spec", "strides") for spec, _, kind in self.plan.specs)
        return name == _EXPAND or reads and self._family() not in _SIZELESS


def flattened(results: Sequence[Any], sizes: tuple[int, ...]) -> list[Any]:
    """Gradients per argument to gradients per edge: those of a list argument stand in line."""
    flat: list[Any] = []
    for result, size in zip(results, sizes, strict=True):
        if result is None:
            flat.extend([None] * size)
        elif isinstance(result, (list, tuple)):
            flat.extend(result)
        else:
            flat.append(result)
    return flat


def zeros_for(spec: OutputSpec, like: Sequence[Any]) -> Any:
    """Zeros in the shape of an output; `like` gives, if any is defined, the device."""
    shape, dtype, keys = spec
    present = next((g for g in like if g is not None), None)
    device = device_of_keys(keys) if present is None else present.device
    return ops.zeros(shape, dtype=dtype, device=device)


def node_class(plan: Plan, *, inplace: bool) -> type[OperatorNode]:
    """The class of an operator's nodes, with a slot for each thing that its plan keeps."""
    used = {
        "saved": plan.saved,
        "wanted": plan.several,
        "values": plan.values,
        "specs": plan.specs,
        "list_sizes": plan.has_lists,
        "inplace_view": inplace and any(slot.is_result for slot in plan.saved),
    }
    slots = tuple(name for name, needed in used.items() if needed)
    name = plan.rule.node_name.rpartition("::")[2]
    return type(name, (OperatorNode,), {"__slots__": slots, "plan": plan, "__module__": __name__})


def pack_item(item: Any) -> Any:
    """What is saved, as the pack hooks of this thread would have it saved.

    Raises
    ------
    RuntimeError
        In PyTorch's words for a tensor made in inference mode.
    """
    if isinstance(item, Tensor):
        refuse_inference(item)
        return pack(item, edge_of(item))
    if isinstance(item, SavedOutput):
        return pack(item.tensor(), NO_EDGE) if packing_hooks.stack else item
    return tuple(map(pack_item, item)) if isinstance(item, tuple) else item
