"""Views that copy: each is its view operator followed by `clone`."""

from __future__ import annotations

from .view import family

#: name -> schema after the name; results follow the view operator's.
COPIES = {
    "view": ("(Tensor self, int[] size)", "Tensor"),
    "view.dtype": ("(Tensor self, ScalarType dtype)", "Tensor"),
    "transpose.int": ("(Tensor self, int dim0, int dim1)", "Tensor"),
    "permute": ("(Tensor self, int[] dims)", "Tensor"),
    "t": ("(Tensor self)", "Tensor"),
    "expand": ("(Tensor self, int[] size, *, bool implicit=False)", "Tensor"),
    "squeeze": ("(Tensor self)", "Tensor"),
    "squeeze.dim": ("(Tensor self, int dim)", "Tensor"),
    "squeeze.dims": ("(Tensor self, int[] dim)", "Tensor"),
    "unsqueeze": ("(Tensor self, int dim)", "Tensor"),
    "select.int": ("(Tensor self, int dim, int index)", "Tensor"),
    "slice.Tensor": ("(Tensor self, int dim=0, int? start=None, int? end=None, int step=1)", "Tensor"),
    "as_strided": ("(Tensor self, int[] size, int[] stride, int? storage_offset=None)", "Tensor"),
    "diagonal": ("(Tensor self, int offset=0, int dim1=0, int dim2=1)", "Tensor"),
    "unfold": ("(Tensor self, int dimension, int size, int step)", "Tensor"),
    "alias": ("(Tensor self)", "Tensor"),
    "detach": ("(Tensor self)", "Tensor"),
    "lift_fresh": ("(Tensor self)", "Tensor"),
    "view_as_real": ("(Tensor self)", "Tensor"),
    "view_as_complex": ("(Tensor self)", "Tensor"),
    "_conj": ("(Tensor self)", "Tensor"),
    "_neg_view": ("(Tensor self)", "Tensor"),
    "unbind.int": ("(Tensor self, int dim=0)", "Tensor[]"),
    "split.Tensor": ("(Tensor self, int split_size, int dim=0)", "Tensor[]"),
    "split_with_sizes": ("(Tensor self, int[] split_sizes, int dim=0)", "Tensor[]"),
}


def copy_name(view: str) -> str:
    """``transpose.int`` to ``transpose_copy.int``."""
    packet, dot, overload = view.partition(".")
    return f"{packet}_copy{dot}{overload}"


#: The ``out=`` forms of several copies.
_LISTS = {"split.Tensor": "Tensor_out", "unbind.int": "int_out", "split_with_sizes": "out"}

for _view, (_arguments, _returns) in COPIES.items():
    _variants = "" if _view == "lift_fresh" else "function"
    family.composite(f"{copy_name(_view)}{_arguments} -> {_returns}", variants=_variants, out=_LISTS.get(_view, True),
                  exact_out=_view != "split.Tensor", resizes_first=_view not in _LISTS,
                  doc=f"A copy of what `{_view.partition('.')[0]}` views.")  # fmt: skip
family.composite(
    "narrow_copy(Tensor self, int dim, int start, int length) -> Tensor",
    out=True,
    exact_out="Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be improved?  "
    "If so, please report an enhancement request to PyTorch.)",
    doc="A copy of what `narrow` views.",
)
