"""Executors of elementwise operators.

Contiguous tensors of one dtype that a kernel computes in directly take a path of a few lines; everything else goes
through `Elementwise.general`, which broadcasts, promotes, lays the output out and converts.

The short paths look at every argument: a dtype that has an entry in `direct` (one for each dtype that needs neither
conversion nor check), operands of that dtype and of one shape, or numbers that take it, and parameters at the values
that the entry is for. What they do not recognize is the general path's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..cell import Cell, cell_of
from ..dtypes import (
    ALL_DTYPES,
    bfloat16,
    complex32,
    dtype,
    finfo,
    float8_e4m3fn,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    saturated,
)  # fmt: skip
from ..dtypes import bool as bool_dtype
from ..keys import BACKEND_MASK, OTHER_INDEX, STRIDED
from ..layout import broadcast_shapes, broadcast_strides, output_strides
from ..number_range import check_width
from ..promotion import KEEP, Promotion, result_type_of
from ..spec import is_contiguous
from ..state import nested, run_quietly
from ..tensor import Tensor, new_tensor
from ..tensor_types import TENSORS
from .kernel import Kernel, is_default, quiet, runner_for
from .memory import check_no_internal_overlap, check_no_partial_overlap, share_memory
from .registry import Overload
from .writing import check_castable

__all__ = ["Elementwise", "build", "build_inplace", "build_out", "native_dtypes"]

Callee = Callable[..., Any]

new_object = object.__new__

#: Classes of Python numbers that stand for 0-dim tensors.
NUMBERS = frozenset((bool, int, float, complex))
#: The dtypes that no operator's check refuses.
REAL_FLOATS = frozenset((bfloat16, float16, float32, float64))
#: What a backend computes in that does not say: NumPy's dtypes.
_NUMPY_NATIVE = frozenset(d for d in ALL_DTYPES if d.native)
#: Whether a NumPy array and a Python number compute in the array's dtype whatever the number (NumPy 2; before it, the
#: value and the number of dimensions had a say).
_NUMPY_IS_WEAK = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def native_dtypes(backend: Any) -> frozenset[dtype]:
    """The dtypes that a backend's kernels compute in (`Backend.native`)."""
    return getattr(backend, "native", _NUMPY_NATIVE)


def weak_numbers(backend: Any) -> dict[dtype, frozenset[type]]:
    """dtype -> the classes of numbers that a kernel may be given beside arrays of it, and that leave it as it is.

    A bool beside a number is rare, and refused by some operators.
    """
    if not getattr(backend, "weak_numbers", _NUMPY_IS_WEAK):
        return {}
    return {d: frozenset((int, float, complex)[: d.category] or (bool,)) for d in native_dtypes(backend)}


