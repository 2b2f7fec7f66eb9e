"""``torch.vmap``: a function of tensors, called once for all slices of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch.registry import find_overload
from ..pytree import TreeSpec, broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ..random import default_generator
from ..tensor import Tensor
from .batched import batched, lanes_of
from .vmap import VmapInterpreter

__all__ = ["lanes_in", "restore_vmap", "vmap"]

#: Which dimension of each tensor is mapped over: an int, None, or containers of them shaped as the arguments.
InDims = Any
OutDims = Any

_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any], in_dims: InDims = 0, out_dims: OutDims = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that maps `func` over a dimension of its arguments.

    Parameters
    ----------
    func
        Takes tensors, or containers of them, and returns tensors or containers of them.
    in_dims
        Which dimension of each argument is mapped over; None for what all calls share. An int stands for all
        arguments; else a tuple with an entry for each, which may be containers.
    out_dims
        Where each result has the mapped dimension.
    randomness
        Whether random operators raise (``"error"``), draw for every call (``"different"``) or once (``"same"``).
    chunk_size
        How many calls are made at once, at most; None for all.

    Raises
    ------
    ValueError
        When the function is called: for dimensions that do not fit the arguments or the results.
    RuntimeError
        For another `randomness`.
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        inputs = _Inputs(in_dims, args, func)
        if chunk_size is not None:
            return _in_chunks(func, inputs, out_dims, randomness, chunk_size, kwargs)
        return _mapped_once(func, inputs.size, inputs.flat, inputs, out_dims, randomness, kwargs)

    return mapped


def lanes_in(func: Callable[..., Any], in_dims: InDims, args: tuple[Any, ...]) -> int:
    """How many lanes the arguments of a mapped function have.

    Raises
    ------
    ValueError
        For dimensions that do not fit the arguments.
    """
    return _Inputs(in_dims, args, func).size


def restore_vmap(
    func: Callable[..., Any], in_dims: InDims, batch_size: int, randomness: str
) -> Callable[..., tuple[Any, Any]]:
    """A function that maps `func`, and gives its results as they are with where each has the mapped dimension.

    Results may be anything. What does not depend on a mapped argument is not repeated, and has None for the dimension.
    Arguments need not have a mapped dimension: the number of lanes is `batch_size`.
    """

    def mapped(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        flat, structure = tree_flatten(args)
        dims = broadcast_to_and_flatten(in_dims, structure)
        if dims is None:
            raise ValueError(f"in_dims {in_dims} is not compatible with the structure of the arguments, {structure}")
        with VmapInterpreter(batch_size, randomness) as level:
            result = func(*tree_unflatten(_entered(flat, dims, level), structure), **kwargs)
            outputs, structure = tree_flatten(result)
        parts = [lanes_of(output, level) if isinstance(output, Tensor) else (output, None) for output in outputs]
        values, of_results = ([part[side] for part in parts] for side in range(2))
        return tree_unflatten(values, structure), tree_unflatten(of_results, structure)

    return mapped


def _entered(flat: Sequence[Any], dims: Sequence[int | None], level: VmapInterpreter) -> list[Any]:
    return [leaf if dim is None else batched(leaf, dim, level) for leaf, dim in zip(flat, dims, strict=True)]


def _name(func: Callable[..., Any]) -> str:
    return func.__name__ if hasattr(func, "__name__") else repr(func)


class _Inputs:
    """The positional arguments of a call, checked: their leaves, the dimension of each, the number of lanes."""

    def __init__(self, in_dims: InDims, args: tuple[Any, ...], func: Callable[..., Any]) -> None:
        self._func, self._in_dims = func, in_dims
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                f"{self.called}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
                f"of inputs, got: {type(in_dims)}."
            )
        if not args:
            raise ValueError(
                f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
                "vmap over a function with no inputs. The latter is unsupported."
            )
        self.flat, self.structure = tree_flatten(args)
        dims = broadcast_to_and_flatten(in_dims, self.structure)
        if dims is None:
            raise ValueError(
                f"{self.called}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                f"{tree_flatten(in_dims)[1]} but inputs has structure {self.structure}."
            )
        self.dims = [self._checked(leaf, dim) for leaf, dim in zip(self.flat, dims, strict=True)]
        self.size = self._size()

    @property
    def called(self) -> str:
        """The call, as errors name it."""
        return f"vmap({_name(self._func)}, in_dims={self._in_dims}, ...)(<inputs>)"

    def _checked(self, leaf: Any, dim: Any) -> int | None:
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"{self.called}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if isinstance(dim, int) and not isinstance(leaf, Tensor):
            raise ValueError(
                f"{self.called}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap "
                "over non-Tensor arguments, please use None as the respective in_dim"
            )
        if dim is not None and not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{self.called}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                f"{leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        return dim + leaf.dim() if dim is not None and dim < 0 else dim

    def _size(self) -> int:
        sizes = [leaf.size(dim) for leaf, dim in zip(self.flat, self.dims, strict=True) if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
                "mapped dimension"
            )
        return int(sizes[0])


def _mapped_once(
    func: Callable[..., Any], size: int, flat: Sequence[Any], inputs: _Inputs, out_dims: OutDims, randomness: str,
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    with VmapInterpreter(size, randomness) as level:
        leaves = _entered(flat, inputs.dims, level)
        result = func(*tree_unflatten(leaves, inputs.structure), **kwargs)
        outputs, structure = tree_flatten(result)
    # The level has ended: what is called from here on is the affair of those further out.
    dims = _flat_out_dims(out_dims, structure, result, func)
    found = [_unbatched(output, dim, level, func) for output, dim in zip(outputs, dims, strict=True)]
    return tree_unflatten(found, structure)


def _flat_out_dims(out_dims: OutDims, structure: TreeSpec, result: Any, func: Callable[..., Any]) -> list[Any]:
    if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    is_lone = isinstance(result, Tensor) and (out_dims is None or isinstance(out_dims, int))
    dims = [out_dims] if is_lone else broadcast_to_and_flatten(out_dims, structure)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure "
            f"of `outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {structure}."
        )
    for dim in dims:
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                f"collection of ints representing where in the outputs the vmapped dimension should appear."
            )
    return dims


def _unbatched(output: Any, dim: int | None, level: VmapInterpreter, func: Callable[..., Any]) -> Any:
    if not isinstance(output, Tensor):
        if dim is None:
            return output
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(output)}. Did you "
            "mean to set out_dims= to None for output?"
        )
    lanes = lanes_of(output, level)
    if dim is not None and lanes.dim == dim:
        return lanes.value
    if dim is None:
        if lanes.dim is not None:
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"
            )
        return lanes.value
    return _moved(lanes.spread(level.size), dim)


def _moved(value: Tensor, dim: int) -> Tensor:
    extent = value.dim()
    if not -extent <= dim < extent:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-extent}, {extent - 1}], but got {dim})"
        )
    return value.movedim(0, dim) if dim else value


def _in_chunks(
    func: Callable[..., Any], inputs: _Inputs, out_dims: OutDims, randomness: str, chunk_size: int,
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """The lanes in groups of `chunk_size`, and their results joined."""
    split = [
        [leaf] if dim is None else list(leaf.split(chunk_size, dim))
        for leaf, dim in zip(inputs.flat, inputs.dims, strict=True)
    ]
    count = max(len(parts) for parts in split)
    results, structure = [], None
    started_at = default_generator.get_state() if randomness == "same" else None
    for index in range(count):
        if started_at is not None:
            default_generator.set_state(started_at)
        flat = [parts[index] if len(parts) == count else parts[0] for parts in split]
        size = min(chunk_size, inputs.size - index * chunk_size)
        result = _mapped_once(func, size, flat, inputs, out_dims, randomness, kwargs)
        leaves, structure = tree_flatten(result)
        results.append(leaves)
    assert structure is not None
    dims = broadcast_to_and_flatten(out_dims, structure) or [out_dims] * structure.num_leaves
    return tree_unflatten(
        [_joined(list(c), d) for c, d in zip(zip(*results, strict=True), dims, strict=True)], structure
    )


def _joined(parts: list[Any], dim: int | None) -> Any:
    return parts[0] if dim is None else find_overload("cat").call(parts, dim)
