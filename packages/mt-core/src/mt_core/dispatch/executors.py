"""Callables that carry an operator out on one backend, by the kind of its declaration.

`build` is called once per operator and call keys; what it returns is the end of every dispatch: it takes the schema's
arguments positionally, hands arrays to a kernel, and wraps what comes back. Where an operator has several kernels, the
first that accepts the call runs; where none does, what the dispatcher would use without them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cell import Cell, cell_of
from ..checks.memory import refuse_vast
from ..devices import device, index_flag
from ..dtypes import dtype, from_numpy_dtype
from ..errors import NoElements
from ..factories import check_options
from ..keys import BACKEND_MASK, CPU, FLAGS, META, OTHER_INDEX, STRIDED, WIDTH
from ..layout import suggested_format
from ..meta_array import MetaArray, contiguous_strides
from ..return_types import result_type
from ..spec import AS_MADE, Spec, is_contiguous
from ..state import excluding, mode_triple, nested, tls
from ..tensor import Tensor, new_tensor
from ..tensor_types import TENSORS, tensors_in
from . import elementwise, elementwise_paths, lists, views, writers
from .call_plans import (
    Call,
    arranged,
    changes,
    checked_once,
    choosing,
    kinds_of,
    leading,
    planned,
    planned_by_backend,
    unplanned,
)
from .dtype_checks import asked_after
from .free_strides import have_free_strides, reads_strides
from .kernel import Kernel, are_alike, quiet, runner_for
from .memory import check_no_partial_overlap, kept_apart, overlap_guard
from .registry import READS_ELEMENTS, SHAPE_RULES, WARNS, Overload, find_overload, load_family
from .writing import check_count, check_inplace_result, fit_out, out_elsewhere

__all__ = ["build", "infer", "rule_of", "with_named_results"]

Callee = Callable[..., Any]

#: Arguments of factories that their kernels do not get: the spec, which they get last, says all of it.
_FACTORY_OPTIONS = frozenset(("dtype", "layout", "device", "pin_memory"))


def build(
    overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, key: int, call_keys: int
) -> Callee | None:
    """The executor of an operator on a backend; None where the backend lacks what it needs.

    Parameters
    ----------
    otherwise
        What carries the operator out where no kernel accepts the call.
    key
        The backend's dispatch key.
    call_keys
        What was looked up (`mt_core.state`).
    """
    declaration = overload.declaration
    if not kernels and key != META and declaration.kind != "view":
        return None
    if overload.schema.is_mutable:
        return _mutating(overload, kernels, otherwise, backend, key, call_keys)
    if declaration.kind == "elementwise":
        return elementwise_paths.build(overload, kernels, otherwise, backend, result_keys(key, call_keys), call_keys)
    if declaration.kind == "view":
        return views.build(overload, rule_of(overload), kernels, otherwise, backend, key, call_keys)
    rule = rule_of(overload)
    if not kernels:
        return (
            None
            if rule is None
            else with_named_results(overload, shapes_only(rule, backend, result_keys(key, call_keys)))
        )
    return _plain(overload, kernels, otherwise, backend, key, call_keys)


def rule_of(overload: Overload) -> Callee | None:
    """The shape rule of an operator, its family loaded first; it refuses dtypes that are not declared."""
    load_family("mt_core.shape_rules", overload.family)
    rule = SHAPE_RULES.get(overload.name)
    return None if rule is None else asked_after(overload, rule)


def result_keys(key: int, call_keys: int) -> int:
    """The key bits of a fresh result: the backend's, and what the mode gives new tensors."""
    return key | mode_triple(call_keys)[2] | call_keys & OTHER_INDEX


# The description of results


def infer(overload: Overload, args: tuple[Any, ...]) -> Any:
    """The specs of an operator's results, found by a run on the meta device; None where they depend on elements."""

    def on_meta(value: Any) -> Any:
        if isinstance(value, Tensor):
            array = value._array
            described = MetaArray(
                array.shape, value._dtype.numpy_dtype, tuple(s * value._dtype.itemsize for s in value.stride())
            )
            return new_tensor(described, value._dtype, META | value._keys & STRIDED)
        return [on_meta(item) for item in value] if isinstance(value, (list, tuple)) else value

    arguments = overload.schema.arguments
    described = [_META if a.type == "Device" else on_meta(v) for a, v in zip(arguments, args, strict=True)]
    with excluding(_LAYERS):
        try:
            result = overload.cache[META | tls.mode | STRIDED](*described)
        except NoElements:
            return None
    return _spec_of(result)


