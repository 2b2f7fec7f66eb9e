"""Sample inputs of operators, and constructors for the shapes that recur.

A sample is made anew for every use by a function that gets a `TensorMaker`: with the same seed it makes the same
tensors on any device and in any memory layout, which is how results are compared across them.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .. import declarations, dtypes
from ..devices import backend_key, index_flag
from ..dispatch.dispatcher import backend_for
from ..dispatch.registry import DECLARATIONS, Overload, find_overload, load_family
from ..dtypes import dtype
from ..random import Generator, default_generator, manual_seed
from ..random.devices import default_generator_of
from ..tensor import Tensor, new_tensor

__all__ = [
    "Sample",
    "TensorMaker",
    "binary",
    "call",
    "cases",
    "comparable",
    "comparable_form",
    "constant_results",
    "constant_results_of",
    "constants",
    "constants_of",
    "declared_operators",
    "examined_operators",
    "depends_on_strides",
    "domain",
    "domain_of",
    "hidden_writes",
    "holds",
    "number_and_tensor",
    "private_results",
    "public_results",
    "random_values",
    "reduction",
    "same_samples",
    "sample_functions",
    "samples",
    "start_streams",
    "support",
    "support_of",
    "tensor_and_number",
    "unary",
    "uninitialized",
    "view",
    "writes_silently",
]

#: One dtype of each kind that operators tell apart.
TYPICAL_DTYPES = (
    dtypes.float32,
    dtypes.float64,
    dtypes.bfloat16,
    dtypes.int64,
    dtypes.uint8,
    dtypes.bool,
    dtypes.complex64,
)


class Sample:
    """Arguments of one call, as the operator's schema names them."""

    __slots__ = ("args", "kwargs")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        positional = [_describe(a) for a in self.args]
        return f"({', '.join([*positional, *(f'{k}={_describe(v)}' for k, v in self.kwargs.items())])})"


def _describe(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, Generator):
        return "generator"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_describe, value))}]"
    return repr(value)


def call(*args: Any, **kwargs: Any) -> Sample:
    """A sample of these arguments."""
    return Sample(args, kwargs)


class TensorMaker:
    """Makes a sample's tensors on one device.

    Parameters
    ----------
    device_type
        Where they live. Its backend needs `from_host`, `empty`, `copy` and `as_strided` only.
    strided : bool
        Leave a gap between neighbours of the last dimension, so that nothing with two elements there is contiguous.
    seed
        Two makers of one seed make the same elements.
    index : int, optional
        Which device of the type; the current one unless told.
    precise : bool
        Make floating point and complex elements in double precision, of the values that the dtype asked for holds.
    """

    def __init__(
        self,
        device_type: str = "cpu",
        *,
        strided: bool = False,
        seed: int = 0,
        precise: bool = False,
        index: int | None = None,
    ) -> None:
        self.device_type = device_type
        self.strided = strided
        self.precise = precise
        self.index = index
        self.seed = seed

    @functools.cached_property
    def random(self) -> np.random.RandomState:
        """A stream that stays the same across NumPy versions; not every sample draws, and it takes long to make."""
        return np.random.RandomState(self.seed)

    def __call__(self, *shape: int, dtype: dtype = dtypes.float32, low: float = -2, high: float = 2) -> Tensor:
        """Elements between `low` and `high`; truncated for integers, true and false alike for bool."""
        if dtype.is_complex:
            return self.of(self._uniform(shape, low, high) + 1j * self._uniform(shape, low, high), dtype)
        values = self._uniform(shape, low, high)
        return self.of(values > (low + high) / 2 if dtype is dtypes.bool else values, dtype)

    def _uniform(self, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
        return np.asarray(low + (high - low) * self.random.random_sample(shape))

    def ints(self, *shape: int, low: int = 0, high: int = 5, dtype: dtype = dtypes.int64) -> Tensor:
        """Integers from `low` to `high` - 1."""
        return self.of(np.asarray(self.random.randint(low, high, shape)), dtype)

    def bools(self, *shape: int) -> Tensor:
        return self.of(self._uniform(shape, 0, 1) < 0.5, dtypes.bool)

    def distinct(self, *shape: int, dtype: dtype = dtypes.float32) -> Tensor:
        """The integers from 0 on, shuffled: for operators whose result depends on which of two equals comes first."""
        size = int(np.prod(shape, dtype=int))
        return self.of(self.random.permutation(size).reshape(shape), dtype)

    def definite(self, *shape: int, dtype: dtype = dtypes.float32) -> Tensor:
        """Symmetric positive definite matrices in the last two dimensions."""
        root = self._uniform(shape, -1, 1)
        return self.of(root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1]), dtype)

    def generator(self) -> Generator:
        """The default random stream of the device; the CPU's for the meta device, which draws nothing."""
        return default_generator if self.device_type == "meta" else default_generator_of(self.device_type, self.index)

    def of(self, values: Any, dtype: dtype = dtypes.float32) -> Tensor:
        """A tensor of given elements."""
        host = np.asarray(values)
        if dtype.is_integral and host.dtype.kind == "f":
            host = host.astype(np.int64)
        stored = np.ascontiguousarray(host.astype(dtype.numpy_dtype)).reshape(host.shape)
        if self.precise and (dtype.is_floating_point or dtype.is_complex):
            dtype = dtypes.complex128 if dtype.is_complex else dtypes.float64
            stored = stored.astype(dtype.numpy_dtype)
        return self._place(stored, dtype)

    def _place(self, host: np.ndarray, d: dtype) -> Tensor:
        if not holds(self.device_type, d):  # refused when the sample is called: `arguments.call_with`
            return TensorMaker("meta", strided=self.strided)._place(host, d)
        backend = backend_for(backend_key(self.device_type))
        if not self.strided or not host.ndim:
            return self._tensor(backend.from_host(host, d, self.index), d)
        spread = np.zeros((*host.shape[:-1], 2 * host.shape[-1]), host.dtype)
        spread[..., ::2] = host
        whole = self._tensor(backend.from_host(spread, d, self.index), d)
        return whole.as_strided(host.shape, (*whole.stride()[:-1], 2))

    def _tensor(self, array: Any, d: dtype) -> Tensor:
        key = backend_key(self.device_type)
        return new_tensor(array, d, key | index_flag(backend_for(key), array))