class Elementwise:
    """One elementwise operator on one backend, for arguments of any layout and dtype."""

    def __init__(
        self, overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, keys: int
    ) -> None:
        declaration = overload.declaration
        self.kernels = kernels
        self.otherwise = otherwise
        self.overload = overload
        self.backend = backend
        self.keys = keys
        self.promotion: Promotion = declaration.promotion  # type: ignore[assignment]
        self.check = declaration.check
        self.require = getattr(declaration.check, "require", None)
        self.native = native_dtypes(backend)
        self.weak = weak_numbers(backend)
        arguments = overload.schema.arguments
        self.names = tuple(a.name for a in arguments)
        self.defaults = {a.name: a.default for a in arguments}
        #: Positions of the operands: tensors, and Scalars that promote with them.
        self.operands_at = tuple(i for i, a in enumerate(arguments) if a.is_tensor or a.name in declaration.promotes)
        self.promoting = tuple(i for i in self.operands_at if arguments[i].name in declaration.promotes)
        self.functions = {id(kernel): quiet(kernel, backend) for kernel in kernels}
        self.number = getattr(backend, "number", _numpy_number)

    # dtypes

    def common_dtype(self, args: tuple[Any, ...]) -> dtype:
        """What the arguments promote to."""
        if self.promotion is KEEP:
            common: dtype = args[self.promoting[0]]._dtype
        else:
            common = result_type_of([args[i] for i in self.promoting])
        if self.check is not None:
            self.check(args, common)
        return common

    def dtypes(self, args: tuple[Any, ...], common: dtype) -> tuple[dtype, dtype]:
        """(dtype of the computation, dtype of the result)."""
        promotion = self.promotion.chosen(args)
        return promotion.compute(common), promotion.result(common)

    def direct(self, kernel: Kernel) -> dict[dtype, dtype]:
        """dtype of the operands -> dtype of the result, where a kernel needs no conversion and the call no check."""
        promotion, check = self.promotion, self.check
        unchecked = ALL_DTYPES if check is None else getattr(check, "unchecked", REAL_FLOATS)
        accepted = kernel.accepts.dtypes
        return {
            d: promotion.result(d)
            for d in unchecked
            if promotion.is_direct(d)
            and d in self.native
            and (accepted is None or d in accepted)
            and not (kernel.half == "float32" and d.compute is not d)
        }

    # Arguments

    def tensors(self, args: tuple[Any, ...]) -> list[Tensor]:
        return [args[i] for i in self.operands_at if isinstance(args[i], Tensor)]

    def layout(self, args: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
        """Shape of the result and its strides (None: row-major)."""
        tensors = self.tensors(args)
        check_same_device(tensors)
        shape = broadcast_shapes([t._array.shape for t in tensors])
        if not any(t._keys & STRIDED for t in tensors):
            return shape, None
        strides = output_strides(shape, [broadcast_strides(t._array.shape, t.stride(), shape) for t in tensors])
        return shape, None if is_contiguous(shape, strides) else strides

    def arrays(self, kernel: Kernel, args: tuple[Any, ...], compute: dtype) -> list[Any]:
        """The arguments as the kernel takes them: arrays of the computation dtype, numbers converted likewise.

        What the kernel accepts at its default only is left out.
        """
        backend = self.backend
        converted = list(args)
        for i in self.operands_at:
            value = args[i]
            if isinstance(value, Tensor):
                wanted = compute if i in self.promoting else value._dtype
                if isinstance(value._array, backend.array_type):
                    converted[i] = backend.cast(value._array, wanted)
                else:  # of no dimensions, on the CPU (`several_devices`)
                    converted[i] = self.number(value.item(), wanted)
            elif value is not None:
                converted[i] = self.number(value, compute)
        dropped = kernel.accepts.defaults
        return (
            [v for v, name in zip(converted, self.names, strict=True) if name not in dropped] if dropped else converted
        )

    def compute_dtype(self, kernel: Kernel, wanted: dtype) -> dtype:
        """The dtype that a kernel computes in where `wanted` is asked for: half types may have to be widened."""
        if kernel.half == "native" or kernel.half is None and wanted in self.native:
            return wanted
        return wanted.compute

    def chosen(self, args: tuple[Any, ...], compute: dtype) -> Kernel | None:
        """The first kernel that accepts the call, its operands taken as promoted."""
        for kernel in self.kernels:
            accepts = kernel.accepts
            if accepts.everything() or (
                (accepts.dtypes is None or self.compute_dtype(kernel, compute) in accepts.dtypes)
                and self._others_accepted(kernel, args)
            ):
                return kernel
        return None

    def _others_accepted(self, kernel: Kernel, args: tuple[Any, ...]) -> bool:
        """What `Accepts.takes` tests, but for dtypes, which are promoted first."""
        accepts = kernel.accepts
        for name, value in zip(self.names, args, strict=True):
            if name in accepts.defaults and not is_default(value, self.defaults[name]):
                return False
            if name in accepts.ranks and isinstance(value, Tensor) and value._array.ndim not in accepts.ranks[name]:
                return False
            if accepts.layout == "row_major" and isinstance(value, Tensor) and value._keys & STRIDED:
                return False
        return accepts.also is None or bool(accepts.also(*args))

    # The general path

    def general(self, *args: Any) -> Any:
        common = self.common_dtype(args)
        shape, strides = self.layout(args)
        if self.require is not None:
            self.require(args, common)
        compute, result = self.dtypes(args, common)
        kernel = self.chosen(args, compute)
        if kernel is None and self.kernels:
            return self.unaccepted(args)
        backend = self.backend
        out = backend.empty(shape, result, strides, self.index(args))
        if kernel is not None:
            self.write(kernel, out, result, args, compute)
        return new_tensor(out, result, self.keys if strides is None else self.keys | STRIDED)

    def unaccepted(self, args: tuple[Any, ...]) -> Any:
        """What happens to a call that no kernel takes."""
        if self.otherwise is not None:
            return self.otherwise(*args)
        raise NotImplementedError(
            f"no kernel of {self.overload.qualified_name} on {self.tensors(args)[0].device} takes tensors of "
            + ", ".join(f"{t.dtype} {list(t.shape)}" for t in self.tensors(args))
        )

    def index(self, args: tuple[Any, ...]) -> int | None:
        """The device index of the operands that are on this backend."""
        backend = self.backend
        for tensor in self.tensors(args):
            if isinstance(tensor._array, backend.array_type):
                return backend.index_of(tensor._array)
        return None

    def write(self, kernel: Kernel, out: Any, result: dtype, args: tuple[Any, ...], compute: dtype) -> None:
        """Compute into the array `out` of dtype `result`."""
        compute = self.compute_dtype(kernel, compute)
        arrays = self.arrays(kernel, args, compute)
        function = self.functions[id(kernel)]
        if kernel.out == "fills" and (result is compute or self.promotion.fixed_result is result):
            function(*arrays, out=out)
        else:
            self.backend.copy(out, self.backend.as_array(function(*arrays)))

    def general_inplace(self, self_: Tensor, *args: Any) -> Any:
        args = (self_, *args)
        common = self.common_dtype(args)
        compute, result = self.dtypes(args, common)
        shape, _ = self.layout(args)
        target = self_._dtype
        if shape != self_._array.shape:
            raise RuntimeError(f"output with shape {list(self_.shape)} doesn't match the broadcast shape {list(shape)}")
        if result is not target:
            check_castable(result, target)
        if self.require is not None:
            self.require(args, common)
        check_no_internal_overlap(self_)
        for other in self.tensors(args)[1:]:
            check_no_partial_overlap(self_, other)
        kernel = self.chosen(args, compute)
        if kernel is None and self.kernels:
            return self.unaccepted(args)
        if kernel is not None:
            # What is read may be what is written (x.add_(x.t())): the result is complete before it is stored.
            out = self.backend.empty(shape, target, None, self.index(args))
            self.write(kernel, out, target, args, compute)
            self.backend.copy(self_._array, out)
        cell_of(self_).version += 1
        return self_


def _numpy_number(value: Any, compute: dtype) -> Any:
    """A number as a NumPy scalar: array libraries other than NumPy refuse host arrays among their operands."""
    return number_array(value, compute)[()]


def check_same_device(tensors: list[Tensor]) -> None:
    """All tensors with dimensions on one device; 0-dim CPU tensors may join any.

    Raises
    ------
    RuntimeError
        In PyTorch's words.
    """
    if len(tensors) < 2:
        return
    first = next((t for t in tensors if t._array.ndim), tensors[0])
    for t in tensors:
        if (t._keys ^ first._keys) & BACKEND_MASK:
            if not (t._array.ndim == 0 and t.device.type == "cpu"):
                raise different_devices(first, t)
        elif (t._keys | first._keys) & OTHER_INDEX and t.device != first.device:
            raise different_devices(first, t)


def is_elsewhere(out: Tensor, tensors: list[Tensor]) -> bool:
    """Whether what is to be written lies on another device than the tensors of the call."""
    if not tensors:
        return False
    keys = out._keys ^ tensors[0]._keys
    either = out._keys | tensors[0]._keys
    return bool(keys & BACKEND_MASK) or bool(either & OTHER_INDEX and out.device != tensors[0].device)


def different_devices(first: Tensor, second: Tensor) -> RuntimeError:
    """The error for two tensors that would have to be on one device."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first.device} and {second.device}!"
    )


#: The largest number of float16: smaller ones overflow nowhere.
_TAME = 65504


def number_array(value: Any, compute: dtype) -> np.ndarray:
    """A Python number as a 0-dim array of a dtype, wrapping around where an integer does not fit, as PyTorch does.

    Raises
    ------
    OverflowError
        For integers beyond 64 bits.
    """
    check_width(value)
    if compute.is_integral and isinstance(value, int) and not isinstance(value, bool):
        bits = compute.itemsize * 8
        value &= (1 << bits) - 1
        if compute.is_signed and value >> (bits - 1):
            value -= 1 << bits
    if compute is float8_e4m3fn or compute is float8_e8m0fnu:
        return run_quietly(saturated(np.asarray(value), compute.numpy_dtype).astype, compute.numpy_dtype)
    stored = (value.real, value.imag) if compute is complex32 else value
    if abs(value) > _TAME:  # which may become infinity, without NumPy's warning
        return run_quietly(np.asarray, stored, compute.numpy_dtype)
    return np.asarray(stored, compute.numpy_dtype)


#: The largest number of float32, the smallest dtype for which there are short paths.
_HELD = finfo(float32).max


def takes_dtype(number: Any, d: dtype, weak: dict[dtype, frozenset[type]]) -> bool:
    """Whether a number beside a tensor takes the tensor's dtype, in PyTorch's promotion as in the backend's.

    Integers moreover must fit every integer dtype: PyTorch wraps around those that do not.
    """
    cls = number.__class__
    return cls in weak.get(d, ()) and (cls is not int or 0 <= number <= 127)


# The short paths


def same(parameters: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether parameters are the same values of the same classes: a bool is no number here."""
    if parameters is others:
        return True
    if len(parameters) != len(others):
        return False
    for one, other in zip(parameters, others, strict=True):
        if one is not other and not is_default(one, other):
            return False
    return True


class Direct:
    """What a short path needs to know of an operator: entries by dtype, and what runs them.

    Attributes
    ----------
    entries
        dtype of the operands -> (kernel's function, dtype of the result), of kernels that broadcast, take numbers, and
        are for parameters at their defaults.
    with_parameters
        The same of kernels that take arrays of one shape, and the parameters.
    guarded
        The only parameters that those entries are for, where a check looks at others; else None.
    """

    def __init__(self, operator: Elementwise) -> None:
        self.operator = operator
        self.parameters = tuple(
            a.default for i, a in enumerate(operator.overload.schema.arguments) if i not in operator.operands_at
        )
        names = {n for i, n in enumerate(operator.names) if i not in operator.operands_at}
        self.entries: dict[dtype, tuple[Callee, dtype]] = {}
        self.with_parameters: dict[dtype, tuple[Callee, dtype]] = {}
        self.guarded = self.parameters if _parameters_are_checked(operator) else None
        self.runner: Any = None
        for kernel in operator.kernels:
            accepts = kernel.accepts
            if accepts.ranks or accepts.also or isinstance(accepts.dtypes, dict):
                break  # the general path chooses
            runner = runner_for(kernel, operator.backend)
            if self.runner is None:
                self.runner = runner
            if runner is not self.runner or accepts.defaults - names:
                break
            self._enter(kernel, names)
            if accepts.dtypes is None and not accepts.defaults:
                break  # nothing gets past this kernel

    def _enter(self, kernel: Kernel, names: set[str]) -> None:
        left_out = kernel.accepts.defaults
        for d, result in self.operator.direct(kernel).items():
            if kernel.out == "fills" and left_out == names:
                self.entries.setdefault(d, (kernel.function, result))
            elif not left_out:
                self.with_parameters.setdefault(d, (kernel.function, result))
            elif not left_out:
                self.entries.setdefault(d, (_given(kernel.function, self.parameters), result))


def _given(function: Callee, parameters: tuple[Any, ...]) -> Callee:
    """A kernel as a function of the operands alone."""
    return lambda *operands: function(*operands, *parameters)


def _parameters_are_checked(operator: Elementwise) -> bool:
    """Whether the operator's check looks at parameters, and not only at dtypes."""
    check = operator.check
    return check is not None and getattr(check, "asks_parameters", True)


def build(
    overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, keys: int, call_keys: int
) -> Callee:
    """The executor for one operator."""
    operator = Elementwise(overload, kernels, otherwise, backend, keys)
    operands, tensors = operator.operands_at, overload.tensor_positions
    if not kernels or call_keys & STRIDED or operands != tuple(range(len(operands))):
        return operator.general
    direct = Direct(operator)
    if direct.runner is None:
        return operator.general
    if tensors == (0,):
        return _unary(direct, keys) if len(operands) == 1 else _with_numbers(direct, keys)
    if tensors == operands == operator.promoting == (0, 1):
        return _binary(direct, keys)
    if tensors == operands == (0, 1, 2) and operator.promoting in ((0, 1, 2), (1, 2)):
        return _ternary(direct, keys)
    return operator.general


def _finisher(backend: Any, keys: int) -> Callable[[Any, dtype], Tensor]:
    array_type, as_array, cast = backend.array_type, backend.as_array, backend.cast

    def finish(value: Any, d: dtype) -> Tensor:
        if value.__class__ is not array_type:
            value = as_array(value)
        if value.dtype is not d.numpy_dtype:
            value = cast(value, d)
        # What `new_tensor` does, here and below written out: a call costs as much as it.
        made = new_object(Tensor)
        made._array = value
        made._dtype = d
        made._keys = keys
        made._autograd = made._cell = made._base = None
        return made

    return finish


def _unary(direct: Direct, keys: int) -> Callee:
    general, runner = direct.operator.general, direct.runner
    entries = direct.with_parameters if direct.parameters else {**direct.with_parameters, **direct.entries}
    array_type, finish = direct.operator.backend.array_type, _finisher(direct.operator.backend, keys)

    def run(self: Tensor) -> Any:
        entry = entries.get(self._dtype)
        if entry is None:
            return general(self)
        function, result = entry
        try:
            value = runner.run_kernel(function, self._array)
        except RuntimeError as error:
            value = nested(error, function, self._array)
        if value.__class__ is not array_type or value.dtype is not result.numpy_dtype:
            return finish(value, result)
        made = new_object(Tensor)
        made._array = value
        made._dtype = result
        made._keys = keys
        made._autograd = made._cell = made._base = None
        return made

    if not direct.parameters:
        return run
    default, at_default, guarded = direct.parameters, direct.entries, direct.guarded
    held = _are_held if getattr(direct.operator.check, "also", None) is None else _are_not_asked

    def run_parameters(self: Tensor, *parameters: Any) -> Any:
        entry = entries.get(self._dtype)
        if entry is None or guarded is not None and not (same(parameters, guarded) or held(parameters, self._dtype)):
            if same(parameters, default) and self._dtype in at_default:
                function, result = at_default[self._dtype]
                return finish(runner.run_kernel(function, self._array), result)
            return general(self, *parameters)
        function, result = entry
        try:
            value = runner.run_kernel(function, self._array, *parameters)
        except RuntimeError as error:
            value = nested(error, function, self._array, *parameters)
        return finish(value, result)

    return run_parameters


def _with_numbers(direct: Direct, keys: int) -> Callee:
    """A tensor, then numbers (or None) that promote with it, where they leave its dtype as it is."""
    operator, runner = direct.operator, direct.runner
    general, weak, last = operator.general, operator.weak, len(operator.operands_at) - 1
    finish = _finisher(operator.backend, keys)
    entries = direct.with_parameters if direct.parameters else {**direct.with_parameters, **direct.entries}
    take_dtype = _all_stored if direct.guarded is not None else _all_take_dtype
    if direct.guarded:
        return general

    def run(self: Tensor, *rest: Any) -> Any:
        entry = entries.get(self._dtype)
        if entry is None or not take_dtype(rest[:last], self._dtype, weak):
            return general(self, *rest)
        function, result = entry
        try:
            value = runner.run_kernel(function, self._array, *rest)
        except RuntimeError as error:
            value = nested(error, function, self._array, *rest)
        return finish(value, result)

    return run


def _are_held(numbers: tuple[Any, ...], d: dtype) -> bool:
    """Whether real numbers are within the range of each floating-point dtype that there is a short path for."""
    return d.is_floating_point and all(map(_is_held, numbers))


def _is_held(number: Any) -> bool:
    return bool(number.__class__ is not complex and -_HELD <= number <= _HELD)


def _are_not_asked(numbers: tuple[Any, ...], d: dtype) -> bool:
    """Where a check looks at more than whether the dtype holds the numbers."""
    return False


def _all_stored(numbers: tuple[Any, ...], d: dtype, weak: dict[dtype, frozenset[type]]) -> bool:
    """`_all_take_dtype`, for numbers that every floating-point dtype of the backend holds."""
    return _all_take_dtype(numbers, d, weak) and all(n is None or _is_held(n) for n in numbers)


def _all_take_dtype(numbers: tuple[Any, ...], d: dtype, weak: dict[dtype, frozenset[type]]) -> bool:
    """Whether each number takes the dtype or is None, and not all are None."""
    given = False
    for number in numbers:
        if number is not None:
            if not takes_dtype(number, d, weak):
                return False
            given = True
    return given


def _binary(direct: Direct, keys: int) -> Callee:
    default = direct.parameters
    if direct.entries and len(default) < 2:
        return _binary_at_defaults(direct, keys, default[0] if default else None)
    return _binary_with_parameters(direct, keys) if direct.with_parameters else direct.operator.general


def _binary_at_defaults(direct: Direct, keys: int, only: Any) -> Callee:
    """Two operands, and at most one parameter, which must be `only`."""
    operator, runner = direct.operator, direct.runner
    weak, default = operator.weak, direct.parameters
    entries = {d: (function, result, result.numpy_dtype) for d, (function, result) in direct.entries.items()}
    general = _binary_with_parameters(direct, keys) if direct.with_parameters else operator.general
    array_type, finish = operator.backend.array_type, _finisher(operator.backend, keys)

    def run(self: Tensor, other: Any, parameter: Any = only) -> Any:
        if parameter is not only:
            return general(self, other, parameter)
        d = self._dtype
        entry = entries.get(d)
        if entry is None:
            return general(self, other, *default)
        array = self._array
        if other.__class__ in NUMBERS:
            if not takes_dtype(other, d, weak):
                return general(self, other, *default)
            operand = other
        else:
            operand = other._array
            if other._dtype is not d or operand.shape != array.shape:
                return general(self, other, *default)
        function, result, stored = entry
        try:
            value = runner.run_kernel(function, array, operand)
        except RuntimeError as error:
            value = nested(error, function, array, operand)
        if value.__class__ is not array_type or value.dtype is not stored:
            return finish(value, result)
        made = new_object(Tensor)
        made._array = value
        made._dtype = result
        made._keys = keys
        made._autograd = made._cell = made._base = None
        return made

    return run


def _binary_with_parameters(direct: Direct, keys: int) -> Callee:
    operator, runner, entries, guarded = direct.operator, direct.runner, direct.with_parameters, direct.guarded
    general, finish = operator.general, _finisher(operator.backend, keys)

    def run(self: Tensor, other: Any, *params: Any) -> Any:
        d = self._dtype
        entry = entries.get(d)
        if (
            entry is None or other.__class__ not in TENSORS or other._dtype is not d
            or other._array.shape != self._array.shape or guarded is not None and not same(params, guarded)
        ):  # fmt: skip
            return general(self, other, *params)
        function, result = entry
        try:
            value = runner.run_kernel(function, self._array, other._array, *params)
        except RuntimeError as error:
            value = nested(error, function, self._array, other._array, *params)
        return finish(value, result)

    return run


def _ternary(direct: Direct, keys: int) -> Callee:
    operator, runner = direct.operator, direct.runner
    general, weak, finish = operator.general, operator.weak, _finisher(operator.backend, keys)
    condition = operator.promoting == (1, 2)
    guarded = direct.guarded
    entries = direct.with_parameters if direct.parameters else {**direct.with_parameters, **direct.entries}

    def run(a: Any, b: Any, c: Any, *params: Any) -> Any:
        if guarded is not None and not same(params, guarded):
            return general(a, b, c, *params)
        if b.__class__ not in TENSORS or a.__class__ not in TENSORS:
            return general(a, b, c, *params)
        d = b._dtype
        entry = entries.get(d)
        if entry is None or a._dtype is not (bool_dtype if condition else d) or a._array.shape != b._array.shape:
            return general(a, b, c, *params)
        if c.__class__ in TENSORS and c._dtype is d and c._array.shape == b._array.shape:
            last = c._array
        elif c.__class__ in NUMBERS and takes_dtype(c, d, weak) and (guarded is None or _is_held(c)):
            last = c
        else:
            return general(a, b, c, *params)
        function, result = entry
        try:
            value = runner.run_kernel(function, a._array, b._array, last, *params)
        except RuntimeError as error:
            value = nested(error, function, a._array, b._array, last, *params)
        return finish(value, result)

    return run


# In place


def build_inplace(
    overload: Overload, functional: Overload, kernels: list[Kernel], backend: Any, call_keys: int
) -> Callee:
    """The executor of the in-place form, from the functional kernels."""
    operator = Elementwise(overload, kernels, None, backend, 0)
    general = operator.general_inplace
    if not kernels or call_keys & STRIDED:
        return general
    direct = Direct(operator)
    filling = {k.function for k in kernels if k.out == "fills"}
    entries = {d: f for d, (f, result) in direct.entries.items() if result is d and f in filling}
    if not entries:
        return general
    if len(operator.operands_at) == 1 and not direct.parameters:
        return _inplace_unary(general, entries, direct.runner)
    if operator.operands_at == operator.promoting == overload.tensor_positions == (0, 1):
        return _inplace_binary(general, entries, direct, operator.weak)
    return general


def _inplace_unary(general: Callee, entries: dict[dtype, Callee], runner: Any) -> Callee:
    def run(self: Tensor) -> Any:
        function = entries.get(self._dtype)
        if function is None:
            return general(self)
        array = self._array
        try:
            runner.run_kernel(function, array, out=array)
        except RuntimeError as error:
            nested(error, function, array, out=array)
        cell = self._cell
        if cell is None:
            cell = self._cell = Cell(self)
        cell.version += 1
        return self

    return run


def _inplace_binary(
    general: Callee, entries: dict[dtype, Callee], direct: Direct, weak: dict[dtype, frozenset[type]]
) -> Callee:
    runner, default = direct.runner, direct.parameters

    def run(self: Tensor, other: Any, *params: Any) -> Any:
        d = self._dtype
        function = entries.get(d)
        if function is None or not same(params, default):
            return general(self, other, *params)
        array, cell = self._array, self._cell
        if other.__class__ in NUMBERS:
            if not takes_dtype(other, d, weak):
                return general(self, other, *params)
            operand = other
        else:
            operand = other._array
            if other._dtype is not d or operand.shape and operand.shape != array.shape:
                return general(self, other, *params)
            theirs = other._cell
            if (
                cell is not None
                and theirs is not None
                and other is not self
                and (cell is theirs or cell.block is not None and cell.block is theirs.block)
            ):
                return general(self, other, *params)
        try:
            runner.run_kernel(function, array, operand, out=array)
        except RuntimeError as error:
            nested(error, function, array, operand, out=array)
        if cell is None:
            cell = self._cell = Cell(self)
        cell.version += 1
        return self

    return run


# out=


def build_out(overload: Overload, functional: Overload, kernels: list[Kernel], backend: Any, general: Callee) -> Callee:
    """The ``out=`` form where the output is what the operator would allocate: the kernel fills it."""
    operator = Elementwise(functional, kernels, None, backend, 0)
    arguments = overload.schema.arguments
    out_at = next(i for i, a in enumerate(arguments) if a.writes)
    direct = Direct(operator)
    filling = {k.function for k in kernels if k.out == "fills"}
    entries = {d: entry for d, entry in direct.entries.items() if entry[0] in filling}
    filled = _filled(operator, kernels, out_at, general)
    operands = operator.operands_at
    if not entries or out_at != len(arguments) - 1 or operands != functional.tensor_positions or len(operands) > 2:
        return filled
    return _fill_one(filled, entries, direct) if operands == (0,) else _fill_of_two(filled, entries, direct)


def _fill_one(otherwise: Callee, entries: dict[dtype, tuple[Callee, dtype]], direct: Direct) -> Callee:
    """``f(x, out=y)`` where nothing is converted, broadcast or shared."""
    runner, default = direct.runner, direct.parameters

    def run(self: Tensor, *rest: Any) -> Any:
        out = rest[-1]
        function, result = entries.get(self._dtype, _NO_ENTRY)
        if out._dtype is not result or rest[:-1] != default or _unlike(out, self):
            return otherwise(self, *rest)
        _fill(runner, function, out, self._array)
        return out

    return run


def _fill_of_two(otherwise: Callee, entries: dict[dtype, tuple[Callee, dtype]], direct: Direct) -> Callee:
    """The same for two tensors of one dtype and shape."""
    runner, default = direct.runner, direct.parameters

    def run(self: Tensor, other: Tensor, *rest: Any) -> Any:
        out, d = rest[-1], self._dtype
        function, result = entries.get(d, _NO_ENTRY)
        if (
            out._dtype is not result or getattr(other, "_dtype", None) is not d or rest[:-1] != default
            or _unlike(out, self) or _unlike(out, other)
        ):  # fmt: skip
            return otherwise(self, other, *rest)
        _fill(runner, function, out, self._array, other._array)
        return out

    return run


_NO_ENTRY: tuple[Any, Any] = (None, None)


def _unlike(out: Tensor, operand: Tensor) -> bool:
    """Whether two tensors differ in shape, or may share memory."""
    return out._array.shape != operand._array.shape or share_memory(out, operand)


def _fill(runner: Any, function: Callee, out: Tensor, *arrays: Any) -> None:
    try:
        runner.run_kernel(function, *arrays, out=out._array)
    except RuntimeError as error:
        nested(error, function, *arrays, out=out._array)
    cell_of(out).version += 1


def _filled(operator: Elementwise, kernels: list[Kernel], out_at: int, general: Callee) -> Callee:
    """Any operands, where the output is what the operator would allocate."""

    def run(*args: Any) -> Any:
        out, rest = args[out_at], (*args[:out_at], *args[out_at + 1 :])
        tensors = operator.tensors(rest)
        if out._keys & STRIDED or any(share_memory(out, t) or t._keys & STRIDED for t in tensors):
            return general(*args)
        if is_elsewhere(out, tensors):
            return general(*args)
        common = operator.common_dtype(rest)
        shape, _ = operator.layout(rest)
        compute, result = operator.dtypes(rest, common)
        kernel = operator.chosen(rest, compute)
        if kernel is None or result is not out._dtype or shape != out._array.shape:
            return general(*args)
        if operator.require is not None:
            operator.require(rest, common)
        operator.write(kernel, out._array, result, rest, compute)
        cell_of(out).version += 1
        return out

    return run