#: Everything between a tensor and its shape rule.
_LAYERS = (1 << WIDTH) - 1 & ~(BACKEND_MASK | FLAGS)
_META = device("meta")


def _spec_of(result: Any) -> Any:
    if isinstance(result, Tensor):
        # (N, C, 1, 1) in channels_last is row-major as well
        strides = result.stride() if result._keys & STRIDED or suggested_format(result) is not None else None
        return Spec(result._array.shape, result._dtype, strides)
    return None if result is None else [_spec_of(item) for item in result]


def describer(overload: Overload) -> Callee:
    """``specs(*args)`` of an operator: its shape rule, else what a run on the meta device shows."""
    rule = rule_of(overload)
    return rule if rule is not None else lambda *args: infer(overload, args)


# Fresh results


def _plain(
    overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, key: int, call_keys: int
) -> Callee:
    """An operator that makes new tensors: rule, kernel, and the results laid out as the rule says."""
    keys = result_keys(key, call_keys)
    specs = describer(overload)
    if len(kernels) == 1 and kernels[0].accepts.alike and otherwise is not None:
        return lists.fresh(kernels[0], otherwise, backend, keys)
    if len(overload.schema.returns) == 1 and overload.schema.returns[0].alias is not None:
        return _kernel_of_view(overload, kernels, otherwise, backend, key, call_keys)
    prepare = Preparation(overload, kernels, specs, backend, keys, otherwise)
    reads = READS_ELEMENTS.get(overload.name) if rule_of(overload) is not None else None
    by_description = unplanned(overload, prepare) if overload.name in WARNS else planned(overload, prepare, True)
    if not call_keys & STRIDED and overload.name not in WARNS:
        by_description = planned(overload, _RowMajorPreparation(prepare, by_description), False)
    if prepare.is_factory and not key & (CPU | META):
        return _on_default_device(overload, by_description)
    if overload.name in WARNS:
        return by_description
    if reads is None:
        return by_description
    by_elements = _by_elements(prepare) or unplanned(overload, prepare)
    return lambda *args: by_elements(*args) if reads(*args) else by_description(*args)


def _on_default_device(overload: Overload, run: Callee) -> Callee:
    """A factory that is told the default device, whose index is no part of the call keys, where it is told none."""
    at = next(i for i, a in enumerate(overload.schema.arguments) if a.type == "Device")

    def place(*args: Any) -> Any:
        default = tls.default_device
        return run(*args) if args[at] is not None or default is None else run(*args[:at], default, *args[at + 1 :])

    return place


