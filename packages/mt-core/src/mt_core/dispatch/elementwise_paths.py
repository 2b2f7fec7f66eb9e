"""The short paths of elementwise operators, plain, in place and with ``out=``.

Contiguous tensors of one dtype that a kernel computes in directly take a path of a few lines; everything else goes
through `Elementwise.general`, which broadcasts, promotes, lays the output out and converts.

The short paths look at every argument: a dtype that has an entry in `direct` (one for each dtype that needs neither
conversion nor check), operands of that dtype and of one shape, or numbers that take it, and parameters at the values
that the entry is for. What they do not recognize is the general path's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cell import Cell, cell_of
from ..dtypes import bool as bool_dtype
from ..dtypes import dtype, finfo, float32
from ..keys import STRIDED
from ..state import nested, tls
from ..tensor import Tensor
from ..tensor_types import TENSORS
from . import writers
from .elementwise import NUMBERS, Callee, Elementwise, is_elsewhere, takes_dtype
from .elementwise_plans import before_general, before_general_inplace
from .kernel import Kernel, is_default, runner_for
from .memory import share_memory
from .registry import Overload

__all__ = ["build", "build_inplace", "build_out"]

new_object = object.__new__

#: The largest number of float32, the smallest dtype for which there are short paths.
_HELD = finfo(float32).max


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
        self._held = _held_by(operator.check)
        self.runner: Any = None
        for kernel in operator.kernels:
            accepts = kernel.accepts
            if accepts.dtypes is not None and not any(d in operator.native for d in accepts.dtypes):
                continue  # short paths are for what the backend computes in
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

    def admits(self, parameters: tuple[Any, ...], d: dtype) -> bool:
        """Whether nothing is to be asked of parameters beside elements of a dtype."""
        guarded = self.guarded
        return guarded is None or same(parameters, guarded) or self._held(parameters, d)

    def _enter(self, kernel: Kernel, names: set[str]) -> None:
        left_out = kernel.accepts.defaults
        for d, result in self.operator.direct(kernel).items():
            if kernel.out == "fills" and left_out == names:
                self.entries.setdefault(d, (kernel.function, result))
            elif not left_out:
                self.with_parameters.setdefault(d, (kernel.function, result))


def _parameters_are_checked(operator: Elementwise) -> bool:
    """Whether the operator's check looks at parameters, and not only at dtypes."""
    check = operator.check
    return check is not None and getattr(check, "asks_parameters", True)


def build(
    overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, keys: int, call_keys: int
) -> Callee:
    """The executor for one operator."""
    operator = Elementwise(overload, kernels, otherwise, backend, keys)
    # Nothing below calls it but with the operator's arguments.
    operator.general = before_general(operator)  # type: ignore[method-assign]
    operands, tensors = operator.operands_at, overload.tensor_positions
    if not kernels or call_keys & STRIDED or operands != tuple(range(len(operands))):
        return operator.general
    direct = Direct(operator)
    if direct.runner is None:
        return operator.general
    if tensors == (0,):
        return _plainest(direct, keys, _unary(direct, keys)) if len(operands) == 1 else _with_numbers(direct, keys)
    if tensors == operands == operator.promoting == (0, 1):
        return _plainest(direct, keys, _binary(direct, keys))
    if tensors == operands == (0, 1, 2) and operator.promoting in ((0, 1, 2), (1, 2)):
        return _plainest(direct, keys, _ternary(direct, keys))
    return operator.general


def _plainest(direct: Direct, keys: int, otherwise: Callee) -> Callee:
    """The backend's own executor, where it has one, before another."""
    operator, default = direct.operator, direct.parameters
    executors = getattr(operator.backend, "executors", None)
    if executors is None or direct.runner is not tls:
        return otherwise
    count = len(operator.operands_at)
    entries = []
    for d in dict.fromkeys((*direct.entries, *direct.with_parameters)):
        # Which of the two is asked first is as in `_unary`, `_binary` and `_ternary`.
        at_defaults, with_parameters = direct.entries.get(d), direct.with_parameters.get(d)
        weak: frozenset[type] = frozenset()
        if at_defaults is not None and (not default or count == 2 and len(default) == 1):
            (function, result), given, any_parameters = at_defaults, (), False
            weak = operator.weak.get(d, weak)
        elif with_parameters is not None:
            (function, result), given, any_parameters = with_parameters, default, direct.guarded is None
        elif at_defaults is not None and count == 1:
            (function, result), given, any_parameters = at_defaults, (), False
        else:
            continue
        if count == 3:
            weak = operator.weak.get(d, weak) if direct.guarded is None else frozenset()
        entries.append((d, function, given, result, result.numpy_dtype, any_parameters, int in weak, float in weak))
    if not entries or len(default) > _MOST_PARAMETERS:
        return otherwise
    condition = bool_dtype if count == 3 and operator.promoting == (1, 2) else None
    return executors.elementwise(  # type: ignore[no-any-return]
        otherwise, _finisher(operator.backend, keys), keys, count, default, condition, count > 1, entries
    )


