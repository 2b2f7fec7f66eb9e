"""Executors of explicit composites: operators that stand in for a backend's kernel, under the same rule.

What is refused, and the shape, dtype and strides of results, do not depend on how an operator is carried out. So the
shape rule, or the promotion of an elementwise operator, speaks first, and an explicit composite is held to it. It is
written like a kernel, with tensors in place of arrays: it gets arguments that are promoted and normalized, half types
widened to what they are computed in; its result is rounded once, and laid out as the rule says. It may return what
shares memory with an argument. One for a factory makes its tensor itself, on the device that it is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cell import cell_of
from ..declarations._inference_writes import INFERENCE_WRITES
from ..dtypes import dtype
from ..keys import AUTOGRAD, INFERENCE, META
from ..state import excluding
from ..tensor import Tensor
from ..tensor_types import tensors_in
from .elementwise import Elementwise
from .executors import Preparation, result_keys, rule_of
from .kernel import Kernel
from .lookup import composite_of
from .memory import share_memory
from .registry import CONTRACT_KERNELS, Overload, load_family

__all__ = [
    "build",
    "build_inplace",
    "counting",
    "counting_writes",
    "making_new",
    "standing_in",
    "unrecorded",
    "widened",
]

Callee = Callable[..., Any]


def standing_in(overload: Overload) -> Callee | None:
    """The explicit composite of an operator that has a rule besides; None for others, and where the contract does."""
    composite = composite_of(overload)
    load_family("mt_core.contract_kernels", overload.family)
    if composite is None or overload.name in CONTRACT_KERNELS or not composite.explicit or overload.schema.is_mutable:
        return None
    kind = overload.declaration.kind
    ruled = kind == "elementwise" or kind in ("plain", "factory") and rule_of(overload) is not None
    return composite.function if ruled else None


def unrecorded(function: Callee) -> Callee:
    """An explicit composite: autograd has recorded the whole, so its parts are not recorded again."""

    def run(*args: Any) -> Any:
        with excluding(AUTOGRAD):
            return function(*args)

    return run


def making_new(function: Callee) -> Callee:
    """`unrecorded`, of an operator that makes tensors: writes and views while they were made do not count."""
    run = unrecorded(function)

    def made(*args: Any) -> Any:
        result = run(*args)
        for tensor in tensors_in((result,)):
            cell = tensor._cell
            if cell is not None and all(cell is not given._cell for given in tensors_in(args)):
                cell.version = 0
                tensor._base = None
        return result

    return made


def counting(overload: Overload, function: Callee) -> Callee:
    """What gives new results the version that the declaration says they have."""
    writes = overload.declaration.writes
    if not writes or overload.declaration.form != "functional":
        return function

    def counted(*args: Any) -> Any:
        result = function(*args)
        if result.numel():
            cell_of(result).version = writes
        return result

    return counted


def counting_writes(overload: Overload, function: Callee) -> Callee:
    """What gives results of inference tensors alone, outside of inference mode, the versions that PyTorch's have."""
    writes = INFERENCE_WRITES.get(overload.name)
    if writes is None:
        return function

    def counted(*args: Any) -> Any:
        result = function(*args)
        if all(tensor._keys & INFERENCE for tensor in tensors_in(args)):
            results = list(tensors_in((result,)))
            for tensor, version in zip(results, writes if len(writes) > 1 else writes * len(results), strict=False):
                if version and not tensor._keys & INFERENCE:
                    cell_of(tensor).version = version
        return result

    return counted


def _allowed(rule: Callee | None, function: Callee) -> Callee:
    """A factory that the rule may refuse first."""
    if rule is None:
        return function

    def run(*args: Any) -> Any:
        rule(*args)
        return function(*args)

    return run