class Preparation:
    """Makes the `Call` for given arguments of one operator, backend and call keys."""

    def __init__(
        self, overload: Overload, kernels: list[Kernel], specs: Callee, backend: Any, keys: int, otherwise: Any
    ) -> None:
        self.overload = overload
        self.kernels = kernels
        self.specs = specs
        self.backend = backend
        self.keys = keys
        self.otherwise = otherwise
        self.singles, self.lists = overload.tensor_positions, overload.list_positions
        self.schema = overload.schema
        self.names = {a.name: i for i, a in enumerate(self.schema.arguments)}
        self.several = len(self.schema.returns) != 1 or self.schema.returns[0].is_list
        self.is_factory = overload.declaration.kind == "factory"
        self.wrap = wrapper(backend, keys)
        kinds = kinds_of(overload, True)
        #: Arguments up to the last that changes from call to call; positions of those that change, and of the others.
        self.lead = leading(kinds)
        self.changing = tuple(i for i in range(self.lead) if changes(kinds[i]))
        self.between = tuple(i for i in range(self.lead) if not changes(kinds[i]))

    def plan(self, args: tuple[Any, ...]) -> Call:
        """How a call with these arguments is carried out.

        Raises
        ------
        Exception
            What the shape rule raises.
        NotImplementedError
            When no kernel takes the call.
        """
        kernel = chosen(self.kernels, self.schema, args)
        if kernel is None:
            if self.otherwise is None:
                raise unaccepted(self.overload, args)
            return Call(None, None, None, self.otherwise)
        if self.is_factory:
            check_options(args[self.names["layout"]], args[self.names["pin_memory"]])
        specs = self.specs(*args)
        if not self.keys & META:
            refuse_vast(specs)
        first = specs[0] if isinstance(specs, (list, tuple)) and specs else specs
        if self.is_factory and specs is not None:
            specs.device = args[self.names["device"]]
        given = list(args)
        for name, value in (getattr(first, "arguments", None) or {}).items():
            given[self.names[name]] = value
        call = self.call(kernel, args, given, specs)
        index_is_known = not self.is_factory or self.keys & (CPU | META)
        if index_is_known and isinstance(specs, Spec) and _is_row_major(specs) and not self._may_move(specs, args):
            call.stored, call.dtype = specs.dtype.numpy_dtype, specs.dtype
        elif index_is_known and self.several and isinstance(specs, (list, tuple)) and self._are_rows(specs, args):
            call.several = tuple([None if one is None else (one.dtype.numpy_dtype, one.dtype) for one in specs])
            call.handed_over = result_type(self.overload.declaration)
        return call

    def _are_rows(self, specs: Any, args: tuple[Any, ...]) -> bool:
        """Whether each of several results is row-major, or not wanted."""
        return all(
            one is None or isinstance(one, Spec) and _is_row_major(one) and not self._may_move(one, args)
            for one in specs
        )

    @staticmethod
    def _may_move(spec: Spec, args: tuple[Any, ...]) -> bool:
        """Whether a row-major result may come with other strides along dimensions of size 1, as an argument has."""
        return not all(size > 1 for size in spec.shape) and any(
            isinstance(value, Tensor) and value._keys & STRIDED for value in args
        )

    def call(self, kernel: Kernel, args: tuple[Any, ...], given: list[Any], specs: Any) -> Call:
        """The call of a kernel: half types are widened, and arguments that the kernel does not get are left out.

        Parameters
        ----------
        given
            The arguments as the rule normalized them.
        """
        dropped = kernel.accepts.defaults | (_FACTORY_OPTIONS if self.is_factory else frozenset())
        kept = [i for name, i in self.names.items() if name not in dropped]
        lead = self.lead
        function, casts = kernel.function, self.casts(kernel, args)
        kept_leading = tuple(i for i in kept if i < lead)
        if len(kept_leading) < lead:
            function = choosing(lead, kept_leading)(function)
        replaced = [(i, given[i]) for i in self.changing if given[i] is not args[i]]
        if casts or replaced:
            function = self.converting(function, casts, replaced)
        rest = tuple(given[i] for i in kept if i >= lead) + ((specs,) if self.is_factory else ())
        between = tuple(given[i] for i in self.between)
        return Call(function, runner_for(kernel, self.backend), self.finisher(specs, args), None, between, rest)

    def converting(self, function: Callee, casts: list[tuple[int, Any]], replaced: list[tuple[int, Any]]) -> Callee:
        """The function of arrays in the dtypes that it computes in, and of what the rule gives in place of others."""

        def run(*arrays: Any) -> Any:
            given = list(arrays)
            for i, value in replaced:
                given[i] = value
            for i, compute in casts:
                given[i] = self.widened(given[i], compute)
            return function(*given)

        return run

    def widened(self, value: Any, compute: Any) -> Any:
        """An array, or a list of arrays and their dtypes, in the dtypes that the kernel computes in."""
        cast = self.backend.cast
        if isinstance(value, list):
            return [array if d is None else cast(array, d) for array, d in zip(value, compute, strict=True)]
        return cast(value, compute)

    def casts(self, kernel: Kernel, args: tuple[Any, ...]) -> list[tuple[int, Any]]:
        """(position, dtype or dtypes) of the arguments that are converted before the kernel gets them."""
        found: list[tuple[int, Any]] = []
        for i in self.singles:
            wanted = widened_dtype(kernel, self.backend, args[i])
            if wanted is not None:
                found.append((i, wanted))
        for i in self.lists:
            several = [widened_dtype(kernel, self.backend, t) for t in args[i] or ()]
            if any(several):
                found.append((i, several))
        return found

    def finisher(self, specs: Any, args: tuple[Any, ...]) -> Callee:
        """What makes tensors of the kernel's arrays."""
        if specs is None:
            return self.unspecified()
        if self.is_factory:
            index = None if specs.device is None else specs.device.index
            return self.on_its_index(self.wrap(specs, index))
        if not self.several and specs.strides is None:
            return self.wrap(specs, None)
        index = index_of(self.backend, args, self.singles, self.lists)
        if not self.several:
            return self.wrap(specs, index)
        finish = [self.one_of_several(spec, index) for spec in specs]
        handed_over = result_type(self.overload.declaration)
        return lambda arrays: handed_over([one(a) for one, a in zip(finish, arrays, strict=True)])

    def on_its_index(self, finish: Callee) -> Callee:
        """A factory's finisher: no tensor of the call tells the device index, so the array does."""
        if self.keys & (CPU | META):
            return finish

        def run(array: Any) -> Tensor:
            made = finish(array)
            made._keys |= index_flag(self.backend, made._array)
            return made

        return run

    def one_of_several(self, spec: Any, index: int | None) -> Callee:
        """What makes a tensor of an array, tensors of a list of them, or None of what is not wanted."""
        if spec is None:
            return lambda array: None
        if isinstance(spec, Spec):
            return self.wrap(spec, index)
        parts = [self.one_of_several(item, index) for item in spec]
        return lambda arrays: [one(a) for one, a in zip(parts, arrays, strict=True)]

    def unspecified(self) -> Callee:
        """Results whose description depends on elements: as the kernel returns them."""

        def wrap(array: Any) -> Tensor:
            array = self.backend.as_array(array)
            return self.wrap(Spec(array.shape, from_numpy_dtype(array.dtype)), None)(array)

        if not self.several:
            return wrap
        handed_over = result_type(self.overload.declaration)
        return lambda arrays: handed_over([wrap(a) for a in arrays])


