"""Callables that carry an operator out on one backend, by the kind of its declaration.

`build` is called once per operator and key set; what it returns is the end of every dispatch: it takes the schema's
arguments positionally, hands arrays to the kernel, and wraps what comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from ..autograd_state import INFERENCE_VIEW, AutogradMeta
from ..block import block_of, set_geometry
from ..cell import Cell, cell_of
from ..dtypes import can_cast, cpp_type_name, scalar_type_name
from ..keys import AUTOGRAD, INFERENCE, META, MULTI_VIEW, NO_GRAD_VIEW, STRIDED
from ..spec import Spec, View, is_contiguous
from ..state import excluding, mode_triple, tls
from ..tensor import Tensor, new_tensor
from . import elementwise
from .memory import check_no_internal_overlap, check_no_partial_overlap
from .registry import COMPOSITES, META_RULES, KernelDef, Overload, find_overload, load_room

__all__ = ["build", "derived_form", "with_named_results", "write_result"]

new_object = object.__new__


def build(
    overload: Overload, kernel: KernelDef | None, backend: Any, key: int, coded: int
) -> Callable[..., Any] | None:
    """The executor of an operator on a backend; None where the backend lacks what it needs."""
    kind = overload.declaration.kind
    flags = mode_triple(coded)[2]
    if kind == "elementwise":
        if kernel is None and key != META:
            return None
        return elementwise.build(overload, kernel, backend, key | flags, strided=bool(coded & STRIDED))
    load_room("mt_core.meta", overload.family)
    rule = META_RULES.get(overload.name)
    if kind == "view":
        return _view(overload, rule, kernel, backend, _view_keys(key, coded), coded)
    if kernel is None and key != META:
        return None
    if overload.schema.is_mutable:
        return _mutating(overload, rule, kernel, backend)
    if kernel is not None and kernel.function is None:
        load_room("mt_core.decomp", overload.family)
        return _with_short_way(overload, kernel, COMPOSITES[overload.name].function, key | flags, backend, coded)
    if rule is None:
        return None
    if kind == "factory":
        return _factory(overload, rule, kernel, backend, key | flags)
    return _plain(overload, rule, kernel, backend, key | flags, coded)


# Plain operators


def _converter(overload: Overload, kernel: KernelDef, backend: Any) -> Callable[[tuple[Any, ...]], list[Any]]:
    """Arguments as the kernel takes them: arrays for tensors, half types widened where it asks for that."""
    singles, lists = overload.tensor_positions, overload.list_positions
    widen = kernel.half == "float32"
    cast = backend.cast

    def array_of(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        d = value._dtype
        return cast(value._array, d.compute) if widen and d.compute is not d else value._array

    def convert(args: tuple[Any, ...]) -> list[Any]:
        arrays = list(args)
        for i in singles:
            arrays[i] = array_of(args[i])
        for i in lists:
            if args[i] is not None:
                arrays[i] = [array_of(t) for t in args[i]]
        return arrays

    return convert


def _wrapper(backend: Any, keys: int) -> Callable[[Any, Spec], Tensor]:
    """(array, spec) -> tensor, converted to the spec's dtype and layout where the kernel left another."""
    array_type, as_array, cast, contiguous = backend.array_type, backend.as_array, backend.cast, backend.contiguous

    def wrap(array: Any, spec: Spec) -> Tensor:
        d = spec.dtype
        if array.__class__ is not array_type:
            array = as_array(array)
        if array.dtype is not d.np:
            array = cast(array, d)
        if spec.strides is not None and not is_contiguous(spec.shape, spec.strides):
            laid_out = backend.empty(spec.shape, d, spec.strides, None)
            backend.copy(laid_out, array)
            return new_tensor(laid_out, d, keys | STRIDED)
        return new_tensor(contiguous(array), d, keys)

    return wrap