@functools.cache
def holds(device_type: str, d: dtype) -> bool:
    """Whether a device holds tensors of a dtype."""
    try:
        backend_for(backend_key(device_type)).from_host(np.zeros(1, d.numpy_dtype), d, None)
    except NotImplementedError:
        return False
    return True


Generate = Callable[[TensorMaker], Iterable[Sample]]
#: An operator's arguments, tensors among them, to those that it is called with.
Domain = Callable[..., list[Any]]
#: (arguments, results) as host arrays, floating point in double precision, to the arrays that are compared.
Comparable = Callable[[list[Any], list[Any]], Iterable[Any]]

_GENERATORS: dict[str, list[Generate]] = {}
_UNINITIALIZED: set[str] = set()
_RANDOM: set[str] = set()
_DEPENDS_ON_STRIDES: set[str] = set()
_COMPARABLE: dict[str, Comparable] = {}
_SUPPORTS: dict[str, Callable[[Any], Any]] = {}
_DOMAINS: dict[str, Domain] = {}
_CONSTANTS: dict[str, frozenset[str]] = {}
_CONSTANT_RESULTS: dict[str, frozenset[int]] = {}
_PUBLIC_RESULTS: dict[str, int] = {}
_HIDDEN_WRITES: dict[str, frozenset[str]] = {}


def start_streams() -> None:
    """Start the random streams of all devices from one seed."""
    manual_seed(0)


def samples(*names: str) -> Callable[[Generate], Generate]:
    """Decorator: the function yields samples of these overloads."""

    def enter(function: Generate) -> Generate:
        for name in names:
            _GENERATORS.setdefault(name, []).append(function)
        return function

    return enter


def cases(names: str, *builders: Callable[[TensorMaker], Sample]) -> None:
    """Enter samples one by one: each builder makes one, for all overloads of `names` (separated by blanks)."""
    samples(*names.split())(lambda make: (build(make) for build in builders))


def uninitialized(names: str) -> None:
    """Mark operators whose results have a layout, and elements that mean nothing (``empty``)."""
    _UNINITIALIZED.update(names.split())


def same_samples(name: str, origin: str) -> None:
    """Give an operator the samples of another one, and the numbers that it may draw."""
    _GENERATORS[name] = _GENERATORS[origin]
    if origin in _SUPPORTS:
        _SUPPORTS[name] = _SUPPORTS[origin]


def random_values(names: str) -> None:
    """Mark operators that draw random numbers, in an order that follows the memory layout of what they fill."""
    _RANDOM.update(names.split())


def depends_on_strides(names: str) -> None:
    """Mark operators that read memory, not elements (``as_strided``): another layout is another result, or refused."""
    _DEPENDS_ON_STRIDES.update(names.split())