#: A backend's own executors take so many parameters.
_MOST_PARAMETERS = 13


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
    default, at_default, admits = direct.parameters, direct.entries, direct.admits

    def run_parameters(self: Tensor, *parameters: Any) -> Any:
        entry = entries.get(self._dtype)
        if entry is None or not admits(parameters, self._dtype):
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
    take_dtype, admits = _all_stored if direct.guarded is not None else _all_take_dtype, direct.admits

    def run(self: Tensor, *rest: Any) -> Any:
        d = self._dtype
        entry = entries.get(d)
        if entry is None or not take_dtype(rest[:last], d, weak) or not admits(rest[last:], d):
            return general(self, *rest)
        function, result = entry
        try:
            value = runner.run_kernel(function, self._array, *rest)
        except RuntimeError as error:
            value = nested(error, function, self._array, *rest)
        return finish(value, result)

    return run


def _held_by(check: Any) -> Callable[[tuple[Any, ...], dtype], bool]:
    """What tells of parameters and a dtype that a check refuses neither."""
    if getattr(check, "also", None) is None:
        return _are_held
    return _are_plain if check.takes_reals else _are_not_asked


def _are_held(numbers: tuple[Any, ...], d: dtype) -> bool:
    """Whether real numbers are within the range of each floating-point dtype that there is a short path for."""
    return d.is_floating_point and all(map(_is_held, numbers))


def _are_plain(numbers: tuple[Any, ...], d: dtype) -> bool:
    """`_are_held`, and none of them is a bool."""
    return _are_held(numbers, d) and bool not in map(type, numbers)


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
    operator, runner, entries, admits = direct.operator, direct.runner, direct.with_parameters, direct.admits
    general, finish = operator.general, _finisher(operator.backend, keys)

    def run(self: Tensor, other: Any, *params: Any) -> Any:
        d = self._dtype
        entry = entries.get(d)
        if (
            entry is None or other.__class__ not in TENSORS or other._dtype is not d
            or other._array.shape != self._array.shape or not admits(params, d)
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
    guarded, admits = direct.guarded, direct.admits
    entries = direct.with_parameters if direct.parameters else {**direct.with_parameters, **direct.entries}

    def run(a: Any, b: Any, c: Any, *params: Any) -> Any:
        if b.__class__ not in TENSORS or a.__class__ not in TENSORS:
            return general(a, b, c, *params)
        d = b._dtype
        entry = entries.get(d)
        if entry is None or a._dtype is not (bool_dtype if condition else d) or a._array.shape != b._array.shape:
            return general(a, b, c, *params)
        if not admits(params, d):
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
    general = before_general_inplace(operator)
    if not kernels or call_keys & STRIDED:
        return general
    direct = Direct(operator)
    filling = {k.function for k in kernels if k.out == "fills"}
    entries = {d: f for d, (f, result) in direct.entries.items() if result is d and f in filling}
    if not entries:
        return general
    if len(operator.operands_at) == 1 and not direct.parameters:
        otherwise = _inplace_unary(general, entries, direct.runner)
    elif operator.operands_at == operator.promoting == overload.tensor_positions == (0, 1):
        otherwise = _inplace_binary(general, entries, direct, operator.weak)
    else:
        return general
    filled = [writers.filling(d, d, function, operator.weak.get(d, ())) for d, function in entries.items()]
    return writers.before(otherwise, backend, direct.runner, len(operator.operands_at), direct.parameters, filled)


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


def build_out(
    overload: Overload, functional: Overload, kernels: list[Kernel], backend: Any, general: Callee, ready: Any
) -> Callee:
    """The ``out=`` form where the output is what the operator would allocate: the kernel fills it.

    `ready` is what makes a form have its output ready when its kernel refuses a call (`refused_outs`).
    """
    operator = Elementwise(functional, kernels, None, backend, 0)
    arguments = overload.schema.arguments
    out_at = next(i for i, a in enumerate(arguments) if a.writes)
    direct = Direct(operator)
    filling = {k.function for k in kernels if k.out == "fills"}
    entries = {d: entry for d, entry in direct.entries.items() if entry[0] in filling}
    filled = ready(_filled(operator, kernels, out_at, general))
    operands = operator.operands_at
    if not entries or out_at != len(arguments) - 1 or operands != functional.tensor_positions or len(operands) > 2:
        return filled
    otherwise = _fill_one(filled, entries, direct) if operands == (0,) else _fill_of_two(filled, entries, direct)
    told = [writers.filling(d, result, function) for d, (function, result) in entries.items()]
    return writers.before(otherwise, backend, direct.runner, len(operands), direct.parameters, told, into_last=True)


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
