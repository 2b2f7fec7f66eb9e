"""One operator under a `FakeTensorMode`: from its arguments to fake results."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from mt_core import Tensor, pytree
from mt_core.autograd_state import no_grad
from mt_core.errors import NoElements, lacks_kernel
from mt_core.keys import PYTHON
from mt_core.printing import PRINT_OPTS
from mt_core.python_dispatch import has_handler, without_modes
from mt_core.state import excluding
from mt_core.tensor_types import tensors_in
from mt_library import registrations
from mt_library.fake import fake_implementation, refusing_sizes
from mt_library.ops import OpOverload
from mt_library.tags import Tag

from . import _cache, _constants, _real
from ._devices import on_meta, place_of
from ._errors import DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException
from ._fake import FakeTensor, fake_over, follow, stand_in
from ._rules import LIFTING, refuse_elements
from ._symbols import from_elements, without_symbolic_values

__all__ = ["carry_out", "written_call"]


def carry_out(mode: Any, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an operator gives under a mode; NotImplemented where there are tensors of another class with a handler."""
    tensors = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
    if any(has_handler(type(t)) and not isinstance(t, FakeTensor) for t in tensors):
        return NotImplemented
    if func._opname in LIFTING and not isinstance(args[0], FakeTensor):
        return _lifted(mode, args[0])
    converted = [t for t in tensors if not (isinstance(t, FakeTensor) and t.fake_mode is mode)]
    if converted:
        return _with_real_ones(mode, func, converted, args, kwargs)
    fakes = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, FakeTensor)]
    place = place_of(func, args, kwargs, fakes)
    real = None
    if mode.propagate_real_tensors:
        real = _real.computed(func, args, kwargs, _written(func, args, kwargs))
    if _constants.are_known(func, fakes, place):
        result = _with_constants(mode, func, args, kwargs, fakes, place)
    else:
        _constants.forget(_written(func, args, kwargs))
        result = _without_elements(mode, func, args, kwargs, place)
    if mode.propagate_real_tensors:
        _real.attach(result, real)
    return result


def _lifted(mode: Any, real: Tensor) -> Any:
    """The fake tensor of one that was made of Python data."""
    if not _constants.is_small(real):
        return mode.from_tensor(real)
    with without_modes(), excluding(PYTHON):
        constant = real.clone()
    return mode.fake_tensor_converter.from_real_tensor(mode, constant, make_constant=True)


def _with_real_ones(mode: Any, func: OpOverload, real: list[Tensor], args: Any, kwargs: Any) -> Any:
    """A call with fake tensors in place of real ones; a real one that is written to is returned as it is.

    Raises
    ------
    AssertionError
        Where the mode does not allow them, and for fake tensors of another mode.
    """
    for tensor in real:
        _refuse(mode, tensor, func, args, kwargs)
    fake_of = {id(tensor): mode.from_tensor(tensor) for tensor in real}
    fakes = pytree.tree_map_only(Tensor, lambda t: fake_of.get(id(t), t), (args, kwargs))
    result = carry_out(mode, func, *fakes)
    written = {id(fake_of.get(id(t), t)): t for t in _written(func, args, kwargs)}
    return pytree.tree_map_only(Tensor, lambda t: written.get(id(t), t), result)


def _refuse(mode: Any, tensor: Tensor, func: OpOverload, args: Any, kwargs: Any) -> None:
    if isinstance(tensor, FakeTensor):
        raise AssertionError(f"Mixing fake modes NYI x.fake_mode={tensor.fake_mode} vs self={mode}")
    if Tag.inplace_view in func.tags:
        raise AssertionError(
            f"Can't call metadata mutating ops on non-Fake Tensor inputs. Found in {written_call(func, args, kwargs)}"
        )
    if not mode.allow_non_fake_inputs:
        raise AssertionError(
            "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
            f"'allow_non_fake_inputs'. Found in {written_call(func, args, kwargs)}"
        )


