"""Executors of views: a shape rule gives the geometry, the memory is the base's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from ..autograd_state import AutogradState, Creation
from ..block import block_of, mark_layout, set_geometry, share_block
from ..cell import Cell, cell_of
from ..keys import (
    AUTOGRAD,
    CONJUGATE,
    CPU,
    FLAGS,
    INFERENCE,
    KEY_MASK,
    MULTI_VIEW,
    NEGATIVE,
    NO_GRAD_VIEW,
    OTHER_INDEX,
    STRIDED,
)
from ..spec import View, is_contiguous
from ..state import mode_triple, tls
from ..tensor import Tensor, new_tensor
from .kernel import Kernel
from .lookup import backend_for
from .registry import Overload

__all__ = ["adopt_geometry", "as_view", "basic_index", "build", "link_view", "make_view", "set_geometry", "view_keys"]

Callee = Callable[..., Any]

new_object = object.__new__


def build(
    overload: Overload, rule: Callee | None, kernels: list[Kernel], otherwise: Callee | None, backend: Any, key: int,
    call_keys: int,
) -> Callee | None:  # fmt: skip
    """The executor of a view; None where there is neither a shape rule nor a kernel."""
    kernels = [k for k in kernels if not (call_keys & STRIDED and k.accepts.layout == "row_major")]
    if rule is None and not kernels:
        return None
    keys = view_keys(key, call_keys)
    if any(argument.type == "ScalarType" for argument in overload.schema.arguments):
        keys &= ~AUTOGRAD  # elements read in a dtype of the caller's choice have no derivative, recorded or not
    make = _maker(overload, rule or otherwise or _no_rule(overload), kernels, backend, keys)
    return _cut_off(make, call_keys) if _is_unrecorded(call_keys) else make


def _no_rule(overload: Overload) -> Callee:
    def refuse(*args: Any) -> Any:
        raise NotImplementedError(f"no kernel of {overload.qualified_name} takes this call, and it has no shape rule")

    return refuse


def view_keys(key: int, call_keys: int) -> int:
    """Key bits of a view: the flags of what it is a view of, and whether it was made without recording.

    How elements are read (conjugate, negative) passes on. A view made without recording still requires grad if its base
    does, as in PyTorch; only its gradient goes nowhere. Not so in inference mode, whose tensors have no
    views to PyTorch.
    """
    passed_on = INFERENCE | NO_GRAD_VIEW | MULTI_VIEW | OTHER_INDEX | CONJUGATE | NEGATIVE
    keys = key | call_keys & passed_on
    if call_keys & INFERENCE:
        return keys
    return keys | NO_GRAD_VIEW | call_keys & AUTOGRAD if mode_triple(call_keys)[1] & AUTOGRAD else keys


def _is_unrecorded(call_keys: int) -> bool:
    """Whether a view is cut off from the history of its base.

    That is so where recording is switched off and there would be something to record, or where inference mode makes a
    view of a tensor that was made outside of it.
    """
    _, excluded, flags = mode_triple(call_keys)
    if not excluded & AUTOGRAD:
        return False
    normal_in_inference = flags & INFERENCE and not call_keys & INFERENCE
    return bool(call_keys & AUTOGRAD or normal_in_inference)


def _cut_off(make: Callee, call_keys: int) -> Callee:
    """Views, made without recording, of a tensor that requires grad: they remember the version they were made at.

    Whether they require grad is asked of the base of all: of a leaf that is a view itself, it is not the leaf.
    """
    creation = Creation.IN_INFERENCE_MODE if mode_triple(call_keys)[2] & INFERENCE else None

    def run(self: Tensor, *args: Any) -> Any:
        made = make(self, *args)
        base = self._base
        for view in made if isinstance(made, (list, tuple)) else (made,):
            if base is not None and not base._keys & AUTOGRAD:
                view._keys &= ~AUTOGRAD
            state = view._autograd = AutogradState()
            state.attr_version = view._cell.version
            state.creation = creation
        return made

    return run


def _maker(overload: Overload, rule: Callee, kernels: list[Kernel], backend: Any, keys: int) -> Callee:
    many = overload.schema.returns[0].is_list or len(overload.schema.returns) > 1

    def general(self: Tensor, *args: Any) -> Any:
        views = rule(self, *args)
        if many:
            return tuple(make_view(self, view, backend, keys | MULTI_VIEW) for view in views)
        return make_view(self, views, backend, keys)

    for kernel in reversed(kernels):
        if many:
            general = _several(overload, general, kernel, backend, keys | MULTI_VIEW)
        else:
            general = _one(overload, general, kernel, backend, keys)
    return general


def _one(overload: Overload, general: Callee, kernel: Kernel, backend: Any, keys: int) -> Callee:
    """A kernel, array -> array; it returns None to have what comes after it decide, which also raises."""
    if kernel.accepts.everything() or kernel.accepts.layout == "row_major" and not kernel.accepts.dtypes:
        return _fast_view(general, kernel, backend, keys, len(overload.schema.arguments))
    function, schema = kernel.function, overload.schema

    def run(self: Tensor, *args: Any) -> Any:
        array = function(self._array, *args) if kernel.accepts.takes(schema, (self, *args)) else None
        return general(self, *args) if array is None else as_view(array, self, backend, keys)

    return run


def _several(overload: Overload, general: Callee, kernel: Kernel, backend: Any, keys: int) -> Callee:
    """A kernel, array -> arrays, or None as in `_one`."""
    function, schema = kernel.function, overload.schema
    takes_all, finish = kernel.accepts.everything(), _finisher(kernel, backend, keys)

    def run(self: Tensor, *args: Any) -> Any:
        arrays = function(self._array, *args) if takes_all or kernel.accepts.takes(schema, (self, *args)) else None
        if arrays is None:
            return general(self, *args)
        return tuple([finish(self, array) for array in arrays])

    executors = getattr(backend, "executors", None)
    if executors is None or keys & INFERENCE or not takes_all:
        return run
    return executors.view(run, function, keys, keys | STRIDED)  # type: ignore[no-any-return]


def _fast_view(general: Callee, kernel: Kernel, backend: Any, keys: int, arguments: int) -> Callee:
    """The shortest way to a view of one array."""
    function, finish = kernel.function, _finisher(kernel, backend, keys)

    def run_one(self: Tensor, first: Any) -> Any:
        array = function(self._array, first)
        return general(self, first) if array is None else finish(self, array)

    def run_two(self: Tensor, first: Any, second: Any) -> Any:
        array = function(self._array, first, second)
        return general(self, first, second) if array is None else finish(self, array)

    def run(self: Tensor, *args: Any) -> Any:
        array = function(self._array, *args)
        return general(self, *args) if array is None else finish(self, array)

    plain = run_one if arguments == 2 else run_two if arguments == 3 else run
    executors = getattr(backend, "executors", None)
    if executors is None or keys & INFERENCE:
        return plain
    return executors.view(plain, function, keys, keys | STRIDED)  # type: ignore[no-any-return]


def basic_index(call_keys: int) -> Callable[[Tensor, Any], Tensor | None]:
    """(tensor, index) -> the view that integers, slices, None and Ellipsis pick, in one step where nobody watches any.

    It returns None where operators one after the other are to decide: for other indices and for what they refuse.
    """
    executors = getattr(backend_for(CPU), "executors", None)
    include, _, flags = mode_triple(call_keys)
    if executors is None or (call_keys & KEY_MASK) & ~(FLAGS & ~INFERENCE) != CPU or include or flags:
        return _no_view
    keys = view_keys(CPU, call_keys)
    return executors.view(_no_view, executors.basic_index, keys, keys | STRIDED)  # type: ignore[no-any-return]


def _no_view(self: Tensor, index: Any) -> None:
    return None


def _finisher(kernel: Kernel, backend: Any, keys: int) -> Callable[[Tensor, Any], Tensor]:
    """(base, array on its memory) -> view; `keys` are those of a contiguous one."""
    strided = keys | STRIDED
    row_major = kernel.accepts.layout == "row_major"
    contiguous = contiguity_of(backend)
    # What `new_tensor` and `link_view` do, written out: views are the most frequent calls, and half their time is
    # calling.

    def finish(self: Tensor, array: Any) -> Tensor:
        cell = self._cell
        if cell is None:
            cell = self._cell = Cell(self)
        out = new_object(Tensor)
        out._array = array
        out._dtype = self._dtype
        out._keys = keys if row_major or contiguous(array) else strided
        out._autograd = None
        out._cell = cell
        base = self._base
        out._base = self if base is None else base
        members = cell.members
        members.append(ref(out))
        if len(members) > cell.sweep_at:
            cell.sweep()
        return out

    def finish_inference(self: Tensor, array: Any) -> Tensor:
        return link_view(new_tensor(array, self._dtype, keys if contiguous(array) else strided), self)

    return finish_inference if keys & INFERENCE else finish


def contiguity_of(backend: Any) -> Callable[[Any], bool]:
    """A backend's own test for row-major layout, else one by shape and strides."""
    return getattr(backend, "is_contiguous", None) or _is_row_major