def comparable(names: str, form: Comparable) -> None:
    """Say what is compared of operators whose results are not unique: what their results must satisfy."""
    _COMPARABLE.update(dict.fromkeys(names.split(), form))


def support(names: str, allowed: Callable[[Any], Any]) -> None:
    """Say which numbers random operators may draw: an array of them to an array of bools."""
    _SUPPORTS.update(dict.fromkeys(names.split(), allowed))


def writes_silently(names: str, *arguments: str) -> None:
    """Name the arguments that operators write although PyTorch's schema does not say so (running statistics)."""
    _HIDDEN_WRITES.update(dict.fromkeys(names.split(), frozenset(arguments)))


def private_results(names: str, public: int) -> None:
    """Say that only the first `public` results are for callers; the rest is between a kernel and its derivative."""
    _PUBLIC_RESULTS.update(dict.fromkeys(names.split(), public))


def public_results(name: str, results: list[Any]) -> list[Any]:
    """The results of an operator that are compared with other implementations'."""
    return results[: _PUBLIC_RESULTS.get(name, len(results))]


def domain(names: str, form: Domain) -> None:
    """Say what operators take their arguments for (symmetric, triangular), where derivatives are checked.

    Derivatives by formula are those within this set; `form` leads into it whichever way an element is moved.
    """
    _DOMAINS.update(dict.fromkeys(names.split(), form))


def constants(names: str, *arguments: str) -> None:
    """Name the floating point arguments that operators have no derivative for, as in PyTorch (weights of classes)."""
    _CONSTANTS.update(dict.fromkeys(names.split(), frozenset(arguments)))


def constant_results(names: str, *positions: int) -> None:
    """Name the results that have no derivative, as in PyTorch (what a kernel keeps for the backward pass)."""
    _CONSTANT_RESULTS.update(dict.fromkeys(names.split(), frozenset(positions)))


def constant_results_of(name: str) -> frozenset[int]:
    """Positions of the results of an operator that have no derivative."""
    return _CONSTANT_RESULTS.get(name, frozenset())


def domain_of(name: str) -> Domain | None:
    """What leads an operator's arguments into the set on which its derivatives are defined."""
    return _DOMAINS.get(name)


def constants_of(name: str) -> frozenset[str]:
    """Arguments that an operator is not differentiated by."""
    return _CONSTANTS.get(name, frozenset()) | hidden_writes(name)


def comparable_form(name: str) -> Comparable | None:
    """What is compared of an operator's results; None for the results themselves."""
    return _COMPARABLE.get(name)


def support_of(name: str) -> Callable[[Any], Any]:
    """Which numbers a random operator may draw; finite ones, unless `support` says more."""
    return _SUPPORTS.get(name, np.isfinite)


def hidden_writes(name: str) -> frozenset[str]:
    """Arguments that an operator writes and its schema does not mark."""
    return _HIDDEN_WRITES.get(name, frozenset())


def has_values(name: str) -> bool:
    """Whether the elements of an operator's result are determined by its arguments."""
    return name not in _UNINITIALIZED


def is_random(name: str) -> bool:
    """Whether an operator draws random numbers."""
    return name in _RANDOM


def reads_memory(name: str) -> bool:
    """Whether an operator's result depends on the layout of its inputs."""
    return name in _DEPENDS_ON_STRIDES


# Recurring shapes


def unary(
    names: str, *rest: Any, low: float = -2, high: float = 2, dtypes: Iterable[dtype] = TYPICAL_DTYPES, **kwargs: Any
) -> None:
    """``f(tensor, *rest)`` over dtypes, on a matrix, a 0-dim tensor, nothing, and channels-last memory."""

    def generate(make: TensorMaker) -> Iterator[Sample]:
        for d in dtypes:
            yield call(make(2, 3, dtype=d, low=low, high=high), *rest, **kwargs)
        yield call(make(low=low, high=high), *rest, **kwargs)
        yield call(make(0, 3), *rest, **kwargs)
        yield call(make(2, 4, 5, 3, low=low, high=high).permute(0, 3, 1, 2), *rest, **kwargs)

    samples(*names.split())(generate)