def written_call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The text of a call, tensors without their elements: ``aten.neg.default(tensor([...], size=(2,)))``."""
    kept = PRINT_OPTS.edgeitems, PRINT_OPTS.threshold
    PRINT_OPTS.edgeitems, PRINT_OPTS.threshold = 0, 0
    try:
        with without_modes():
            texts = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    finally:
        PRINT_OPTS.edgeitems, PRINT_OPTS.threshold = kept
    return f"{func}({', '.join(texts)})"


def _written(func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[FakeTensor]:
    """The tensors that an operator writes to."""
    found: list[Any] = []
    for i, argument in enumerate(func._schema.parsed.arguments):
        if argument.writes:
            value = args[i] if i < len(args) else kwargs.get(argument.name)
            found += tensors_in(value if isinstance(value, (list, tuple)) else (value,))
    return found


# With elements


def _with_constants(mode: Any, func: OpOverload, args: Any, kwargs: Any, fakes: list[FakeTensor], place: Any) -> Any:
    """Computed with the elements that are known; they are known of the results where these are small."""
    real_args, real_kwargs = pytree.tree_map_only(FakeTensor, lambda fake: fake.constant, (args, kwargs))
    with without_modes(), excluding(PYTHON):
        computed = func(*real_args, **real_kwargs)
    constants = _constants.tensors_of(computed)
    if all(_constants.is_small(constant) for constant in constants):
        if _depends_on_elements(func):
            make = mode.fake_tensor_converter.from_real_tensor
            return pytree.tree_map_only(Tensor, lambda t: make(mode, t, make_constant=True), computed)
        result = _without_elements(mode, func, args, kwargs, place)
        for fake, constant in zip(_constants.tensors_of(result), constants, strict=True):
            _constants.remember(fake, constant)  # type: ignore[arg-type]
        return result
    for constant in constants:
        _constants.forget_aliases(constant)
    return _without_elements(mode, func, args, kwargs, place)


def _depends_on_elements(func: OpOverload) -> bool:
    return bool({Tag.data_dependent_output, Tag.dynamic_output_shape} & set(func.tags)) or func._opname in LIFTING


# Without elements


def _without_elements(mode: Any, func: OpOverload, args: Any, kwargs: Any, place: Any) -> Any:
    """Described by a fake implementation of a library's, else by the meta device."""
    env = mode.shape_env
    if env is not None:
        made = from_elements(mode, env, func, args, place)
        if made is not None:
            return made
    refuse_elements(func, args)
    if not mode.cache_enabled:
        return _anew(mode, func, args, kwargs, place)
    try:
        description, fakes = _cache.described(mode, func, args, kwargs, place)
    except _cache.Bypass as reason:
        _cache.note_bypass(reason)
        return _anew(mode, func, args, kwargs, place)
    is_known, result = _cache.given_before(description, mode, fakes, place)
    if not is_known:
        result = _anew(mode, func, args, kwargs, place)
        _cache.keep(description, fakes, result)
    return result


def _anew(mode: Any, func: OpOverload, args: Any, kwargs: Any, place: Any) -> Any:
    env = mode.shape_env
    operator = registrations.find(func.name()) if func.namespace != "aten" else None
    implementation = None if operator is None else fake_implementation(operator)
    if implementation is not None:
        with mode, refusing_sizes(DynamicOutputShapeException(func), None if env is None else env.new_size):
            return implementation(*args, **kwargs)
    with env.sizes_are_large() if env is not None else nullcontext():
        return _StandIns(mode, func, place).call(args, kwargs)


class _StandIns:
    """A call on meta tensors, which stand in for fake ones."""

    def __init__(self, mode: Any, func: OpOverload, place: Any) -> None:
        self.mode, self.func, self.place = mode, func, place
        self.fakes: dict[int, tuple[Tensor, FakeTensor]] = {}
        self.metas: dict[int, Tensor] = {}

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The operator's fake results.

        Raises
        ------
        UnsupportedOperatorException
            Where the meta device does not know the operator.
        """
        meta_args, meta_kwargs = pytree.tree_map_only(FakeTensor, self._stand_in, (args, kwargs))
        meta_args, meta_kwargs = on_meta(self.func, meta_args, meta_kwargs, bool(self.fakes))
        meta_args, meta_kwargs = without_symbolic_values(self.func, meta_args, meta_kwargs)
        with self._in_kernel():
            result = self._run(meta_args, meta_kwargs)
        for written in _written(self.func, meta_args, meta_kwargs):
            follow(self.fakes[id(written)][1], written)
        return pytree.tree_map_only(Tensor, self._fake, result)

    def _in_kernel(self) -> Any:
        return _all_of(without_modes(), excluding(PYTHON), no_grad())

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self.func(*args, **kwargs)
        except NoElements as error:
            raise _refusal(self.func) from error
        except NotImplementedError as error:
            if lacks_kernel(error):
                raise UnsupportedOperatorException(self.func) from error
            raise

    def _stand_in(self, fake: FakeTensor) -> Tensor:
        elem = self.metas.get(id(fake))
        if elem is None:
            elem = self.metas[id(fake)] = stand_in(fake)
            self.fakes[id(elem)] = elem, fake
        return elem

    def _fake(self, elem: Tensor) -> Tensor:
        known = self.fakes.get(id(elem))
        return fake_over(elem, self.mode, self.place) if known is None else known[1]


def _refusal(func: OpOverload) -> Exception:
    is_shape = Tag.data_dependent_output not in func.tags
    return DynamicOutputShapeException(func) if is_shape else DataDependentOutputException(func)


class _all_of:
    """Several context managers as one."""

    def __init__(self, *managers: Any) -> None:
        self._managers = managers

    def __enter__(self) -> None:
        for manager in self._managers:
            manager.__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        for manager in reversed(self._managers):
            manager.__exit__(*exc_info)