def _is_row_major(array: Any) -> bool:
    size = array.itemsize or 1
    return is_contiguous(tuple(array.shape), tuple(step // size for step in array.strides))


def as_view(array: Any, base: Tensor, backend: Any, keys: int) -> Tensor:
    """The tensor of an array on the base's memory, in the base's dtype."""
    made = new_tensor(array, base._dtype, keys if contiguity_of(backend)(array) else keys | STRIDED)
    return link_view(made, base)


def make_view(self: Tensor, view: View, backend: Any, keys: int) -> Tensor:
    """The tensor of a `View` on `self`'s memory."""
    keys ^= view.toggled
    if view.toggled and 0 not in view.shape:  # an array without elements may have forgotten its strides
        return link_view(new_tensor(self._array, self._dtype, keys | self._keys & STRIDED), self)
    d = view.dtype or self._dtype
    own = getattr(backend, "view", None)
    if own is not None:
        array = own(self._array, view.shape, view.strides, view.offset, d)
    else:
        size = d.itemsize
        in_bytes = tuple(s * size for s in view.strides)
        array = backend.as_strided(block_of(self).owner, view.shape, in_bytes, view.offset * size, d)
    out = new_tensor(array, d, keys if is_contiguous(view.shape, view.strides) else keys | STRIDED)
    if view.own:
        return _own_tensor(out, self)
    return link_view(out, self)


def _own_tensor(out: Tensor, base: Tensor) -> Tensor:
    """Enter `out` as a tensor of its own on the base's memory: whether it is an inference tensor, the mode says."""
    block_of(base)  # which finds its memory by a base, and `out` has none
    if not base._keys & INFERENCE and not tls.inference:
        link_view(out, base)._base = None
        return out
    out._keys = out._keys & ~INFERENCE | (INFERENCE if tls.inference else 0)
    share_block(out, base)
    return out


def link_view(out: Tensor, base: Tensor) -> Tensor:
    """Enter `out` as a view of `base`: one version, one storage. Inference tensors are nobody's base, as in PyTorch."""
    cell = cell_of(base)
    out._cell = cell
    if base._keys & INFERENCE:
        block_of(base)  # which finds its memory by a base, and `out` has none
    else:
        out._base = base if base._base is None else base._base
    cell.add(out)
    return out


def adopt_geometry(tensor: Tensor, array: Any, backend: Any) -> None:
    """Let a tensor be another window of its own memory."""
    block_of(tensor)
    tensor._array = array
    mark_layout(tensor, contiguity_of(backend)(array))
