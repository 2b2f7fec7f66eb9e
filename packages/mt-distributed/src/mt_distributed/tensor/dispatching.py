"""What an operator does to distributed tensors: it runs on what this rank has, once the arguments lie as it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mt_core as mt
from mt_core.block import mark_layout
from mt_core.pytree import tree_flatten, tree_unflatten
from mt_library.ops import ops

from . import rules as _rules  # noqa: F401 - it enters them
from ._api import DTensor, Operators
from .placement_types import Placement
from .redistribution import redistributed
from .rules.pooling import UPSAMPLES
from .rules.view import squeezed_dims
from .spec import DTensorSpec, TensorMeta, local_part, normalized
from .special import handler_for, in_mesh, mixed
from .strategies import Call, Strategy, chosen_strategies, find_rule

__all__ = ["dispatched", "mesh_of"]


def dispatched(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Carry an operator out.

    Raises
    ------
    NotImplementedError
        For an operator without a rule.
    RuntimeError
        For tensors on several meshes, ordinary tensors beside distributed ones, and in-place operators whose result
        would lie otherwise than what they write to.
    """
    special = handler_for(func)
    result = NotImplemented if special is None else special(func, args, kwargs)
    return _by_rule(func, args, kwargs) if result is NotImplemented else result


#: What gives a tensor another shape, also in place, and cannot be carried out so.
_VIEWS = {"unsqueeze", "t", "transpose", "swapaxes", "swapdims", "as_strided", "resize", "resize_as"}


