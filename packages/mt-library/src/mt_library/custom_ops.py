"""``torch.library.custom_op``: a Python function as an operator."""

import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mt_core import Tensor
from mt_core.cell import cell_of
from mt_core.dtypes import dtype
from mt_core.schema import Argument, parse_schema
from mt_core.tensor_types import tensors_in

from . import fake
from .autograd import autograd_kernel, check_differentiable
from .library import Library, check_autocast, find_operator, kernel_keys
from .ops import OpOverload, ops
from .registrations import where_called
from .schema_inference import infer_schema
from .tags import Tag, as_tags

__all__ = ["CustomOpDef", "custom_op", "find_custom_op"]

_log = logging.getLogger(__name__)

_definitions: "dict[str, CustomOpDef]" = {}


class ALIASING:
    """Whether the results of custom operators are checked for memory that they share."""

    checked = True


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> Any:
    """Make an operator of a function, which autograd and meta tensors then take as one opaque step.

    Parameters
    ----------
    name
        ``"namespace::name"``. An operator of that name that was made so before is replaced.
    fn
        The function; without it, a decorator is returned. It may not return its inputs, or views of them.
    mutates_args
        Names of the tensor arguments that it writes to, or ``"unknown"`` for all.
    device_types
        The devices that it is the kernel for; None for all.
    schema
        ``"(Tensor x) -> Tensor"``; by default inferred from the annotations (`infer_schema`).
    tags
        Words about the operator.

    Returns
    -------
    CustomOpDef
        Called like the function.

    Raises
    ------
    ValueError
        For unsupported annotations, or a schema that contradicts `mutates_args`.
    """

    def make(function: Callable[..., Any]) -> "CustomOpDef":
        text = schema if schema is not None else infer_schema(function, mutates_args=mutates_args)
        if schema is not None:
            _check_mutated(schema, mutates_args)
        namespace, opname = name.split("::")
        definition = CustomOpDef(namespace, opname, text, function, as_tags(tags))
        definition.register_kernel(device_types)(function)
        return definition

    return make if fn is None else make(fn)


def _check_mutated(schema: str, mutates_args: str | Iterable[str]) -> None:
    written = {argument.name for argument in parse_schema(f"f{schema}").arguments if argument.writes}
    if mutates_args != "unknown" and written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema "
            f"suggests that the op mutates {written}which is different from what was provided to us in "
            "`mutates_args`. Please make these consistent."
        )


def find_custom_op(op: Any) -> "CustomOpDef | None":
    """The custom operator of a name, an overload, or itself; None for operators that were not made by `custom_op`."""
    if isinstance(op, CustomOpDef):
        return op
    name = op.name() if isinstance(op, OpOverload) else op
    return _definitions.get(name) if isinstance(name, str) else None