def build(overload: Overload, function: Callee, backend: Any, key: int, call_keys: int) -> Callee:
    """The executor of an operator whose explicit composite is `function`, on a backend with elements."""
    assert key != META, "the meta device asks the rule alone"
    keys = result_keys(key, call_keys)
    if overload.declaration.kind == "elementwise":
        return _Elementwise(overload, function, backend, keys).general
    if overload.declaration.kind == "factory":
        return unrecorded(_allowed(rule_of(overload), function))
    return _plain(overload, function, backend, keys)


def build_inplace(overload: Overload, function: Callee, backend: Any) -> Callee:
    """The in-place form of an elementwise operator whose explicit composite is `function`."""
    return _Elementwise(overload, function, backend, 0).general_inplace


class _Elementwise(Elementwise):
    """An elementwise operator whose kernel is written in operators."""

    def __init__(self, overload: Overload, function: Callee, backend: Any, keys: int) -> None:
        composite = unrecorded(function)
        super().__init__(overload, [Kernel(composite)], None, backend, keys)
        self.composite = composite

    def write(self, kernel: Kernel, out: Any, result: dtype, args: tuple[Any, ...], compute: dtype) -> None:
        made = self.composite(*self.given(args, compute.compute))
        self.backend.copy(out, made._array)

    def value(self, kernel: Kernel, args: tuple[Any, ...], compute: dtype) -> Any:
        return _arrays(self.composite(*self.given(args, compute.compute)), self.tensors(args))

    def given(self, args: tuple[Any, ...], compute: dtype) -> list[Any]:
        """The arguments as the composite takes them: tensors of the computation dtype, numbers as they are."""
        given = list(args)
        for i in self.operands_at:
            value = args[i]
            if not isinstance(value, Tensor):
                continue
            if not isinstance(value._array, self.backend.array_type):
                given[i] = value.item()  # of no dimensions, on the CPU (`several_devices`)
            else:
                given[i] = _converted(value, compute if i in self.promoting else value._dtype.compute)
        return given


def widened(overload: Overload, args: tuple[Any, ...]) -> list[Any]:
    """What an explicit composite is handed where no backend's executor stands before it, as in a graph.

    Tensors are promoted where the operator is elementwise, and half types are in the dtype that they are computed in;
    who calls rounds the results to what the rule says.
    """
    if overload.declaration.kind != "elementwise":
        return [_widened(value) for value in args]
    operator = Elementwise(overload, [], None, None, 0)
    compute = operator.dtypes(args, operator.common_dtype(args))[0].compute
    given = list(args)
    for i in operator.operands_at:
        if isinstance(args[i], Tensor):
            given[i] = _converted(args[i], compute if i in operator.promoting else args[i]._dtype.compute)
    return given


def _plain(overload: Overload, function: Callee, backend: Any, keys: int) -> Callee:
    """Rule, composite, and the results as the rule says."""
    rule, composite = rule_of(overload), unrecorded(function)
    prepare = Preparation(overload, [], rule, backend, keys, None)  # type: ignore[arg-type]

    def run(*args: Any) -> Any:
        specs = rule(*args)  # type: ignore[misc]
        first = specs[0] if isinstance(specs, (list, tuple)) and specs else specs
        given = [_widened(value) for value in args]
        for name, value in (getattr(first, "arguments", None) or {}).items():
            given[prepare.names[name]] = value
        return prepare.finisher(specs, args)(_arrays(composite(*given), list(tensors_in(args))))

    return run


def _widened(value: Any) -> Any:
    """An argument, half types in the dtype that they are computed in."""
    if isinstance(value, Tensor):
        return _converted(value, value._dtype.compute)
    return [_widened(item) for item in value] if isinstance(value, list) else value


def _converted(tensor: Tensor, d: dtype) -> Tensor:
    return tensor if tensor._dtype is d else tensor.to(d)


def _arrays(made: Any, given: list[Tensor]) -> Any:
    """The arrays of a composite's results, none of which is an argument's memory."""
    if isinstance(made, Tensor):
        return (made.clone() if any(share_memory(made, tensor) for tensor in given) else made)._array
    return None if made is None else [_arrays(item, given) for item in made]