class _RowMajorPreparation:
    """Makes the `Call` where descriptions leave strides out, for all tensors are row-major.

    Strides along dimensions of size 1 may still say how a result is laid out. Where the rule reads them, the plan kept
    under such a description hands the call to an executor whose descriptions have strides.
    """

    def __init__(self, prepare: Preparation, by_strides: Callee) -> None:
        self.prepare = prepare
        self.by_strides = by_strides
        self.backend = prepare.backend
        self.keys = prepare.keys

    def plan(self, args: tuple[Any, ...]) -> Call:
        """`Preparation.plan`, of a call that may be told apart further."""
        call = self.prepare.plan(args)
        if call.otherwise is None and have_free_strides(args) and reads_strides(self.prepare.specs, args):
            return Call(None, None, None, self.by_strides)
        return call


def _by_elements(prepare: Preparation) -> Callee | None:
    """The executor of an operator whose result follows from elements, where nothing is to be chosen or converted."""
    kernel, backend = prepare.kernels[0], prepare.backend
    if not kernel.accepts.everything() or kernel.half != "native" or prepare.several:
        return None
    function, specs, new = quiet(kernel, backend), prepare.specs, wrapper(backend, prepare.keys)
    array_type, contiguous, keys = backend.array_type, backend.contiguous, prepare.keys

    def run(*args: Any) -> Tensor:
        spec = specs(*args)
        array = function(*[_array_of(value) for value in args])
        if spec.strides is None and array.__class__ is array_type and array.dtype is spec.dtype.numpy_dtype:
            return new_tensor(contiguous(array), spec.dtype, keys)
        return new(spec, index_of(backend, args, prepare.singles, prepare.lists))(array)

    return run


def _array_of(value: Any) -> Any:
    if value.__class__ in TENSORS:
        return value._array
    return [_array_of(item) for item in value] if value.__class__ is list or value.__class__ is tuple else value


def chosen(kernels: list[Kernel], schema: Any, args: tuple[Any, ...]) -> Kernel | None:
    """The first kernel that accepts a call; None where none does."""
    for kernel in kernels:
        if kernel.accepts.everything() or kernel.accepts.takes(schema, args):
            return kernel
    return None