def _plain(
    overload: Overload, rule: Any, kernel: KernelDef | None, backend: Any, keys: int, coded: int
) -> Callable[..., Any]:
    if kernel is None:
        return _shapes_only(rule, backend, keys)
    convert, wrap, function = _converter(overload, kernel, backend), _wrapper(backend, keys), kernel.function
    outputs = overload.schema.returns
    if len(outputs) == 1 and not outputs[0].is_list:

        def run_one(*args: Any) -> Tensor:
            spec = rule(*args)
            return wrap(tls.quiet(function, *convert(args)), spec)

        return run_one if kernel.short is None else _with_short_way(overload, kernel, run_one, keys, backend, coded)

    result_type = _result_type(overload)

    def run_many(*args: Any) -> Any:
        specs = rule(*args)
        arrays = tls.quiet(function, *convert(args))
        return result_type([wrap(a, s) if s is not None else None for a, s in zip(arrays, specs, strict=True)])

    return run_many


def _with_short_way(
    overload: Overload, kernel: KernelDef, general: Callable[..., Tensor], keys: int, backend: Any, coded: int
) -> Callable[..., Tensor]:
    """Try the kernel's short form where all tensors have one plain floating dtype; see `KernelDef.short`."""
    short, mixed = kernel.short, kernel.mixed
    if overload.list_positions:
        return _short_way_of_lists(overload, short, general, keys)
    positions = overload.tensor_positions
    array_type, as_array, contiguous = backend.array_type, backend.as_array, backend.contiguous

    def finish_row_major(array: Any, d: Any) -> Tensor:
        return new_tensor(array if array.__class__ is array_type else as_array(array), d, keys)

    def finish_any(array: Any, d: Any) -> Tensor:
        # Array libraries lay results out as their inputs are.
        return new_tensor(contiguous(array if array.__class__ is array_type else as_array(array)), d, keys)

    finish = finish_any if coded & STRIDED else finish_row_major

    def run_one(self: Tensor, *rest: Any) -> Tensor:
        d = self._dtype
        if d.native_real_float:
            array = tls.quiet(short, self._array, *rest)
            if array is not None:
                return finish(array, d)
        return general(self, *rest)

    def run_two(self: Tensor, other: Tensor, *rest: Any) -> Tensor:
        d = self._dtype
        if d.native_real_float and d is other._dtype:
            array = tls.quiet(short, self._array, other._array, *rest)
            if array is not None:
                return finish(array, d)
        return general(self, other, *rest)

    def run_any(*args: Any) -> Tensor:
        d = args[positions[0]]._dtype
        if d.native_real_float:
            arrays = list(args)
            for i in positions:
                tensor = args[i]
                if tensor is not None:
                    if tensor._dtype is not d and not (mixed and tensor._dtype.category < 2):
                        return general(*args)
                    arrays[i] = tensor._array
            array = tls.quiet(short, *arrays)
            if array is not None:
                return finish(array, d)
        return general(*args)

    required = [a for a in overload.schema.arguments if a.is_tensor and not a.optional]
    if not mixed and len(required) == len(positions) and positions in ((0,), (0, 1)):
        return run_one if positions == (0,) else run_two
    return run_any


def _short_way_of_lists(
    overload: Overload, short: Any, general: Callable[..., Tensor], keys: int
) -> Callable[..., Tensor]:
    """The same for an operator whose first argument is its only one with tensors, a list."""

    def run(tensors: list[Tensor], *rest: Any) -> Tensor:
        if not tensors:
            return general(tensors, *rest)
        d = tensors[0]._dtype
        if d.native:
            arrays = [t._array for t in tensors if t._dtype is d]
            if len(arrays) == len(tensors):
                array = tls.quiet(short, arrays, *rest)
                if array is not None:
                    return new_tensor(array, d, keys)
        return general(tensors, *rest)

    return run


def with_named_results(overload: Overload, function: Callable[..., Any]) -> Callable[..., Any]:
    """A composite, handing over what its schema says: a named tuple, or a tuple of views."""
    returns = overload.schema.returns
    several_views = len(returns) == 1 and returns[0].is_list and returns[0].alias is not None
    if not several_views and (len(returns) < 2 or returns[0].name is None):
        return function
    handed_over = _result_type(overload)
    return lambda *args: handed_over(function(*args))


def _result_type(overload: Overload) -> Callable[[list[Any]], Any]:
    """How several results are handed over: a list for ``Tensor[]``, a named tuple where the schema names them."""
    from ..return_types import result_type

    return result_type(overload.declaration)


