"""Forms that derive from another form of the operator.

In place and ``out=`` follow from the functional form, the functional one from an in-place kernel.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..block import set_geometry
from ..cell import cell_of
from ..declarations._declare import EXPECTED_OUT
from ..determinism import DETERMINISM, filler_of
from ..dtypes import cpp_type_name
from ..keys import AUTOGRAD, META, STRIDED
from ..return_types import result_type
from ..spec import Spec, is_contiguous
from ..state import excluding
from ..tensor import Tensor
from . import composed, elementwise, elementwise_paths
from .executors import chosen, describer, widened_dtype
from .kernel import Kernel, quiet
from .lookup import backend_for, composite_of, kernels_of
from .memory import apart_check, check_no_internal_overlap, check_no_partial_overlap, overlap_guard, share_memory
from .refused_outs import check_of_outs, ready_before_refusal, words_of
from .registry import SHAPE_RULES, Overload, find_overload, load_family
from .writing import (
    check_count,
    check_exact,
    check_inplace_result,
    check_out,
    check_shape,
    layout_of,
    resize_out,
    take_shape,
    write_result,
)

__all__ = ["form_of", "inplace_of_composite"]

Callee = Callable[..., Any]


def form_of(overload: Overload, key: int, call_keys: int) -> Callee | None:
    """The form of an operator that a backend has no kernel for, made from another form; None where there is none."""
    declaration = overload.declaration
    if declaration.form == "functional":
        inplace = declaration.inplace
        if inplace is None or not kernels_of(find_overload(inplace), key):
            return None
        return _functional_from_inplace(find_overload(inplace))
    functional = find_overload(declaration.functional or "")
    kernels = kernels_of(functional, key)
    if declaration.form == "out":
        return _out_form(overload, functional, kernels, key, call_keys)
    if declaration.kind == "view":
        return _inplace_view(overload, functional)
    if declaration.kind == "elementwise" and (kernels or key == META):
        return _elementwise_inplace(overload, functional, kernels, key, call_keys)
    stand_in = composed.standing_in(functional)
    if declaration.kind == "elementwise" and stand_in is not None:
        return composed.build_inplace(overload, stand_in, backend_for(key))
    if declaration.kind == "elementwise" and composite_of(functional) is None:
        return None
    return _inplace_from_functional(overload, functional)


# In place


def _elementwise_inplace(
    overload: Overload, functional: Overload, kernels: list[Kernel], key: int, call_keys: int
) -> Callee:
    return elementwise_paths.build_inplace(overload, functional, kernels, backend_for(key), call_keys)


def _inplace_view(overload: Overload, functional: Overload) -> Callee | None:
    """``transpose_`` and its kin: the tensor itself gets the view's geometry, on the same memory."""
    load_family("mt_core.shape_rules", functional.family)
    rule = SHAPE_RULES.get(overload.name) or SHAPE_RULES.get(functional.name)
    if rule is None:
        return None

    def run(self: Tensor, *args: Any) -> Tensor:
        view = rule(self, *args)
        set_geometry(self, view.shape, view.strides, view.offset)
        cell_of(self).version += 1
        return self

    return run


def _inplace_from_functional(overload: Overload, functional: Overload) -> Callee:
    """Compute aside, check as PyTorch does, then copy into the first argument."""
    guard = overlap_guard(overload.declaration)
    exact, asks = bool(functional.declaration.exact_out), functional.declaration.out_check
    if overload.declaration.out_dtype is not None:
        return _inplace_of_its_dtype(overload, functional)

    def run(self: Tensor, *args: Any) -> Tensor:
        guard(self)
        with excluding(AUTOGRAD):
            result = functional.call(self, *args)
            if asks is not None:
                asks.require("out", result._dtype, self._dtype, self)
            check_inplace_result(self, result.shape, result._dtype, exact)
            return self.copy_(result)

    return run


def _inplace_of_its_dtype(overload: Overload, functional: Overload) -> Callee:
    """The in-place form of an operator that computes in the dtype of what it writes to, and takes no other."""
    guard = overlap_guard(overload.declaration)
    dtype_at = next(i for i, a in enumerate(functional.schema.arguments) if a.name == "dtype")

    def run(self: Tensor, *args: Any) -> Tensor:
        given = [self, *args]
        asked = given[dtype_at]
        if asked is not None and asked is not self._dtype:
            raise RuntimeError(
                f"Bad in-place call: input tensor dtype {cpp_type_name(self._dtype)} and output tensor dtype "
                f"{cpp_type_name(asked)} should match"
            )
        given[dtype_at] = self._dtype
        guard(self)
        with excluding(AUTOGRAD):
            return self.copy_(functional.call(*given))

    return run


