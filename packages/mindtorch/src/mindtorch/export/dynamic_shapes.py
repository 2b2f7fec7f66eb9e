"""``torch.export.dynamic_shapes``: which sizes of inputs may vary."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from mt_core import Tensor, pytree

from .._dynamo.exc import UserError
from .._unsupported import refusal
from ._dims import Dim, DimHint, dims
from ._shape_sources import AdditionalInputs, ShapesCollection, refine_dynamic_shapes_from_suggested_fixes

__all__ = [
    "AdditionalInputs", "Dim", "DimHint", "Leaf", "ShapesCollection", "dims", "leaves_with_dims",
    "names_dynamic_sizes", "refine_dynamic_shapes_from_suggested_fixes",
]  # fmt: skip

_SEE = "For more information about this error, see: https://pytorch.org/docs/main/generated/exportdb/index.html#dynamic-shapes-validation"


@dataclasses.dataclass(frozen=True)
class Leaf:
    """A leaf of the arguments, where it is found, and what is said of each of its sizes.

    Attributes
    ----------
    path
        The name of the parameter, and the keys that lead on.
    sizes
        Of a tensor: a `Dim`, a `DimHint`, an integer, or None, for each dimension.
    """

    path: tuple[Any, ...]
    value: Any
    sizes: tuple[Any, ...]


def names_dynamic_sizes(leaves: dict[str, list[Leaf]]) -> bool:
    """Whether anything is said of any size."""
    return any(said is not None for found in leaves.values() for leaf in found for said in leaf.sizes)


def leaves_with_dims(arguments: dict[str, Any], dynamic_shapes: Any) -> dict[str, list[Leaf]]:
    """Parameter -> the leaves of its argument, in order, with what is said of their sizes.

    Raises
    ------
    torch._dynamo.exc.UserError
        Where it does not go with the arguments, in PyTorch's words.
    """
    names = list(arguments)
    if not isinstance(dynamic_shapes, (dict, tuple, list)):
        raise UserError(f"Expected `dynamic_shapes` to be a dict, list or tuple, got {type(dynamic_shapes)}")
    if isinstance(dynamic_shapes, dict):
        given = dynamic_shapes
        if set(given) != set(names):
            raise UserError(_not_the_names(names, list(given)))
    else:
        if len(dynamic_shapes) != len(names):
            raise _other_length((), names, dynamic_shapes)
        given = dict(zip(names, dynamic_shapes, strict=True))
    top = (lambda name, _: (name,)) if isinstance(dynamic_shapes, dict) else (lambda _, place: (place,))
    found = {
        name: list(_matched(arguments[name], given[name], (name,), top(name, place)))
        for place, name in enumerate(names)
    }
    _check_names(leaf for leaves in found.values() for leaf in leaves)
    return found


def _not_the_names(names: list[str], keys: list[Any]) -> str:
    return (
        f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {names} of `inputs`, "
        f"but here they are {keys}. Alternatively, you could also ignore arg names entirely and specify "
        f"`dynamic_shapes` as a list/tuple matching `inputs`. {_SEE}"
    )


def _mismatch(text: str) -> UserError:
    return UserError(f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {text}\n{_SEE}")


def _at(whole: str, keys: Sequence[Any]) -> str:
    return whole + "".join(f"[{key!r}]" for key in keys)


def _other_length(keys: tuple[Any, ...], values: Any, spec: Any) -> UserError:
    return _mismatch(
        f"`{_at('inputs', keys)}` has {len(values)} elements, but `{_at('dynamic_shapes', keys)}` has {len(spec)} "
        "elements"
    )


def _matched(value: Any, spec: Any, path: tuple[Any, ...], keys: tuple[Any, ...]) -> Iterator[Leaf]:
    """The leaves of an argument with what `spec` says; `keys` lead to it in what the caller wrote."""
    if isinstance(value, Tensor):
        yield Leaf(path, value, _sizes(value, spec, keys))
        return
    children, structure = pytree.tree_flatten(value, is_leaf=lambda part: part is not value)
    if structure.is_leaf():
        if isinstance(spec, (Dim, DimHint)) and type(value) is int:
            raise refusal(
                f"torch.export.export(dynamic_shapes=...) with {spec!r} for an integer", "Give a tensor of that size."
            )
        if spec is not None:
            raise UserError(
                f"Cannot associate shape {spec} specified at `{_at('dynamic_shapes', keys)}` to non-tensor type "
                f"{type(value)} at `{_at('inputs', keys)}` (expected None)\n{_SEE}"
            )
        yield Leaf(path, value, ())
        return
    steps = [entry for way, _ in pytree.tree_flatten_with_path(value, is_leaf=lambda part: part is not value)[0] for entry in way]  # fmt: skip # noqa: E501
    own = [getattr(step, "key", getattr(step, "idx", getattr(step, "name", None))) for step in steps]
    for key, child, said in zip(own, children, _parts(value, own, spec, keys), strict=True):
        yield from _matched(child, said, (*path, key), (*keys, key))


def _parts(value: Any, own: list[Any], spec: Any, keys: tuple[Any, ...]) -> list[Any]:
    """What is said of each part of a container."""
    if spec is None:
        return [None] * len(own)
    if isinstance(value, dict) and isinstance(spec, dict):
        if set(own) != set(spec):
            raise _mismatch(
                f"`{_at('inputs', keys)}` has keys {own}, but `{_at('dynamic_shapes', keys)}` has keys {list(spec)}"
            )
        return [spec[key] for key in own]
    is_sequence = not isinstance(value, dict) and isinstance(spec, (tuple, list))
    said = list(spec) if is_sequence else pytree.tree_flatten(spec, is_leaf=lambda part: part is not spec)[0]
    if not is_sequence and type(spec) is not type(value):
        raise _mismatch(
            f"`{_at('inputs', keys)}` is a {type(value)}, but `{_at('dynamic_shapes', keys)}` is a {type(spec)}"
        )
    if len(said) != len(own):
        raise _other_length(keys, own, said)
    return said


def _sizes(tensor: Tensor, spec: Any, keys: tuple[Any, ...]) -> tuple[Any, ...]:
    count = tensor.dim()
    where = f"specified at `{_at('dynamic_shapes', keys)}`"
    if spec is None:
        return (None,) * count
    if isinstance(spec, dict):
        given = list(spec.items())
        for place in spec:
            if not isinstance(place, int) or not -count <= place < count:
                raise UserError(
                    f"Expected dimension of tensor shape {spec} {where} to be an index of {count} dimensions, got "
                    f"{place!r}\n{_SEE}"
                )
    elif isinstance(spec, (tuple, list)):
        if len(spec) != count:
            raise UserError(
                f"Expected dynamic shape spec {spec} {where} to have the same length as the actual tensor shape "
                f"{tensor.shape} (expected {count}, but got {len(spec)} instead)\n{_SEE}"
            )
        given = list(enumerate(spec))
    else:
        raise UserError(
            f"Unexpected input tensor shape {spec} {where} (expected either a list/tuple of dimensions, or a dict "
            f"mapping indices to dimensions, where each dimension is an int, a Dim, Dim.AUTO, Dim.STATIC, or "
            f"Dim.DYNAMIC)\n{_SEE}"
        )
    found: list[Any] = [None] * count
    for place, said in given:
        if said is not None and not isinstance(said, (int, Dim, DimHint)):
            raise UserError(
                f"Unexpected dimension mapped to index {place} in input tensor shape {spec} {where} (expected None, "
                f"an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC,  but got {said!r} instead)\n{_SEE}"
            )
        found[place] = said
    return tuple(found)


def _check_names(leaves: Iterator[Leaf]) -> None:
    """Refuse two definitions of one name."""
    known: dict[str, Dim] = {}
    for leaf in leaves:
        for said in leaf.sizes:
            if isinstance(said, Dim):
                dim = said.root
                first = known.setdefault(dim.__name__, dim)
                if (first.min, first.max) != (dim.min, dim.max):
                    raise UserError(
                        f"Found different definitions {first} and {dim} for the same symbolic dimension {dim}!"
                    )