def _shapes_only(rule: Any, backend: Any, keys: int) -> Callable[..., Any]:
    """The executor of the meta device: the rule, and arrays without data."""

    def make(spec: Spec | None) -> Tensor | None:
        if spec is None:
            return None
        strided = spec.strides is not None and not is_contiguous(spec.shape, spec.strides)
        array = backend.empty(spec.shape, spec.dtype, spec.strides, None)
        return new_tensor(array, spec.dtype, keys | STRIDED if strided else keys)

    def run(*args: Any) -> Any:
        made = rule(*args)
        if isinstance(made, Spec):
            return make(made)
        return type(made)(make(s) for s in made) if type(made) in (list, tuple) else tuple(make(s) for s in made)

    return run


def _factory(overload: Overload, rule: Any, kernel: KernelDef | None, backend: Any, keys: int) -> Callable[..., Any]:
    """A factory's kernel gets the spec last, in place of dtype, layout, device and pin_memory."""
    if kernel is None:
        return _shapes_only(rule, backend, keys)
    arguments = overload.schema.arguments
    dropped = {i for i, a in enumerate(arguments) if a.name in ("dtype", "layout", "device", "pin_memory")}
    kept = [i for i in range(len(arguments)) if i not in dropped]
    device_at = next((i for i, a in enumerate(arguments) if a.name == "device"), None)
    convert, wrap, function = _converter(overload, kernel, backend), _wrapper(backend, keys), kernel.function

    def run(*args: Any) -> Tensor:
        spec = rule(*args)
        spec.device = args[device_at] if device_at is not None else None
        arrays = convert(args)
        return wrap(tls.quiet(function, *[arrays[i] for i in kept], spec), spec)

    return run


# In-place kernels


def _mutating(overload: Overload, rule: Any, kernel: KernelDef | None, backend: Any) -> Callable[..., Any]:
    """A kernel that writes into its arguments; each written tensor's version is counted, and the first is returned."""
    written = [i for i, a in enumerate(overload.schema.arguments) if a.writes]
    convert = _converter(overload, kernel, backend) if kernel is not None else None
    results = len(overload.schema.returns)

    def run(*args: Any) -> Any:
        if rule is not None:
            rule(*args)
        for i in written:
            if args[i] is not None:
                check_no_internal_overlap(args[i])
        if kernel is not None and convert is not None:
            tls.quiet(kernel.function, *convert(args))
        for i in written:
            if args[i] is not None:
                cell_of(args[i]).version += 1
        if results == 0:
            return None
        return args[written[0]] if results == 1 else tuple(args[i] for i in written)

    return run


# Views


def _view(
    overload: Overload, rule: Any, kernel: KernelDef | None, backend: Any, keys: int, coded: int
) -> Callable[..., Any] | None:
    if rule is None:
        return None
    if kernel is not None and kernel.row_major and coded & STRIDED:
        kernel = None
    make = _view_maker(overload, rule, kernel, backend, keys)
    _, excluded, flags = mode_triple(coded)
    unrecorded = excluded & AUTOGRAD and (coded & AUTOGRAD or flags & INFERENCE and not coded & INFERENCE)
    return _cut_off(make, coded) if unrecorded else make


def _view_keys(key: int, coded: int) -> int:
    """Key bits of a view: the flags of what it is a view of, and whether it was made without recording.

    A view made without recording still requires grad if its base does, as in PyTorch; only its gradient goes nowhere.
    """
    keys = key | coded & (INFERENCE | NO_GRAD_VIEW | MULTI_VIEW)
    return keys | NO_GRAD_VIEW | coded & AUTOGRAD if mode_triple(coded)[1] & AUTOGRAD else keys


def _cut_off(make: Callable[..., Any], coded: int) -> Callable[..., Any]:
    """Views, made without recording, of a tensor that requires grad: they remember the version they were made at."""
    creation_meta = INFERENCE_VIEW if mode_triple(coded)[2] & INFERENCE else None

    def run(self: Tensor, *args: Any) -> Any:
        made = make(self, *args)
        for view in made if isinstance(made, (list, tuple)) else (made,):
            state = view._autograd = AutogradMeta()
            state.attr_version = view._cell.version
            state.creation_meta = creation_meta
        return made

    return run