def _by_rule(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    leaves, tree = tree_flatten((args, kwargs))
    mesh = mesh_of(func, leaves)
    given = [in_mesh(func, leaf, mesh) if isinstance(leaf, mt.Tensor) else leaf for leaf in leaves]
    at = [place for place, leaf in enumerate(given) if isinstance(leaf, DTensor)]
    specs = [given[place]._spec for place in at]
    schema = func._overload.schema
    name = str(func).partition(".")[2]
    writes = schema.is_mutable
    if writes and _results_to_write(schema):
        return _into(func, args, kwargs)
    if writes and not name.partition(".")[0].endswith("_"):
        raise NotImplementedError(f"{func} of distributed tensors is not supported by mindtorch")
    bare = name.replace("_.", ".", 1) if writes else name
    if writes and bare.partition(".")[0] in _VIEWS:
        raise NotImplementedError(
            f"{func} of distributed tensors is not supported by mindtorch: it changes the shape of what it writes to. "
            "Out of place it is"
        )
    if writes and bare.startswith("squeeze."):
        return _squeezed_in_place(bare, args)
    function = find_rule(bare.removesuffix(".default"))
    if function is None or not str(func).startswith("aten."):
        raise NotImplementedError(f"Operator {func} does not have a sharding strategy registered.")
    call = Call(bare, _named(schema, leaves, given, tree), specs)
    strategies = chosen_strategies(call, function, writes)
    if strategies is None:
        raise _refusal(func, specs, writes)
    if writes:
        _refuse_copies(func, given[at[0]])
    wanted = [_arranged(strategies, index, spec) for index, spec in enumerate(specs)]
    moved = False
    for index, place in enumerate(at):
        spec = specs[index]
        moved = moved or wanted[index] != spec.placements
        given[place] = redistributed(given[place]._local_tensor, spec, wanted[index])
    local_args, local_kwargs = tree_unflatten(given, tree)
    metas = None if writes else _whole_results(func, leaves, specs, at, tree, mesh)
    outputs = [tuple(strategy.outputs[n] for strategy in strategies) for n in range(len(strategies[0].outputs))]
    if metas is not None:
        local_args = _with_local_shape(call.name, local_args, mesh, metas, outputs)
    if mesh.get_coordinate() is None:
        result = _nothing(metas, schema)
    elif call.name in ("view", "view.default", "_reshape_alias", "_reshape_alias.default"):
        # What was brought here may lie in another order than the whole does.
        result = local_args[0].reshape(local_args[1])
        moved = moved or not _shares(result, local_args[0])
    elif call.name.startswith("squeeze"):
        # A part may be of size one where the whole is not.
        result = local_args[0].squeeze(squeezed_dims(call))
    else:
        result = func(*local_args, **local_kwargs)
    if writes:
        return leaves[at[0]]
    return _wrapped(result, metas, outputs, mesh, _copies(schema, moved, [leaves[place] for place in at]))


def _arranged(strategies: Sequence[Strategy], index: int, spec: DTensorSpec) -> tuple[Placement, ...]:
    """The placements that strategies want of a tensor."""
    pairs = zip((strategy.inputs[index] for strategy in strategies), spec.placements, strict=True)
    return tuple(now if new is None else new for new, now in pairs)


def mesh_of(func: Any, leaves: Sequence[Any]) -> Any:
    """The mesh of the distributed tensors among the arguments.

    Raises
    ------
    RuntimeError
        Where there are several.
    """
    found = None
    for leaf in leaves:
        if isinstance(leaf, DTensor):
            if found is None:
                found = leaf._spec.mesh
            elif leaf._spec.mesh != found:
                raise RuntimeError(
                    f"Cannot run {func} on inputs with different meshes: got {found} and {leaf._spec.mesh}"
                )
    return found


def _named(schema: Any, leaves: Sequence[Any], given: Sequence[Any], tree: Any) -> dict[str, Any]:
    """All arguments by name, with specs in place of tensors."""
    shown = [leaf._spec if isinstance(leaf, DTensor) else leaf for leaf in given]
    args, kwargs = tree_unflatten(shown, tree)
    named = {
        argument.name: args[at] if at < len(args) else kwargs.get(argument.name, argument.default)
        for at, argument in enumerate(schema.arguments)
    }
    return named


def _refusal(func: Any, specs: Sequence[DTensorSpec], writes: bool) -> Exception:
    shown = ", ".join(f"Spec({spec.shown()})" for spec in specs)
    where = f"Sharding propagation failed for {func}({shown}) on {specs[0].mesh})"
    if writes:
        return RuntimeError(
            f"{func}: in-place operations that require placement changes are not supported. The input has placement "
            f"{specs[0].placements}, but no valid strategy preserves this placement. Please use the out-of-place "
            f"version of this operation instead.\n\n{where}"
        )
    return RuntimeError(f"{func}: the operator cannot be carried out on tensors that lie so.\n\n{where}")


def _whole_results(
    func: Any, leaves: Sequence[Any], specs: Sequence[DTensorSpec], at: Sequence[int], tree: Any, mesh: Any
) -> Any:
    """Shape, strides and dtype of the whole results: those of the operator on tensors without elements."""
    whole = list(leaves)
    for place, spec in zip(at, specs, strict=True):
        meta = spec.tensor_meta
        whole[place] = mt.empty_strided(tuple(meta.shape), tuple(meta.stride), dtype=meta.dtype, device="meta")
    for place, leaf in enumerate(whole):
        if isinstance(leaf, mt.device):
            whole[place] = mt.device("meta")
    args, kwargs = tree_unflatten(whole, tree)
    result = func(*args, **kwargs)
    many = result if isinstance(result, (tuple, list)) else [result]
    return [None if one is None else TensorMeta(one.shape, tuple(one.stride()), one.dtype) for one in many]


#: Operators that are told the shape of their result, and at which argument.
_SHAPES_AT = {
    "view": 1, "_unsafe_view": 1, "_reshape_alias": 1, "reshape": 1, "expand": 1, "new_zeros": 1, "new_empty": 1,
    "new_ones": 1, "new_full": 1, "new_empty_strided": 1,
    **{f"{name}_backward": 2 for name in UPSAMPLES},
}  # fmt: skip
#: Operators that are told the size of their first tensor's first dimension, and at which argument.
_BATCHES_AT = {"native_group_norm": 3, "native_group_norm_backward": 5}


def _with_local_shape(
    name: str, args: tuple[Any, ...], mesh: Any, metas: Any, outputs: Sequence[tuple[Placement, ...]]
) -> tuple[Any, ...]:
    batch_at = _BATCHES_AT.get(name.partition(".")[0])
    if batch_at is not None:
        return (*args[:batch_at], args[0].shape[0], *args[batch_at + 1 :])
    at = _SHAPES_AT.get(name.partition(".")[0])
    if at is None or name == "view.dtype":
        return args
    shape, _ = local_part(metas[0].shape, mesh, outputs[0])
    changed = [*args[:at], list(shape), *args[at + 1 :]]
    if name.startswith(("_reshape_alias", "new_empty_strided")) and tuple(shape) != tuple(metas[0].shape):
        changed[at + 1] = list(mt.empty(shape, device="meta").stride())
    return tuple(changed)


def _results_to_write(schema: Any) -> list[str]:
    """The names of the arguments that results are written to: those of an ``out=``."""
    return [one.name for one in schema.arguments if one.kwarg_only and one.writes]


def _into(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator out of place, and its results copied to where they are to be, whose placements stay."""
    names = _results_to_write(func._overload.schema)
    outs = [kwargs[name] for name in names]
    for out in outs:
        if not isinstance(out, DTensor):
            raise mixed(func)
    leaves, tree = tree_flatten((args, kwargs))
    whole = [_without_elements(leaf) for leaf in leaves]
    whole_args, whole_kwargs = tree_unflatten(whole, tree)
    func(*whole_args, **whole_kwargs)  # raises what the operator says of dtypes and shapes
    for name, out in zip(names, outs, strict=True):
        if whole_kwargs[name].shape != out.shape:
            raise NotImplementedError(
                f"{func}: out has shape {tuple(out.shape)}, and distributed tensors are not resized in place: "
                f"{tuple(whole_kwargs[name].shape)} is needed"
            )
    packet = getattr(ops.aten, str(func).split(".")[1])
    result = packet(*args, **{name: value for name, value in kwargs.items() if name not in names})
    for out, one in zip(outs, result if isinstance(result, (tuple, list)) else [result], strict=True):
        ops.aten.copy_.default(out, one)
    return outs[0] if len(outs) == 1 else tuple(outs)


def _without_elements(leaf: Any) -> Any:
    if not isinstance(leaf, mt.Tensor):
        return mt.device("meta") if isinstance(leaf, mt.device) else leaf
    return mt.empty_strided(tuple(leaf.shape), tuple(leaf.stride()), dtype=leaf.dtype, device="meta")


def _squeezed_in_place(name: str, args: tuple[Any, ...]) -> DTensor:
    """A tensor with its dimensions of size one gone: it is that of the operator out of place."""
    tensor = args[0]
    _refuse_copies(f"aten.{name.replace('.', '_.', 1)}", tensor)
    made = getattr(ops.aten.squeeze, name.partition(".")[2])(*args)
    if getattr(made, "_is_copy", False):
        raise RuntimeError(
            f"aten.{name}: in-place operations that require placement changes are not supported. The input has "
            f"placement {tensor.placements}. Please use the out-of-place version of this operation instead."
        )
    tensor._local_tensor, tensor._spec, tensor._array = made._local_tensor, made._spec, made._array
    mark_layout(tensor, made.is_contiguous())
    return tensor


def _wrapped(result: Any, metas: Any, outputs: Sequence[tuple[Placement, ...]], mesh: Any, is_copy: bool) -> Any:
    if isinstance(result, (tuple, list)):
        kinds = outputs if len(outputs) == len(result) else [outputs[0]] * len(result)
        made = [
            _one(one, meta, placements, mesh, is_copy)
            for one, meta, placements in zip(result, metas, kinds, strict=True)
        ]
        return made if type(result) is list else tuple(made)
    return _one(result, metas[0], outputs[0], mesh, is_copy)


def _one(result: Any, meta: TensorMeta | None, placements: tuple[Placement, ...], mesh: Any, is_copy: bool) -> Any:
    if not isinstance(result, mt.Tensor) or meta is None:
        return result
    made = DTensor(result, DTensorSpec(mesh, normalized(placements, len(meta.shape)), meta))
    if is_copy:
        made._is_copy = True
    return made


def _nothing(metas: Any, schema: Any) -> Any:
    """What a rank outside of the mesh has of the results."""
    made = [None if meta is None else mt.empty(0, dtype=meta.dtype) for meta in metas or []]
    return made[0] if len(made) == 1 and not schema.returns[0].is_list else made


def _shares(one: mt.Tensor, other: mt.Tensor) -> bool:
    return one.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()


def _copies(schema: Any, moved: bool, given: Sequence[Any]) -> bool:
    """Whether a result is to be a view of an argument, and is none because that was brought elsewhere first."""
    if not any(returned.alias for returned in schema.returns):
        return False
    return moved or any(getattr(one, "_is_copy", False) for one in given)


def _refuse_copies(func: Any, tensor: Any) -> None:
    if getattr(tensor, "_is_copy", False):
        raise NotImplementedError(
            f"{func} cannot write to a view whose base lies otherwise ({tensor.placements}): the view was made of a "
            "copy. Write to the base, or redistribute it before the view."
        )


Operators.run = staticmethod(dispatched)