def inplace_of_composite(functional: Overload) -> Callee:
    """The in-place form of a composite where its parts are recorded: compute, then copy the result, both recorded.

    It computes on a copy: its parts may save the old value, which the last step overwrites.
    """
    asks = functional.declaration.out_check

    def run(self: Tensor, *others: Any) -> Tensor:
        result = functional.call(self.clone(), *others)
        if asks is not None:
            asks.require("out", result._dtype, self._dtype, self)
        check_inplace_result(self, result.shape, result._dtype)
        return self.copy_(result)

    return run


def _functional_from_inplace(inplace: Overload) -> Callee:
    def run(self: Tensor, *args: Any) -> Tensor:
        with excluding(AUTOGRAD):
            return inplace.call(self.clone(), *args)

    return run


# out=


def _out_form(overload: Overload, functional: Overload, kernels: list[Kernel], key: int, call_keys: int) -> Callee:
    if any(a.writes and a.is_list for a in overload.schema.arguments):
        return _out_list(overload, functional)
    general = _out_from_functional(overload, functional)
    if overload.declaration.kind == "factory":
        return _with_options_of_out(overload, general)
    backend = backend_for(key)

    def ready(run: Callee) -> Callee:
        return ready_before_refusal(overload, functional, backend, run)

    if not kernels or call_keys & STRIDED:
        return ready(general)
    if overload.declaration.kind == "elementwise":
        return elementwise_paths.build_out(overload, functional, kernels, backend, general, ready)
    if len(overload.schema.returns) == 1 and any(kernel.out == "fills" for kernel in kernels):
        return ready(_filled(overload, functional, kernels, backend, general))
    return ready(general)


def _out_list(overload: Overload, functional: Overload) -> Callee:
    """Compute aside, then write into as many tensors as there are results; such forms return nothing."""
    at = next(i for i, a in enumerate(overload.schema.arguments) if a.writes)
    exact, also = overload.declaration.exact_out, overload.declaration.out_takes

    def run(*args: Any) -> None:
        outs = args[at]
        with excluding(AUTOGRAD):
            results = functional.call(*args[:at], *args[at + 1 :])
            check_count(overload.name, outs, results)
            for out, result, words in zip(outs, results, words_of(exact, len(outs)), strict=True):
                if words:
                    check_exact(out, result._dtype, words, also, "out")
                check_out(out, result)
            for out, result in zip(outs, results, strict=True):
                if out.shape != result.shape:
                    cell_of(out).version += 1  # PyTorch resizes these, and no others, by an operator
                write_result(out, result)

    return run


def _with_options_of_out(overload: Overload, general: Callee) -> Callee:
    """A factory's ``out=`` form: what it makes has the dtype and the device of ``out``."""
    places = {a.name: i for i, a in enumerate(overload.schema.arguments)}
    out_at, dtype_at, device_at = places["out"], places["dtype"], places["device"]
    if "memory_format" in places:
        return _with_size_only(places["size"], places["memory_format"], out_at)

    def run(*args: Any) -> Any:
        given, out = list(args), args[out_at]
        given[dtype_at], given[device_at] = out._dtype, out.device
        return general(*given)

    return run


def _with_size_only(size_at: int, format_at: int, out_at: int) -> Callee:
    """The ``out=`` form of a factory of a format, but no elements: ``out`` gets the size and keeps its own."""

    def run(*args: Any) -> Any:
        if args[format_at] is not None:
            raise RuntimeError("'memory_format' argument is incompatible with 'out' tensor argument")
        out = args[out_at].resize_(args[size_at])
        return out.fill_(filler_of(out._dtype)) if DETERMINISM.fills else out

    return run


def _filled(overload: Overload, functional: Overload, kernels: list[Kernel], backend: Any, general: Callee) -> Callee:
    """An ``out`` that is what the kernel would allocate, on memory of its own, is handed to the kernel."""
    arguments, schema = overload.schema.arguments, functional.schema
    out_at = next(i for i, a in enumerate(arguments) if a.writes)
    specs = describer(functional)
    functions = {id(kernel): quiet(kernel, backend) for kernel in kernels}

    def run(*args: Any) -> Any:
        out, rest = args[out_at], (*args[:out_at], *args[out_at + 1 :])
        kernel = chosen(kernels, schema, rest)
        if kernel is None or kernel.out != "fills":
            return general(*args)
        spec = specs(*rest)
        tensors = [value for value in rest if isinstance(value, Tensor)]
        plain = not any(widened_dtype(kernel, backend, tensor) for tensor in tensors)
        if not plain or not _is_as_described(out, spec) or any(share_memory(out, tensor) for tensor in tensors):
            return general(*args)
        if elementwise.is_elsewhere(out, tensors):
            return general(*args)
        normalized = spec.arguments or {}
        given = [
            value._array if isinstance(value, Tensor) else normalized.get(a.name, value)
            for a, value in zip(schema.arguments, rest, strict=True)
            if a.name not in kernel.accepts.defaults
        ]
        functions[id(kernel)](*given, out=out._array)
        cell_of(out).version += 1
        return out

    return run


