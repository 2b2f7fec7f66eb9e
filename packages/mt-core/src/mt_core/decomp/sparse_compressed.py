"""Compressed rows and columns (CSR, CSC): making them, and what they consist of."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import find_overload
from ..dispatch.registry import register_composite as composite
from ..formats import sparse_csc, sparse_csr
from ..sparse.tensors import Compressed, compressed, layout_name
from ..tensor import Tensor
from .sparse import placed

_LAYOUTS = (sparse_csr, sparse_csc)


def _part(name: str, tensor: Tensor, wanted: Any, part: str) -> Tensor:
    array = tensor._array
    if not isinstance(array, Compressed) or array.layout is not wanted:
        kind = "row" if wanted is sparse_csr else "column"
        raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got {layout_name(tensor)}")
    return getattr(array, part).detach()  # type: ignore[no-any-return]


@composite("crow_indices", explicit=True)
def crow_indices(self: Tensor) -> Tensor:
    return _part("crow_indices", self, sparse_csr, "pointers")


@composite("col_indices", explicit=True)
def col_indices(self: Tensor) -> Tensor:
    return _part("col_indices", self, sparse_csr, "plain")


@composite("ccol_indices", explicit=True)
def ccol_indices(self: Tensor) -> Tensor:
    return _part("ccol_indices", self, sparse_csc, "pointers")


@composite("row_indices", explicit=True)
def row_indices(self: Tensor) -> Tensor:
    return _part("row_indices", self, sparse_csc, "plain")


def _least_size(pointers: Tensor, plain: Tensor, values: Tensor, laid_out: Any) -> list[int]:
    lines = int(pointers.shape[-1]) - 1
    other = int(plain.max()) + 1 if plain.numel() else 0
    matrix = [lines, other] if laid_out is sparse_csr else [other, lines]
    return [*plain.shape[:-1], *matrix, *values.shape[plain.ndim :]]


def _check(pointers: Tensor, plain: Tensor, values: Tensor, size: Any) -> None:
    """Refuse parts that do not go together, in PyTorch's words where it refuses them.

    Raises
    ------
    RuntimeError
    """
    if pointers.ndim != plain.ndim:
        raise RuntimeError(
            "compressed_indices and plain_indices dimensionalities must be equal but got "
            f"{pointers.ndim} and {plain.ndim}, respectively"
        )
    if pointers.ndim < 1:
        raise RuntimeError("compressed_indices must have dimensionality >= 1 but got 0")
    dense = values.ndim - plain.ndim
    if len(size) != plain.ndim - 1 + 2 + dense:
        raise RuntimeError(
            "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
            f"(={plain.ndim - 1} + 2 + {dense}) but got {len(size)}"
        )
    if tuple(values.shape[: plain.ndim]) != tuple(plain.shape):
        raise RuntimeError(
            f"values and plain_indices must have the same batch sizes and number of values, got {list(values.shape)} "
            f"and {list(plain.shape)}"
        )


@composite("_sparse_compressed_tensor_unsafe", explicit=True)
def _unsafe(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Any, dtype: Any, layout: Any, device: Any,
    pin_memory: Any,
) -> Tensor:  # fmt: skip
    """The tensors themselves lie behind the new one, detached."""
    if layout not in _LAYOUTS:
        raise NotImplementedError(
            f"tensors of layout {layout!r} are not supported: compressed ones are torch.sparse_csr and torch.sparse_csc"
        )
    held = placed(values.detach(), dtype, device)
    pointers, plain = (part.detach().to(device=held.device) for part in (compressed_indices, plain_indices))
    return compressed(pointers, plain, held, size, layout)


@composite("sparse_compressed_tensor.comp_plain_value_size")
def sparse_compressed_tensor(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Any, dtype: Any, layout: Any, device: Any,
    pin_memory: Any,
) -> Tensor:  # fmt: skip
    if layout is None:
        raise RuntimeError("sparse_compressed_tensor expected sparse compressed tensor layout but got Strided")
    _check(compressed_indices, plain_indices, values, size)
    return find_overload("_sparse_compressed_tensor_unsafe").call(  # type: ignore[no-any-return]
        compressed_indices, plain_indices, values, list(size), dtype, layout, device, pin_memory
    )


@composite("sparse_compressed_tensor.comp_plain_value")
def sparse_compressed_tensor_of(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, dtype: Any, layout: Any, device: Any,
    pin_memory: Any,
) -> Tensor:  # fmt: skip
    size = _least_size(compressed_indices, plain_indices, values, layout)
    return sparse_compressed_tensor(compressed_indices, plain_indices, values, size, dtype, layout, device, pin_memory)


def _of_layout(names: str, wanted: Any) -> None:
    """Enter the constructors of one layout, with and without a size: the two above, told the layout."""

    def told(layout: Any) -> Any:
        if layout is not None and layout is not wanted:
            raise RuntimeError(f"expected layout {wanted!r}, but got {layout!r}")
        return wanted

    @composite(f"{names}_size")
    def sized(
        pointers: Tensor,
        plain: Tensor,
        values: Tensor,
        size: Any,
        dtype: Any,
        layout: Any,
        device: Any,
        pin_memory: Any,
    ) -> Tensor:
        return sparse_compressed_tensor(pointers, plain, values, size, dtype, told(layout), device, pin_memory)

    @composite(names)
    def least(
        pointers: Tensor, plain: Tensor, values: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any
    ) -> Tensor:
        return sparse_compressed_tensor_of(pointers, plain, values, dtype, told(layout), device, pin_memory)


_of_layout("sparse_csr_tensor.crow_col_value", sparse_csr)
_of_layout("sparse_csc_tensor.ccol_row_value", sparse_csc)
