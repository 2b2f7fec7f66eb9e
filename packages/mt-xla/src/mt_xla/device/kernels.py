"""Lowerings as kernels: each call is a program of one operator, compiled once for its shapes, dtypes and options."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mt_core.dispatch.registry import (
    CONTRACT_KERNELS,
    DECLARATIONS,
    Overload,
    find_overload,
    load_family,
    register_kernel,
)
from mt_core.dtypes import from_numpy_dtype
from mt_core.keys import META
from mt_core.meta_array import MetaArray
from mt_core.plugins.runtime_access import current_index
from mt_core.spec import Spec
from mt_core.tensor import new_tensor

from ..calls import Call, NotLowered, Value, checked
from ..lowering import LOWERINGS
from .array import XlaArray, fresh, read, write
from .sharding import device_of, is_spread, together

__all__ = ["LoweredKernel", "register_lowerings"]

#: Composites of which programs take the whole: their parts are many.
_WHOLE = frozenset(("convolution_backward",))
#: What is had without a program of its own.
_BY_CONTRACT = frozenset(("clone", "_to_copy", "detach"))
#: Operators whose second argument is a list of indices, masks among them.
_INDEXED = frozenset(("index.Tensor", "index_put"))
#: So many programs of an operator are kept.
_KEPT = 512


def register_lowerings(key: int, family: str) -> None:
    """Register the kernels of a family for the device of `key`."""
    load_family("mt_core.declarations", family)
    load_family("mt_core.contract_kernels", family)
    load_family("mt_core.shape_rules", family)
    for name, declaration in list(DECLARATIONS.items()):
        if declaration.family != family or declaration.functional is not None or name in CONTRACT_KERNELS:
            continue
        if name in LOWERINGS and _is_kernel(name, declaration.kind):
            kernel: Callable[..., Any] = LoweredKernel(find_overload(name), LOWERINGS[name])
            if name in _INDEXED:
                kernel = _with_places(kernel)
            register_kernel(key, (name,), kernel, half="native")


def _is_kernel(name: str, kind: str) -> bool:
    if name in _BY_CONTRACT or any(r.alias is not None for r in find_overload(name).schema.returns):
        return False
    return kind in ("elementwise", "plain", "factory") or name in _WHOLE


def _with_places(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of indices that takes masks too: as the places where they are true, which are counted on the host."""

    def run(self: XlaArray, indices: Any, *rest: Any) -> Any:
        found: list[Any] = []
        for index in indices:
            if index is not None and index.dtype in (np.bool_, np.uint8):
                with jax.enable_x64(True):
                    found.extend(fresh(places, index.box.index) for places in jnp.nonzero(read(index)))
            else:
                found.append(index)
        return kernel(self, found, *rest)

    return run


@functools.cache
def _warn() -> None:
    """Say once that operators one by one are slow."""
    text = (
        "operators on device 'xla' run one by one, each of them a program that is compiled for the shapes at hand; "
        "torch.compile(program, backend='xla') makes one program of all"
    )
    warnings.warn(text, UserWarning, stacklevel=4)


class LoweredKernel:
    """The lowering of an operator as its kernel."""

    def __init__(self, overload: Overload, lowered: Callable[..., Value]) -> None:
        self._overload, self._lowered = overload, lowered
        #: Whether numbers among operands are inputs of programs, rather than constants.
        self._opens_numbers = overload.declaration.kind == "elementwise"
        self._programs: dict[Any, _Program] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: Any) -> Any:
        _warn()
        program = self._program_for(args)
        try:
            return program(args)
        except jax.errors.ConcretizationTypeError:
            if not self._opens_numbers:
                raise
        # The lowering asks which number it is given: numbers are constants of its programs from now on.
        self._opens_numbers = False
        return self._program_for(args)(args)

    def _program_for(self, args: tuple[Any, ...]) -> _Program:
        opens = self._opens_numbers
        key = (opens, *[_form(value, opens) for value in args])
        program = self._programs.get(key)
        if program is None:
            with self._lock:
                if len(self._programs) >= _KEPT:
                    self._programs.clear()
                program = self._programs[key] = _Program(self._overload, self._lowered, args, opens)
        return program