def unaccepted(overload: Overload, args: tuple[Any, ...]) -> NotImplementedError:
    """The error for a call that no kernel of the backend takes."""
    tensors = [
        t for value in args for t in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(t, Tensor)
    ]
    described = ", ".join(f"{t.dtype} {list(t.shape)}" for t in tensors)
    device = f" on {tensors[0].device}" if tensors else ""
    return NotImplementedError(
        f"no kernel of {overload.qualified_name}{device} takes tensors of {described or 'no kind'}"
    )


def widened_dtype(kernel: Kernel, backend: Any, value: Any) -> dtype | None:
    """The dtype that an argument is converted to before a kernel gets it; None where it stays as it is."""
    if kernel.half == "native" or not isinstance(value, Tensor):
        return None
    d = value._dtype
    if kernel.half is None and d in native_dtypes(backend):
        return None
    return d.compute if d.compute is not d else None


def native_dtypes(backend: Any) -> frozenset[dtype]:
    """The dtypes that a backend computes in."""
    return elementwise.native_dtypes(backend)


def index_of(backend: Any, args: tuple[Any, ...], singles: Any, lists: Any) -> int | None:
    """The device index of a call's tensors on the backend; None where it has no indices, or there are none."""
    for value in (*[args[i] for i in singles], *[t for i in lists for t in args[i] or ()]):
        if isinstance(value, Tensor) and isinstance(value._array, backend.array_type):
            return backend.index_of(value._array)
    return None


def _is_row_major(spec: Spec) -> bool:
    """Whether a result has row-major strides, along dimensions of size 1 too."""
    return spec.strides is None or tuple(spec.strides) == contiguous_strides(spec.shape)