class CustomOpDef:
    """An operator made by `custom_op`; its methods register what belongs to it."""

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: tuple[Tag, ...] = ()
    ) -> None:
        self._namespace = namespace
        self._name = name
        self._schema = schema
        self._init_fn = fn
        self._disabled_devices: set[str] = set()
        self._kernel_devices: set[str] = set()
        self._abstract_fn: Callable[..., Any] | None = None
        self._backward_fn: Callable[..., Any] | None = None
        self._setup_context_fn: Callable[..., Any] | None = None
        earlier = _definitions.pop(self._qualname, None)
        if earlier is not None:
            earlier._lib._destroy()
        self._lib: Library = Library(namespace, "FRAGMENT")
        compliant = Tag["pt2_compliant_tag"]
        if compliant not in tags:
            tags = (*tags, compliant)
        self._lib.define(f"{name}{schema}", tags=tags)
        self._operator = find_operator(self._qualname)
        self._refuse_keyword_only_tensors()
        packet_name, _, overload_name = name.partition(".")
        self._opoverload: OpOverload = getattr(
            getattr(getattr(ops, namespace), packet_name), overload_name or "default"
        )
        self._written = [i for i, a in enumerate(self._arguments) if a.writes]
        self._lib.impl(name, self._run_fake, "Meta")
        self._recorded = autograd_kernel(self._operator, self._run_backward, self._set_context)
        self._lib.impl(name, self._run_recorded, "Autograd")
        _definitions[self._qualname] = self

    def _refuse_keyword_only_tensors(self) -> None:
        if any(argument.is_tensor and argument.kwarg_only for argument in self._arguments):
            self._lib._destroy()
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: "
                f"{str(self._operator.schema).partition('::')[2]}"
            )

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _arguments(self) -> list[Argument]:
        return self._operator.overload.schema.arguments

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    # Kernels

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Callable[..., Any]:
        """Register the kernel for some device types, or for all (None); without the function, returns a decorator."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for key in kernel_keys(device_types):
                self._lib.impl(self._name, self._checked_kernel(key, function), key)
                self._kernel_devices.add(key)
            return function

        return register if fn is None else register(fn)

    def _checked_kernel(self, key: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def kernel(*args: Any, **kwargs: Any) -> Any:
            chosen = self._init_fn if key in self._disabled_devices else function
            result = chosen(*args, **kwargs)
            self._check_aliases((*args, *kwargs.values()), result)
            for position in self._written:
                for tensor in tensors_in(self._argument(position, args, kwargs)):
                    cell_of(tensor).version += 1
            return result

        return kernel

    def _argument(self, position: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return args[position] if position < len(args) else kwargs.get(self._arguments[position].name)

    def _check_aliases(self, arguments: Sequence[Any], result: Any) -> None:
        """Refuse outputs that share memory with an input or with each other."""
        if not ALIASING.checked:
            return
        seen = {_address(tensor) for tensor in tensors_in(list(arguments))}
        for tensor in tensors_in(result):
            address = _address(tensor)
            if address and address in seen:
                raise RuntimeError(
                    f"{self._name} (with implementation in {self._init_fn.__module__}): The output of this custom "
                    "operator (1) must not also be an input to this custom operator and (2) may not alias any "
                    "inputs to this custom operator or other returns. The most common way to trigger this error is "
                    "if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a clone of "
                    "the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not "
                    "return y."
                )
            seen.add(address)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Within the block, use a device's kernel or, with `enabled` False, the function the operator was made of."""
        (key,) = kernel_keys(device_type)
        if key not in self._kernel_devices:
            _log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.",
                "enable" if enabled else "disable",
                device_type,
            )
        was_disabled = key in self._disabled_devices
        self._set_disabled(key, not enabled)
        try:
            yield
        finally:
            self._set_disabled(key, was_disabled)

    def _set_disabled(self, key: str, disabled: bool) -> None:
        (self._disabled_devices.add if disabled else self._disabled_devices.discard)(key)

    # Shapes

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register what the operator returns for meta tensors: same arguments, empty results of the right shape."""
        self._abstract_fn = fake.as_kernel(self._qualname, fn)
        self._operator.fake = fn, where_called(2)
        return fn

    @fake.marked
    def _run_fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._abstract_fn is not None:
            return self._abstract_fn(*args, **kwargs)
        if not self._operator.overload.schema.returns:
            return None  # it only writes, and meta tensors have nothing to write to
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for torch.compile/export/fx tracing to "
            f"work. Please use `{self._name}.register_fake` to add an fake impl."
        )

    # Derivatives

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register the derivative: see `mt_library.register_autograd`."""
        check_differentiable(self._operator, self)
        self._backward_fn = backward
        self._setup_context_fn = setup_context

    def _set_context(self, **named: Any) -> None:
        if self._setup_context_fn is not None:
            self._setup_context_fn(**named)

    def _run_backward(self, ctx: Any, *grads: Any) -> Any:
        if self._backward_fn is None:
            raise RuntimeError(
                f"Trying to backward through {self._opoverload} but no autograd formula was registered. Please use "
                "register_autograd to add one."
            )
        return self._backward_fn(ctx, *grads)

    def _run_recorded(self, *args: Any, **kwargs: Any) -> Any:
        for position in self._written:
            if any(tensor.requires_grad for tensor in tensors_in(self._argument(position, args, kwargs))):
                raise RuntimeError(
                    f"{self._qualname} writes to argument '{self._arguments[position].name}', which requires grad, "
                    "and what that does to the gradient is not known. Call it under torch.no_grad(), or on a "
                    "detached tensor."
                )
        return self._recorded(*args, **kwargs)

    # Transforms, modes, autocast

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Register what the operator does to batched arguments; without the function, a decorator.

        See `mt_library.register_vmap`.
        """

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            self._lib.enter_vmap_rule(self._operator, rule)
            return rule

        return register if func is None else register(func)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register what a class of tensors or modes does with the operator; without the function, a decorator.

        See `mt_library.register_torch_dispatch`.
        """

        def register(rule: Callable[..., Any]) -> Callable[..., Any]:
            self._lib.register_rule(self._qualname, torch_dispatch_class, rule)
            return rule

        return register if fn is None else register(fn)

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> None:
        """Cast the floating-point tensors of calls where autocast is on, which is off inside.

        Parameters
        ----------
        device_type
            Whose tensors are cast, and for which autocast must be on.
        cast_inputs
            What they become.

        Raises
        ------
        ValueError
            For a device type without autocast.
        """
        check_autocast(device_type)
        self._lib.cast_under_autocast(find_operator(self._qualname), device_type, cast_inputs)


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