class _Program:
    """One operator for arguments of one form."""

    def __init__(self, overload: Overload, lowered: Callable[..., Value], args: tuple[Any, ...], opens: bool) -> None:
        self._name, self._lowered = overload.name, lowered
        spec = args[-1] if args and isinstance(args[-1], Spec) else None
        self._is_factory = spec is not None
        metas = [_on_meta(value) for value in args]
        if spec is None:
            self._out = overload.call(*metas)
        else:
            self._out = new_tensor(MetaArray(tuple(spec.shape), spec.dtype.numpy_dtype), spec.dtype, META)
        self._places = [place for place, value in enumerate(args) if opens and _is_number(value)]
        for place in self._places:  # no lowering is to take a number for the one of the first call
            metas[place] = type(args[place])(1)
        self._fakes = tuple(metas)
        self._forms = [_shell(value) for value in args]
        self._run = jax.jit(self._traced)

    def _traced(self, arrays: list[Value], numbers: list[Value]) -> Any:
        given = iter(arrays)
        args = [_filled(form, given) for form in self._forms]
        for place, number in zip(self._places, numbers, strict=True):
            args[place] = number
        call = Call(self._name, self._fakes, self._out)
        with checked() as checks:
            found = self._lowered(call, *args)
        self._is_one = not isinstance(found, (list, tuple))
        self._written = list(call.written)
        self._checks = checks
        results = [found] if self._is_one else list(found)
        return results, list(call.written.values()), jnp.stack([c.holds for c in checks]) if checks else None

    def __call__(self, args: tuple[Any, ...]) -> Any:
        arrays = list(_arrays_in(args))
        index = _index_of(args[-1]) if self._is_factory else arrays[0].box.index
        numbers = [np.asarray(args[place]) for place in self._places]
        with jax.enable_x64(True), jax.default_device(device_of(index)):
            try:
                values = [read(a) for a in arrays]
                if any(is_spread(value) for value in values):
                    values = together(values, index)
                results, written, holds = self._run(values, numbers)
            except NotLowered as error:
                raise NotImplementedError(f"{error}, on device 'xla:{index}'") from error
            if holds is not None:
                self._refuse(np.asarray(holds))
        for place, value in zip(self._written, written, strict=True):
            write(args[place], value)
        made = [None if value is None else fresh(value, index) for value in results]
        return made[0] if self._is_one else tuple(made)

    def _refuse(self, holds: np.ndarray) -> None:
        for check, is_true in zip(self._checks, holds, strict=True):
            if not is_true:
                raise check.error(check.text)


def _index_of(spec: Spec) -> int:
    """The index of the device that a factory is told, the current one where it is told none."""
    wanted = None if spec.device is None else spec.device.index
    return current_index("xla") if wanted is None else wanted


class _Place:
    """Where an array stands among the arguments."""


_ARRAY = _Place()


def _shell(value: Any) -> Any:
    """An argument without its arrays."""
    if isinstance(value, (list, tuple)):
        return [_shell(item) for item in value]
    return _ARRAY if isinstance(value, XlaArray) else value


def _filled(form: Any, given: Iterator[Value]) -> Any:
    if isinstance(form, list):
        return [_filled(item, given) for item in form]
    return next(given) if form is _ARRAY else form


def _arrays_in(args: Any) -> Iterator[XlaArray]:
    for value in args:
        if isinstance(value, XlaArray):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _arrays_in(value)


def _is_number(value: Any) -> bool:
    if value.__class__ is int:
        return bool(-(2**63) <= value < 2**63)
    return value.__class__ is float or value.__class__ is complex


def _form(value: Any, opens: bool) -> Any:
    """What of an argument a program is compiled for."""
    if isinstance(value, XlaArray):
        return value.shape, value.dtype
    if isinstance(value, (list, tuple)):
        return tuple([_form(item, False) for item in value])
    if isinstance(value, Spec):
        return tuple(value.shape), value.dtype
    if opens and _is_number(value):
        return value.__class__
    # As text, NaN is itself and -0.0 is not 0.0; 1, 1.0 and True are three things.
    return (value.__class__, repr(value)) if isinstance(value, (int, float, complex)) else value


def _on_meta(value: Any) -> Any:
    if isinstance(value, XlaArray):
        return new_tensor(MetaArray(value.shape, value.dtype), from_numpy_dtype(value.dtype), META)
    return [_on_meta(item) for item in value] if isinstance(value, (list, tuple)) else value