def _view_maker(overload: Overload, rule: Any, kernel: KernelDef | None, backend: Any, keys: int) -> Callable[..., Any]:
    many = overload.schema.returns[0].is_list or len(overload.schema.returns) > 1
    if many:
        return _several_views(rule, backend, keys | MULTI_VIEW)

    def general(self: Tensor, *args: Any) -> Tensor:
        return make_view(self, rule(self, *args), backend, keys)

    if kernel is None:
        return general
    return _fast_view(general, kernel, keys, len(overload.schema.arguments))


def _fast_view(general: Callable[..., Tensor], kernel: KernelDef, keys: int, arguments: int) -> Callable[..., Tensor]:
    """A backend's own view kernel: array -> array, or None to have the general rule decide (and raise)."""
    function, row_major, strided = kernel.function, kernel.row_major, keys | STRIDED
    # What `new_tensor` and `link_view` do, written out: views are the most frequent calls, and half their time is
    # calling.

    def finish(self: Tensor, array: Any) -> Tensor:
        cell = self._cell
        if cell is None:
            cell = self._cell = Cell(self)
        out = new_object(Tensor)
        out._array = array
        out._dtype = self._dtype
        out._keys = keys if row_major or array.flags.c_contiguous else strided
        out._autograd = None
        out._cell = cell
        base = self._base
        out._base = self if base is None else base
        members = cell.members
        members.append(ref(out))
        if len(members) > cell.sweep_at:
            cell.sweep()
        return out

    def run_one(self: Tensor, first: Any) -> Tensor:
        array = function(self._array, first)
        return general(self, first) if array is None else finish(self, array)

    def run_two(self: Tensor, first: Any, second: Any) -> Tensor:
        array = function(self._array, first, second)
        return general(self, first, second) if array is None else finish(self, array)

    def run(self: Tensor, *args: Any) -> Tensor:
        array = function(self._array, *args)
        return general(self, *args) if array is None else finish(self, array)

    return run_one if arguments == 2 else run_two if arguments == 3 else run


def make_view(self: Tensor, view: View, backend: Any, keys: int) -> Tensor:
    """The tensor of a `View` on `self`'s memory."""
    owner = block_of(self).owner
    d = view.dtype or self._dtype
    size = d.itemsize
    array = backend.as_strided(owner, view.shape, tuple(s * size for s in view.strides), view.offset * size, d)
    out = new_tensor(array, d, keys if is_contiguous(view.shape, view.strides) else keys | STRIDED)
    return link_view(out, self)


def link_view(out: Tensor, base: Tensor) -> Tensor:
    """Enter `out` as a view of `base`: one version, one storage."""
    cell = cell_of(base)
    out._cell = cell
    out._base = base if base._base is None else base._base
    cell.add(out)
    return out


def _several_views(rule: Any, backend: Any, keys: int) -> Callable[..., Any]:
    def run(self: Tensor, *args: Any) -> Any:
        views = rule(self, *args)
        return tuple(make_view(self, view, backend, keys) for view in views)

    return run


# Derived forms


def derived_form(overload: Overload, key: int, coded: int) -> Callable[..., Any] | None:
    """An in-place or out= form made from the functional one, or a functional form made from an in-place kernel."""
    from .dispatcher import kernel_for

    declaration = overload.declaration
    if declaration.form == "inplace":
        functional = find_overload(declaration.functional or "")
        if declaration.kind == "view":
            return _inplace_view(functional)
        if declaration.kind == "elementwise":
            return _elementwise_inplace(overload, functional, key, coded)
        return _inplace_from_functional(functional)
    if declaration.form == "out":
        return _out_from_functional(overload, find_overload(declaration.functional or ""))
    if declaration.inplace is not None and kernel_for(declaration.inplace, overload.family, key) is not None:
        return _functional_from_inplace(find_overload(declaration.inplace))
    return None


def _inplace_view(functional: Overload) -> Callable[..., Any] | None:
    """``transpose_`` and its kin: the tensor itself gets the view's geometry, on the same memory."""
    load_room("mt_core.meta", functional.family)
    rule = META_RULES.get(functional.name)
    if rule is None:
        return None

    def run(self: Tensor, *args: Any) -> Tensor:
        view = rule(self, *args)
        set_geometry(self, view.shape, view.strides, view.offset)
        cell_of(self).version += 1
        return self

    return run


