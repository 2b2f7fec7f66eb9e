"""Shape rules of resizing."""

from __future__ import annotations

from typing import Any

from ..dispatch.registry import register_shape_rule as shape_rule
from ..layout import strides_like
from ..spec import Spec

Ints = tuple[int, ...]


def _checked(shape: Ints, output_size: Ints, spatial: int) -> Ints:
    """Shape (N, C, *output_size) of an input (N, C, *S) resized.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if len(output_size) != spatial:
        raise RuntimeError(f"It is expected output_size equals to {spatial}, but got size {len(output_size)}")
    if len(shape) != spatial + 2:
        raise RuntimeError(f"It is expected input_size equals to {spatial + 2}, but got size {len(shape)}")
    if any(n <= 0 for n in (*shape[2:], *output_size)):
        joint = "and " if spatial == 1 else ""
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {_sizes(shape[2:])} {joint}output "
            f"{_sizes(output_size)}"
        )
    return (*shape[:2], *output_size)


def _sizes(sizes: Ints) -> str:
    letters = ("D", "H", "W")[-len(sizes) :]
    return "(" + ", ".join(f"{letter}: {n}" for letter, n in zip(letters, sizes, strict=True)) + ")"


def _declare(name: str, spatial: int, any_layout: bool = True) -> None:
    """Rules of an operator and of its derivative, which may be row-major whatever its argument suggests."""

    def forward(self: Any, output_size: Ints, *rest: Any) -> Spec:
        """self (N, C, *S) -> (N, C, *output_size)."""
        shape = _checked(tuple(self._array.shape), tuple(output_size), spatial)
        if shape[1] == 0:
            raise RuntimeError(
                f"Non-empty {spatial + 2}D data tensor expected but got a tensor with sizes {list(self.shape)}"
            )
        return Spec(shape, self._dtype, strides_like(self, shape))

    def backward(grad_output: Any, output_size: Ints, input_size: Ints, *rest: Any) -> Spec:
        """grad_output (N, C, *output_size) -> `input_size`, (N, C, *S)."""
        shape = _checked(tuple(input_size), tuple(output_size), spatial)
        given = tuple(grad_output._array.shape)
        if len(given) != len(shape):
            raise RuntimeError(
                f"Expected grad_output to be a tensor of dimension {spatial + 2} but got: dimension {len(given)}"
            )
        for i in range(len(shape)):
            if shape[i] != given[i]:
                raise RuntimeError(
                    "Expected grad_output to have the same shape as output; "
                    f"output.size({i}) = {shape[i]} but got grad_output.size({i}) = {given[i]}"
                )
        strides = strides_like(grad_output, tuple(input_size)) if any_layout else None
        return Spec(input_size, grad_output._dtype, strides)

    shape_rule(name)(forward)
    shape_rule(f"{name}_backward")(backward)


for _spatial in (1, 2, 3):
    _declare(f"upsample_nearest{_spatial}d", _spatial, _spatial < 3)
    _declare(f"_upsample_nearest_exact{_spatial}d", _spatial, _spatial < 3)
for _name, _spatial in (("linear1d", 1), ("bilinear2d", 2), ("trilinear3d", 3)):
    _declare(f"upsample_{_name}", _spatial)
_declare("upsample_bicubic2d", 2, any_layout=False)
_declare("_upsample_bilinear2d_aa", 2)
_declare("_upsample_bicubic2d_aa", 2, any_layout=False)
_declare("_upsample_lanczos2d_aa", 2, any_layout=False)