def _is_as_described(out: Tensor, spec: Spec) -> bool:
    if out._dtype is not spec.dtype or tuple(out._array.shape) != spec.shape or out._keys & STRIDED:
        return False
    return spec.strides is None or is_contiguous(spec.shape, spec.strides)


def _tell_count(out: Tensor, result: Tensor) -> None:
    """Warn of an ``out`` whose elements are not as many as were computed, unless it has none."""
    if out.numel():
        warnings.warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not "
            f"match the computed number of elements {result.numel()}. Note that this may occur as a result of rounding "
            f"error. The out tensor will be resized to a tensor of shape ({result.numel()},).",
            stacklevel=3,
        )


def _out_from_functional(overload: Overload, functional: Overload) -> Callee:
    """Compute aside, then write into ``out``; the inputs may be the output."""
    arguments = overload.schema.arguments
    outs = [i for i, a in enumerate(arguments) if a.writes]
    rest = [i for i, a in enumerate(arguments) if not a.writes]
    elementwise_kind = overload.declaration.kind == "elementwise"
    tensors = [i for i in overload.tensor_positions if i not in outs]
    also = overload.declaration.out_takes
    check_outs = check_of_outs(overload)
    one_by_one = len(outs) > 1 and overload.declaration.exact_out == EXPECTED_OUT
    chooses = overload.declaration.out_dtype
    shaped_as = next((i for i, a in enumerate(arguments) if a.name == overload.declaration.shaped_as), None)
    dtype_at = next((i for i, a in enumerate(functional.schema.arguments) if a.name == "dtype"), -1)
    resizes_first = overload.declaration.resizes_first
    laid_out = elementwise_kind or overload.declaration.laid_out

    def is_laid_out(out: Tensor, first: Any) -> bool:
        if callable(laid_out):
            return laid_out(first)
        return bool(laid_out) and (laid_out != "empty" or not out.numel())

    def resize(out: Tensor, result: Tensor, first: Any) -> None:
        resize_out(out, result.shape, layout_of(result) if is_laid_out(out, first) else None)

    facts = overload.declaration
    check_apart = apart_check(overload) if facts.apart or facts.not_in_part else None
    check_first, check_apart = (check_apart, None) if facts.apart_first else (None, check_apart)
    any_shape, silent = overload.declaration.any_shape_out, overload.declaration.kind == "factory"
    count_told = overload.declaration.count_told
    handed_over = result_type(overload.declaration)

    def run(*args: Any) -> Any:
        if elementwise_kind:
            check_no_internal_overlap(args[outs[0]])
            for i in tensors:
                if isinstance(args[i], Tensor):
                    check_no_partial_overlap(args[outs[0]], args[i])
        if check_first is not None:
            check_first(args)
        with excluding(AUTOGRAD):
            if shaped_as is not None:
                if check_outs is not None:
                    check_outs(outs[0], args[outs[0]], args[0]._dtype, args[0])
                resize_out(args[outs[0]], args[shaped_as].shape)
                if check_apart is not None:
                    check_apart(args)
            given = [args[i] for i in rest]
            if chooses is not None and given[dtype_at] is None:
                given[dtype_at] = chooses(given[0], args[outs[0]])
            if callable(resizes_first) and (shape := resizes_first(*given)) is not None:
                if not any(isinstance(value, Tensor) and share_memory(args[outs[0]], value) for value in given):
                    resize_out(args[outs[0]], shape)
            results = functional.call(*given)
            if elementwise_kind and any(args[i] is args[outs[0]] for i in tensors):
                check_shape(args[outs[0]], results.shape)
            if resizes_first is True or callable(resizes_first) and resizes_first(*given) is not None:
                resize(args[outs[0]], results, given[0])
            if check_outs is not None:
                for i, result in zip(outs, (results,) if len(outs) == 1 else results, strict=True):
                    check_outs(i, args[i], result._dtype, given[0])
                    if one_by_one:
                        resize(args[i], result, given[0])
            if len(outs) == 1:
                out = args[outs[0]]
                if any_shape and out.numel() == results.numel():
                    results = results.view(out.shape)
                elif silent or count_told:
                    if count_told:
                        _tell_count(out, results)
                    take_shape(out, results._array.shape)
                if check_apart is not None:
                    check_out(out, results)
                    resize(out, results, given[0])
                    check_apart(args)
                result = results.to(out._dtype) if out._dtype in also else results
                return write_result(out, result, is_laid_out(out, given[0]))
            for i, result in zip(outs, results, strict=True):
                check_out(args[i], result)
            if check_apart is not None:
                for i, result in zip(outs, results, strict=True):
                    resize(args[i], result, given[0])
                check_apart(args)
            for i, result in zip(outs, results, strict=True):
                write_result(args[i], result, is_laid_out(args[i], given[0]))
        return handed_over([args[i] for i in outs])

    return run