def wrapper(backend: Any, keys: int) -> Callable[[Spec, int | None], Callable[[Any], Tensor]]:
    """(spec, device index) -> (array -> tensor), in the spec's dtype and layout whatever the kernel left."""
    array_type, as_array, cast, contiguous = backend.array_type, backend.as_array, backend.cast, backend.contiguous

    def wrap(spec: Spec, index: int | None) -> Callable[[Any], Tensor]:
        d = spec.dtype
        stored = d.numpy_dtype

        def row_major(array: Any) -> Tensor:
            if array.__class__ is not array_type:
                array = as_array(array)
            if array.dtype is not stored:
                array = cast(array, d)
            return new_tensor(contiguous(array), d, keys)

        def row_major_throughout(array: Any) -> Tensor:
            # Along dimensions of size 1 a row-major array of a kernel's may have any strides. A shape may also hang on
            # elements, which a rule does not see: it is the kernel's then.
            made = row_major(array)
            if made._array.strides != steps and made._array.shape == shape:
                owner = backend.owner(made._array)
                made._array = backend.as_strided(owner, shape, steps, backend.offset(owner, made._array), d)
            return made

        def as_made(array: Any) -> Tensor:
            array = array if array.dtype is stored else cast(array, d)
            in_elements = tuple([step // d.itemsize for step in array.strides])
            return new_tensor(array, d, keys if is_contiguous(tuple(array.shape), in_elements) else keys | STRIDED)

        shape, strides = spec.shape, spec.strides
        if strides is None or _is_row_major(spec):
            steps = tuple([step * d.itemsize for step in contiguous_strides(shape)])
            return row_major if all(size > 1 for size in shape) else row_major_throughout
        if strides is AS_MADE:
            return as_made
        # Strides along dimensions of size 1 are the rule's too: (N, C, 1, 1) in channels_last is contiguous as well.
        laid_out_keys = keys if is_contiguous(shape, strides) else keys | STRIDED
        in_bytes = tuple([s * d.itemsize for s in strides])

        def laid_out(array: Any) -> Tensor:
            if array.__class__ is array_type and array.dtype is stored and array.strides == in_bytes:
                return new_tensor(array, d, laid_out_keys)
            target = backend.empty(shape, d, strides, index)
            backend.copy(target, as_array(array))
            return new_tensor(target, d, laid_out_keys)

        return laid_out

    return wrap


def with_named_results(overload: Overload, function: Callee) -> Callee:
    """A composite, handing over what its schema says: a named tuple, or a tuple of views."""
    returns = overload.schema.returns
    several_views = len(returns) == 1 and returns[0].is_list and returns[0].alias is not None
    if not several_views and (len(returns) < 2 or returns[0].name is None):
        return function
    handed_over = result_type(overload.declaration)
    return lambda *args: handed_over(function(*args))


def shapes_only(rule: Any, backend: Any, keys: int) -> Callee:
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


def _kernel_of_view(
    overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, key: int, call_keys: int
) -> Callee:
    """A kernel for a composite that gives views (``narrow``, ``chunk``): its arrays are views of its first array."""
    functions = [(kernel, quiet(kernel, backend)) for kernel in kernels]
    keys = views.view_keys(key, call_keys)
    schema, handed_over = overload.schema, result_type(overload.declaration)
    many = schema.returns[0].is_list

    def run(self: Tensor, *args: Any) -> Any:
        for kernel, function in functions:
            if kernel.accepts.everything() or kernel.accepts.takes(schema, (self, *args)):
                made = function(self._array, *args)
                if many:
                    return handed_over([views.as_view(array, self, backend, keys) for array in made])
                return views.as_view(made, self, backend, keys)
        if otherwise is None:
            raise unaccepted(overload, (self, *args))
        return otherwise(self, *args)

    return run


# Kernels that write into arguments


def _mutating(
    overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, key: int, call_keys: int
) -> Callee | None:
    """Kernels that write into arguments, apart from those that an output has to be apart from."""
    run = _writing(overload, kernels, otherwise, backend, key, call_keys)
    return kept_apart(overload, run) if run is not None and overload.declaration.form == "out" and kernels else run


def _writing(
    overload: Overload, kernels: list[Kernel], otherwise: Callee | None, backend: Any, key: int, call_keys: int
) -> Callee | None:
    """Kernels that write into arguments; each written tensor's version is counted, and the first is returned."""
    if not kernels:
        rule = rule_of(overload)
        return _written(overload, rule, None, backend) if rule is not None else otherwise
    if overload.declaration.kind == "view":
        return _rebinding(kernels[0], backend)
    if overload.declaration.form == "out":
        rule = _out_rule(overload)
    else:
        rule = rule_of(overload) or _inplace_rule(overload)
    if len(kernels) == 1 and kernels[0].accepts.alike and otherwise is not None:
        if overload.list_positions:
            return lists.into(kernels[0], otherwise, backend)
        into_first = _into_first(kernels[0], otherwise, backend)
        return writers.before_kernels(overload, kernels, otherwise, into_first, backend, call_keys)
    ways = [(kernel, _written(overload, rule, kernel, backend)) for kernel in kernels]
    if overload.declaration.kind == "elementwise":
        ways = [(kernel, _reading_no_part(overload, way)) for kernel, way in ways]
    if len(ways) == 1 and ways[0][0].accepts.everything():
        return _planned_writes(overload, rule, kernels, ways[0][1], backend, call_keys)
    schema = overload.schema

    def run(*args: Any) -> Any:
        for kernel, way in ways:
            if kernel.accepts.everything() or kernel.accepts.takes(schema, args):
                return way(*args)
        if otherwise is None:
            raise unaccepted(overload, args)
        return otherwise(*args)

    if all(kernel.accepts.alike for kernel in kernels):
        return writers.before_kernels(overload, kernels, otherwise, run, backend, call_keys)
    return _planned_writes(overload, rule, kernels, run, backend, call_keys)


def _planned_writes(
    overload: Overload, rule: Callee | None, kernels: list[Kernel], otherwise: Callee, backend: Any, call_keys: int
) -> Callee:
    """Row-major tensors, with plans."""
    written = [i for i, a in enumerate(overload.schema.arguments) if a.writes]
    warns = WARNS.intersection((overload.name, overload.declaration.functional))
    if call_keys & STRIDED or written != [0] or overload.declaration.form == "out" or warns or rule is None:
        return otherwise
    if len(overload.schema.returns) != 1:
        return otherwise
    prepare = _WritePreparation(overload, rule, kernels, otherwise, backend)
    return planned_by_backend(overload, prepare, otherwise, strided=False, writes=True)


class _WritePreparation:
    """Makes the `Call` of an operator that writes into its first argument."""

    def __init__(
        self, overload: Overload, rule: Callee, kernels: list[Kernel], otherwise: Callee, backend: Any
    ) -> None:
        self.overload, self.rule, self.kernels = overload, rule, kernels
        self.otherwise, self.backend, self.keys = otherwise, backend, 0
        #: Which calls the rule reads elements of, as their description tells.
        self.reads: Callee = READS_ELEMENTS.get(overload.name, _never)

    def plan(self, args: tuple[Any, ...]) -> Call:
        """How a call with these arguments is carried out: without conversions, or by the ordinary way."""
        kernel = chosen(self.kernels, self.overload.schema, args)
        if kernel is None or self.reads(*args) or self._converts(kernel, args):
            return Call(None, None, None, self.otherwise)
        self.rule(*args)
        kinds = kinds_of(self.overload, False)
        function, between, rest = arranged(self.overload, kinds, kernel.accepts.defaults, kernel.function, args)
        return Call(function, runner_for(kernel, self.backend), None, None, between, rest)

    def _converts(self, kernel: Kernel, args: tuple[Any, ...]) -> bool:
        return any(widened_dtype(kernel, self.backend, tensor) is not None for tensor in tensors_in(args))


def _into_first(kernel: Kernel, otherwise: Callee, backend: Any) -> Callee:
    """A kernel for arrays alike, which nothing can be wrong with; other calls go the ordinary way."""
    function, runner, dtypes = kernel.function, runner_for(kernel, backend), kernel.accepts.dtypes
    also = kernel.accepts.also or _yes

    def run(*args: Any) -> Any:
        self = args[0]
        if dtypes is not None and self._dtype not in dtypes or not also(*args) or not are_alike(args):
            return otherwise(*args)
        arrays = [value._array if value.__class__ in TENSORS else value for value in args]
        try:
            runner.run_kernel(function, *arrays)
        except RuntimeError as error:
            nested(error, function, *arrays)
        cell = self._cell
        if cell is None:
            cell = self._cell = Cell(self)
        cell.version += 1
        return self

    return run


def _yes(*args: Any) -> bool:
    return True


def _never(*args: Any) -> bool:
    return False


def _written(overload: Overload, rule: Callee | None, kernel: Kernel | None, backend: Any) -> Callee:
    """The executor of an operator that writes into arguments: its rule, its kernel where it has one, versions."""
    schema = overload.schema
    written = [i for i, a in enumerate(schema.arguments) if a.writes]
    results = len(schema.returns)
    if rule is not None and _can_be_checked_once(overload):
        rule = checked_once(overload, rule)
    guard = overlap_guard(overload.declaration)
    if (
        kernel is not None
        and written == [0]
        and results == 1
        and kernel.half == "native"
        and not kernel.accepts.defaults
    ):
        return _writing_first(rule, quiet(kernel, backend), guard)
    run_kernel = _run_writing(overload, kernel, backend, written) if kernel is not None else None

    def run(*args: Any) -> Any:
        if rule is not None:
            rule(*args)
        targets = [t for i in written for t in _listed(args[i]) if t is not None]
        for target in targets:
            guard(target)
        if run_kernel is not None:
            run_kernel(args)
        for target in targets:
            cell_of(target).version += 1
        if results == 0:
            return None
        return args[written[0]] if results == 1 else tuple(args[i] for i in written)

    return run


def _run_writing(overload: Overload, kernel: Kernel, backend: Any, written: list[int]) -> Callable[[Any], None]:
    """A kernel that writes into the arguments at some positions, half types widened before it and rounded after it."""
    singles, lists = overload.tensor_positions, overload.list_positions
    kept = [i for i, a in enumerate(overload.schema.arguments) if a.name not in kernel.accepts.defaults]
    function = quiet(kernel, backend)

    def array_of(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        wanted = widened_dtype(kernel, backend, value)
        return value._array if wanted is None else backend.cast(value._array, wanted)

    def run_kernel(args: tuple[Any, ...]) -> None:
        arrays = list(args)
        for i in singles:
            arrays[i] = array_of(args[i])
        for i in lists:
            if args[i] is not None:
                arrays[i] = [array_of(t) for t in args[i]]
        function(*[arrays[i] for i in kept])
        for i in written:
            for tensor, array in zip(_listed(args[i]), _listed(arrays[i]), strict=True):
                if tensor is not None and array is not tensor._array:
                    backend.copy(tensor._array, array)

    return run_kernel


def _listed(value: Any) -> Any:
    """A list of arguments as it is, and a single one as a list."""
    return value if value.__class__ is list or value.__class__ is tuple else (value,)


def _writing_first(rule: Callee | None, function: Callee, guard: Callable[[Any], None]) -> Callee:
    """A kernel that takes arrays as they are stored and writes into the first."""

    def run(*args: Any) -> Any:
        if rule is not None:
            rule(*args)
        self = args[0]
        if self._keys & STRIDED:
            guard(self)
        function(*[_array_of(value) for value in args])
        cell = self._cell
        if cell is None:
            cell = self._cell = Cell(self)
        cell.version += 1
        return self

    return run


def _can_be_checked_once(overload: Overload) -> bool:
    """Whether the checks of an operator that writes follow from its arguments' description, and do nothing else.

    Those of an ``out=`` form give the output its shape, and may warn of that.
    """
    declaration = overload.declaration
    return (
        declaration.form != "out"
        and overload.name not in READS_ELEMENTS
        and not WARNS.intersection((overload.name, declaration.functional))
    )


def _reading_no_part(overload: Overload, run: Callee) -> Callee:
    """Refuses to read a part of what is written, which no description of the tensors shows."""
    arguments = [(i, overload.schema.arguments[i].writes) for i in overload.tensor_positions]
    written = next(i for i, writes in arguments if writes)
    others = [i for i, writes in arguments if not writes]

    def check(*args: Any) -> Any:
        for i in others:
            if isinstance(args[i], Tensor):
                check_no_partial_overlap(args[written], args[i])
        return run(*args)

    return check


def _inplace_rule(overload: Overload) -> Callee | None:
    """The errors of an in-place form: those of the functional one, and that the result fits."""
    functional = overload.declaration.functional
    if functional is None:
        return None
    specs = describer(find_overload(functional))
    exact = bool(find_overload(functional).declaration.exact_out)

    def check(self: Tensor, *args: Any) -> None:
        spec = specs(self, *args)
        if isinstance(spec, Spec):
            check_inplace_result(self, spec.shape, spec.dtype, exact)

    return check


def _out_rule(overload: Overload) -> Callee | None:
    """What an ``out=`` kernel asks for: outputs of the results' shapes, of dtypes that can take them."""
    arguments = overload.schema.arguments
    functional = overload.declaration.functional
    if functional is None:
        return rule_of(overload)
    specs = describer(find_overload(functional))
    outs = [i for i, a in enumerate(arguments) if a.writes]
    rest = [i for i, a in enumerate(arguments) if not a.writes]

    in_one_list = any(arguments[i].is_list for i in outs)

    def check(*args: Any) -> None:
        tensors = [args[i] for i in rest if isinstance(args[i], Tensor)]
        outputs = args[outs[0]] if in_one_list else [args[i] for i in outs]
        for out in outputs:
            if out is not None and elementwise.is_elsewhere(out, tensors):
                raise out_elsewhere(out, tensors[0])
        made = specs(*[args[i] for i in rest])
        if in_one_list:
            check_count(overload.name, outputs, made)
        for out, spec in zip(outputs, (made,) if isinstance(made, Spec) else made or (), strict=False):
            if spec is not None:
                fit_out(out, spec)

    return check


def _rebinding(kernel: Kernel, backend: Any) -> Callee:
    """A kernel for ``transpose_`` and its kin: it returns the view of the array that the tensor is from then on."""
    function = quiet(kernel, backend)

    def run(self: Tensor, *args: Any) -> Tensor:
        views.adopt_geometry(self, function(self._array, *args), backend)
        cell_of(self).version += 1
        return self

    return run
