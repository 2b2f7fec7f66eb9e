"""``torch.library.register_*``: registrations by name, for operators of any origin."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from mt_core.dtypes import dtype

from .autograd import autograd_kernel, check_differentiable
from .custom_ops import CustomOpDef, find_custom_op
from .dispatch_keys import COMPOSITE, is_device_key
from .library import Library, check_autocast, find_operator, keep, kernel_keys, qualified_name
from .ops import OpOverload

__all__ = [
    "KernelFunction",
    "get_kernel",
    "impl_abstract",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

AnyOperator = str | OpOverload | CustomOpDef


def register_kernel(
    op: AnyOperator,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel for some device types, or for all (None); without the function, returns a decorator."""
    custom = find_custom_op(op)
    if custom is not None:
        return custom.register_kernel(device_types, func)
    name = qualified_name(op)  # type: ignore[arg-type]
    keys = kernel_keys(device_types)

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        library = lib or keep(name.partition("::")[0])
        for key in keys:
            library.impl(name, fn, key)
        return fn

    return register if func is None else register(func)


def register_fake(
    op: AnyOperator,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Register what an operator returns for meta tensors; without the function, returns a decorator.

    The function takes the operator's arguments and returns empty tensors of the right shape, dtype and device.

    Raises
    ------
    RuntimeError
        For an operator that does not exist; or has such a function already, where `allow_override` is False.
    """
    custom = find_custom_op(op)

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        if custom is not None:
            return custom.register_fake(fn)
        name = qualified_name(op)  # type: ignore[arg-type]
        find_operator(name)
        library = lib or keep(name.partition("::")[0])
        library._register_fake(name, fn, _stacklevel + (1 if func is None else 2), allow_override=allow_override)
        return fn

    return register if func is None else register(func)


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """The name `register_fake` once had; warns of it."""
    warnings.warn(
        "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use that instead; we will "
        "remove `torch.library.impl_abstract` in a future version of PyTorch.",
        FutureWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: AnyOperator,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Register the derivative of an operator.

    Parameters
    ----------
    op
        Writes to no argument, and has no keyword-only tensor arguments.
    backward
        ``backward(ctx, *grads)`` returns the gradients of the positional arguments, None for those without one.
        Written in differentiable operators, it can be differentiated itself.
    setup_context
        ``setup_context(ctx, inputs, output)`` saves what backward needs, tensors with ``ctx.save_for_backward``. Where
        the schema has keyword-only arguments, it takes a dict of them as ``keyword_only_inputs``.
    lib
        Whose lifetime the registration has; by default it stays.

    Raises
    ------
    RuntimeError
        For an operator that writes to its arguments.
    """
    custom = find_custom_op(op)
    if custom is not None:
        custom.register_autograd(backward, setup_context=setup_context)
        return
    name = qualified_name(op)  # type: ignore[arg-type]
    operator = find_operator(name)
    check_differentiable(operator, _dotted(name))
    library = lib or keep(name.partition("::")[0])
    library.impl(name, autograd_kernel(operator, backward, setup_context), "Autograd")


def _dotted(name: str) -> str:
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return f"{namespace}.{packet}.{overload or 'default'}"


class KernelFunction:
    """A kernel as it was registered."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def call_boxed(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel; the key set is ignored."""
        return self._function(*args, **kwargs)


def get_kernel(op: AnyOperator, dispatch_key: str) -> KernelFunction:
    """The kernel that was registered for an operator at a dispatch key through this module, or for all devices.

    Raises
    ------
    RuntimeError
        Where there is none.
    """
    custom = find_custom_op(op)
    name = custom._qualname if custom is not None else qualified_name(op)  # type: ignore[arg-type]
    key = getattr(dispatch_key, "name", str(dispatch_key))
    operator = find_operator(name)
    keys = (key, "CompositeExplicitAutograd", COMPOSITE) if is_device_key(key) else (key,)
    kernel = next((found for found in map(operator.kernel, keys) if found is not None), None)
    if kernel is None:
        raise RuntimeError(f"no kernel for {key} for {name}")
    return KernelFunction(kernel)


def register_vmap(op: AnyOperator, func: Any = None, /, *, lib: Library | None = None) -> Any:
    """Register what an operator does to arguments that ``torch.vmap`` has batched; without the function, a decorator.

    It is called as ``func(info, in_dims, *args)``, outside of that level of ``vmap``: ``info.batch_size`` and
    ``info.randomness`` tell of the level, `in_dims` has the batch dimension of each argument, or None. It returns the
    results and, in the same structure, their batch dimensions.

    Raises
    ------
    ValueError
        For no operator.
    RuntimeError
        For an operator that does not exist.
    """
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"register_vmap({op}): got unexpected type for op: {type(op)}")
    custom = find_custom_op(op)
    name = custom._qualname if custom is not None else qualified_name(op)  # type: ignore[arg-type]
    operator = find_operator(name)

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        library = lib or (custom._lib if custom is not None else keep(name.partition("::")[0]))
        library.enter_vmap_rule(operator, rule)
        return rule

    return register if func is None else register(func)


def register_torch_dispatch(
    op: AnyOperator, torch_dispatch_class: Any, func: Any = None, /, *, lib: Library | None = None
) -> Any:
    """Register what a class of tensors or modes does with an operator, in place of its ``__torch_dispatch__``.

    Without the function, returns a decorator. It is called as ``func(cls, operator, types, args, kwargs)`` for a class
    of tensors, and with the mode in place of `cls` for modes.

    Raises
    ------
    RuntimeError
        For an operator that does not exist, or that the class has a rule for already.
    """
    custom = find_custom_op(op)
    name = custom._qualname if custom is not None else qualified_name(op)  # type: ignore[arg-type]
    find_operator(name)
    name = name.removesuffix(".default")

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        (lib or keep(name.partition("::")[0])).register_rule(name, torch_dispatch_class, rule)
        return rule

    return register if func is None else register(func)


def register_autocast(op: AnyOperator, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None) -> None:
    """Cast the floating-point tensors of an operator's calls where autocast is on, which is off inside of it.

    Parameters
    ----------
    op, lib
        See `register_autograd`.
    device_type
        Whose tensors are cast, and for which autocast must be on.
    cast_inputs
        What they become.

    Raises
    ------
    ValueError
        For no operator, and for a device type without autocast.
    """
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"register_autocast({op}): got unexpected type for op: {type(op)}")
    custom = find_custom_op(op)
    if custom is not None:
        custom.register_autocast(device_type, cast_inputs)
        return
    name = qualified_name(op)  # type: ignore[arg-type]
    check_autocast(device_type)
    operator = find_operator(name)
    (lib or keep(name.partition("::")[0])).cast_under_autocast(operator, device_type, cast_inputs)


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None) -> NoReturn:
    """Refuse: Triton kernels need PyTorch's compiler.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(f"triton_op: Triton kernels are not supported; make '{name}' with custom_op instead")


def wrap_triton(triton_kernel: Any, /) -> NoReturn:
    """Refuse: Triton kernels need PyTorch's compiler.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError("wrap_triton: Triton kernels are not supported; call a custom_op instead")