def binary(
    names: str, *rest: Any, low: float = -2, high: float = 2, dtypes: Iterable[dtype] = TYPICAL_DTYPES, **kwargs: Any
) -> None:
    """``f(tensor, tensor, *rest)`` over dtypes, broadcast, transposed, of mixed dtypes, and with a 0-dim tensor."""
    dtypes = tuple(dtypes)

    def generate(make: TensorMaker) -> Iterator[Sample]:
        def operand(*shape: int, dtype: dtype = dtypes[0]) -> Tensor:
            return make(*shape, dtype=dtype, low=low, high=high)

        for d in dtypes:
            yield call(operand(2, 3, dtype=d), operand(2, 3, dtype=d), *rest, **kwargs)
        yield call(operand(2, 1, 3), operand(4, 1), *rest, **kwargs)
        yield call(operand(3, 2).t(), operand(2, 3), *rest, **kwargs)
        yield call(operand(2, 3, dtype=dtypes[-1]), operand(3), *rest, **kwargs)
        yield call(operand(2, 3), operand(dtype=dtypes[-1]), *rest, **kwargs)
        yield call(operand(0, 3), operand(1, 3), *rest, **kwargs)

    samples(*names.split())(generate)


def tensor_and_number(names: str, number: Any, *rest: Any, **kwargs: Any) -> None:
    """``f(tensor, number, *rest)``, as `unary`."""
    unary(names, number, *rest, **kwargs)


def number_and_tensor(
    names: str, number: Any, *, low: float = -2, high: float = 2, dtypes: Iterable[dtype] = TYPICAL_DTYPES
) -> None:
    """``f(number, tensor)`` over dtypes."""

    def generate(make: TensorMaker) -> Iterator[Sample]:
        for d in dtypes:
            yield call(number, make(2, 3, dtype=d, low=low, high=high))
        yield call(number, make(low=low, high=high))

    samples(*names.split())(generate)


def reduction(
    names: str, *dims: Any, dtypes: Iterable[dtype] = TYPICAL_DTYPES, keepdim: bool = True, **kwargs: Any
) -> None:
    """``f(tensor, dim[, keepdim=])`` for each of `dims` (without any: ``f(tensor)``), over dtypes and layouts."""
    chosen: tuple[tuple[Any, ...], ...] = tuple((dim,) for dim in dims) or ((),)

    def generate(make: TensorMaker) -> Iterator[Sample]:
        for dim in chosen:
            for d in dtypes:
                yield call(make.distinct(3, 4, dtype=d), *dim, **kwargs)
            yield call(make.distinct(2, 3, 4).permute(2, 0, 1), *dim, **kwargs)
            if keepdim and dims:
                yield call(make.distinct(3, 4), *dim, keepdim=True, **kwargs)

    samples(*names.split())(generate)


def view(names: str, *argument_lists: tuple[Any, ...], shape: tuple[int, ...] = (2, 3, 4), **kwargs: Any) -> None:
    """``f(tensor, *arguments)`` for each list of arguments, on a row-major, a transposed and an integer tensor."""

    def generate(make: TensorMaker) -> Iterator[Sample]:
        backwards = tuple(range(len(shape)))[::-1]
        for arguments in argument_lists:
            yield call(make(*shape), *arguments, **kwargs)
            yield call(make(*shape[::-1]).permute(backwards), *arguments, **kwargs)
            yield call(make.ints(*shape), *arguments, **kwargs)

    samples(*names.split())(generate)


# Finding them


def sample_functions(overload: Overload) -> list[Generate]:
    """Generators of an operator's samples: its own, else those of what it is the second name or another form of."""
    load_family("mt_core.testing.samples", overload.family)
    found = _GENERATORS.get(overload.name)
    if found is not None:
        return found
    for origin in _origins(overload):
        load_family("mt_core.testing.samples", DECLARATIONS[origin].family)
        if origin in _GENERATORS:
            return _GENERATORS[origin]
    return []


def _origins(overload: Overload) -> Iterator[str]:
    declaration = overload.declaration
    for name in (declaration.functional, declaration.alias_of):
        if name is not None:
            yield name
            yield from _origins(find_overload(name))


def declared_operators() -> list[Overload]:
    """Every overload that the core declares, by name; imports all of `mt_core.declarations`."""
    for module in pkgutil.iter_modules(declarations.__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{declarations.__name__}.{module.name}")
    # A name with a namespace is of a library, or of what tensor classes are asked for.
    return [find_overload(name) for name in sorted(DECLARATIONS) if "::" not in name]


def examined_operators() -> list[Overload]:
    """Those of `declared_operators` that ordinary tensors are handed to: samples are neither sparse nor quantized.

    Pinning is not among them, which needs an accelerator.
    """
    apart = ("sparse", "quantized")
    return [o for o in declared_operators() if o.family not in apart and o.name != "_pin_memory"]