def _elementwise_inplace(overload: Overload, functional: Overload, key: int, coded: int) -> Callable[..., Any] | None:
    from .dispatcher import backend_for, kernel_for

    kernel = kernel_for(functional.name, functional.family, key)
    if kernel is None and key != META:
        load_room("mt_core.decomp", functional.family)
        if functional.name in COMPOSITES:
            return _inplace_from_functional(functional)
        return None
    return elementwise.build_inplace(overload, kernel, backend_for(key), strided=bool(coded & STRIDED))


def _inplace_from_functional(functional: Overload) -> Callable[..., Any]:
    """Compute aside, check as PyTorch does, then copy into the first argument."""

    def run(self: Tensor, *args: Any) -> Tensor:
        check_no_internal_overlap(self)
        with excluding(AUTOGRAD):
            result = functional.call(self, *args)
            check_castable(result._dtype, self._dtype)
            if result.shape != self.shape:
                raise RuntimeError(
                    f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(result.shape)}"
                )
            return self.copy_(result)

    return run


def _functional_from_inplace(inplace: Overload) -> Callable[..., Any]:
    def run(self: Tensor, *args: Any) -> Tensor:
        with excluding(AUTOGRAD):
            return inplace.call(self.clone(), *args)

    return run


def check_castable(result: Any, target: Any) -> None:
    """Raise PyTorch's RuntimeError unless a result of one dtype may be written to a tensor of the other."""
    if result is not target and not can_cast(result, target):
        raise RuntimeError(
            f"result type {scalar_type_name(result)} can't be cast to the desired output type "
            f"{scalar_type_name(target)}"
        )


def _out_from_functional(overload: Overload, functional: Overload) -> Callable[..., Any]:
    """Compute aside, then write into ``out``; the inputs may be the output."""
    arguments = overload.schema.arguments
    outs = [i for i, a in enumerate(arguments) if a.writes]
    rest = [i for i, a in enumerate(arguments) if not a.writes]
    elementwise_kind = overload.declaration.kind == "elementwise"
    tensors = [i for i in overload.tensor_positions if i not in outs]
    exact = overload.declaration.exact_out

    def run(*args: Any) -> Any:
        if elementwise_kind:
            for i in tensors:
                if isinstance(args[i], Tensor):
                    check_no_partial_overlap(args[outs[0]], args[i])
        with excluding(AUTOGRAD):
            results = functional.call(*[args[i] for i in rest])
            if exact:
                for i, result in zip(outs, (results,) if len(outs) == 1 else results, strict=True):
                    _check_exact(args[i], result, exact)
            if len(outs) == 1:
                return write_result(args[outs[0]], results)
            for i, result in zip(outs, results, strict=True):
                check_out(args[i], result)
            for i, result in zip(outs, results, strict=True):
                write_result(args[i], result)
        return _result_type(overload)([args[i] for i in outs])

    return run


def _check_exact(out: Tensor, result: Tensor, message: str) -> None:
    """Refuse an ``out`` of another dtype or with shared elements where the operator does (`Declaration.exact_out`)."""
    if out._dtype is not result._dtype:
        raise RuntimeError(
            message.format(
                out=scalar_type_name(out._dtype),
                expected=scalar_type_name(result._dtype),
                cpp_out=cpp_type_name(out._dtype),
                cpp_expected=cpp_type_name(result._dtype),
            )
        )
    check_no_internal_overlap(out)


def check_out(out: Tensor, result: Tensor) -> None:
    """Refuse, before anything is written, an ``out`` of a dtype or device that cannot take the result."""
    check_castable(result._dtype, out._dtype)
    if out.device != result.device:
        raise RuntimeError(f"Expected out tensor to have device {result.device}, but got {out.device} instead")


def write_result(out: Tensor, result: Tensor) -> Tensor:
    """Give ``out`` the result's shape (with PyTorch's warning where it was not empty) and elements."""
    check_out(out, result)
    if out.shape != result.shape:
        if out.numel():
            import warnings

            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which "
                "does not match "
                f"the required output shape {list(result.shape)}. This behavior is deprecated, and in a future PyTorch "
                "release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
                "out tensor "
                "t by resizing it, inplace, to zero elements with t.resize_(0).",
                stacklevel=3,
            )
        out.resize_(result.shape)
    check_no_internal_overlap(out)
    return out.copy_(result)
