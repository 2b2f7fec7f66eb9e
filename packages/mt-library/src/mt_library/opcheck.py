"""``torch.library.opcheck``: whether an operator does what its registrations say."""

from collections.abc import Callable, Sequence
from typing import Any

import mt_core
from mt_core import Tensor
from mt_core.symbolic import SymInt
from mt_core.tensor_types import tensors_in
from mt_core.torch_names import resolve

from . import autograd_fallback
from .binding import bind
from .custom_ops import CustomOpDef
from .defaults import defaults_left_out
from .ops import OpOverload, OpOverloadPacket
from .questions import operator_named, registered_keys
from .schema_check import checked_call

__all__ = ["OpCheckError", "opcheck"]

_STATIC, _DYNAMIC = "test_aot_dispatch_static", "test_aot_dispatch_dynamic"


class OpCheckError(Exception):
    """An operator that does not pass a check."""


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check an operator's registrations on sample arguments.

    ``test_schema``
        It writes to the arguments that the schema says, and to no others; results are no views unless it says so.
    ``test_autograd_registration``
        If an argument requires grad, a derivative is registered: by `register_autograd`, or as an autograd kernel.
    ``test_faketensor``
        For fake tensors it returns what it returns for the arguments, but for the elements.

    ``test_aot_dispatch_static``, ``test_aot_dispatch_dynamic``
        It gives the same results and gradients, and writes the same, when ``torch._functorch.aot_autograd`` makes
        graphs of its forward and its backward, with sizes that are numbers or symbols; needs the distribution
        mindtorch, the second one with its extra ``symbolic``.

    Parameters
    ----------
    op, args, kwargs
        The operator and sample arguments, which are not changed.
    test_utils
        Which checks.
    atol, rtol
        How far values may be apart; by default as far as their dtypes suggest (``torch.testing.assert_close``).
    raise_exception
        Whether the first failure is raised.

    Returns
    -------
    Check -> ``"SUCCESS"``, or the error where failures are not raised.

    Raises
    ------
    OpCheckError
        For a failure.
    ValueError
        For a check that does not exist.
    NotImplementedError
        For one that needs what is not installed.
    """
    overload = _overload_of(op)
    bound = bind(overload._schema, args, kwargs or {}, overload._numbers)
    results: dict[str, Any] = {}
    for name in [test_utils] if isinstance(test_utils, str) else test_utils:
        check = _check_named(name, test_utils)
        try:
            if name in _COMPILED:
                _check_compiled(overload, bound, atol, rtol, name)
            else:
                check(overload, bound)
            results[name] = "SUCCESS"
        except Exception as failure:  # the operator is anybody's code, and what it raises is a finding
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {failure} (scroll up for stack trace)"
                ) from failure
            results[name] = failure
    return results


class _Failure(Exception):
    pass


def _overload_of(op: Any) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        return op.op_overloads()[0]
    if isinstance(op, OpOverload):
        return op
    raise ValueError(
        "opcheck(op, ...): op must be instance of torch._ops.OpOverload, e.g. torch.ops.aten.sin.default, got "
        f"{type(op)}"
    )


def _check_named(name: str, asked: Any) -> Callable[..., None]:
    if name in _CHECKS:
        return _CHECKS[name]
    raise ValueError(
        f"opcheck(op, ..., test_utils={(asked,) if isinstance(asked, str) else asked}), expected test_utils to be "
        f"subset of {tuple(_CHECKS)} but it was not"
    )


def _copied(value: Any) -> Any:
    """A deep copy of the tensors in a structure."""
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _run(overload: OpOverload, args: list[Any]) -> Any:
    with mt_core.no_grad():
        return overload._overload.call(*args)


def _check_schema(overload: OpOverload, args: list[Any]) -> None:
    positional, named = defaults_left_out(overload._overload.schema)(tuple(_copied(args)))
    with mt_core.no_grad():
        checked_call(overload, positional, named, overload)


def _check_autograd_registration(overload: OpOverload, args: list[Any]) -> None:
    if not any(tensor.requires_grad for tensor in tensors_in(args)):
        return
    keys = registered_keys(operator_named(overload.name()))
    if any(key.startswith("Autograd") or key == "CompositeImplicitAutograd" for key in keys):
        return
    given = {id(tensor) for tensor in tensors_in(args)}
    mode = autograd_fallback.get_mode()
    autograd_fallback.set_mode("nothing")
    try:
        result = overload._overload.call(*args)
    finally:
        autograd_fallback.set_mode(mode)
    if any(tensor.requires_grad and id(tensor) not in given for tensor in tensors_in((result,))):
        raise AssertionError(
            f"{overload.name()}: at least one output of this operator has requires_grad=True but the operator does "
            "not have an autograd kernel defined at an autograd key (e.g. DispatchKey::Autograd). This could mean "
            "that you have incorrectly registered an autograd kernel to a non-Autograd DispatchKey, which may lead "
            "to silently incorrect results. If your operator consists of regular PyTorch operations, consider not "
            "using an operator at all or registering your operator as CompositeImplicitAutograd. If you have an "
            "autograd.Function registered to a backend (CPU/CUDA/XPU) key, the correct location for it is the "
            "Autograd key."
        )


def _check_fake(overload: OpOverload, args: list[Any]) -> None:
    real = _run(overload, _copied(args))
    try:
        fake = _run_on_fakes(overload, args)
    except (RuntimeError, NotImplementedError) as error:
        raise _Failure(str(error)) from error
    real_tensors, fake_tensors = list(tensors_in(real)), list(tensors_in(fake))
    if len(real_tensors) != len(fake_tensors):
        raise _Failure(f"{len(fake_tensors)} tensors from fake tensors, but {len(real_tensors)} from concrete ones")
    for expected, found in zip(real_tensors, fake_tensors):
        difference = _difference(expected, found)
        if difference:
            raise _Failure(
                f"When comparing the output of {overload} on FakeTensor and concrete Tensors, found mismatched "
                f"tensor metadata: {difference}"
            )


def _difference(expected: Tensor, found: Tensor) -> str:
    """What of shape, dtype and strides differs; strides count where they tell elements apart."""
    if not _agree(expected.shape, found.shape):
        return f"Shapes {expected.shape} and {found.shape} are not equal!"
    if expected.dtype is not found.dtype:
        return f"Dtypes {expected.dtype} and {found.dtype} are not equal!"
    told, strides = expected.stride(), found.stride()
    for at, size in enumerate(expected.shape if expected.numel() else ()):
        if size > 1 and not _agree((told[at],), (strides[at],)):
            return f"Stride mismatch! Strides are {told} and {strides} (mismatched at {at})!"
    return ""


def _agree(expected: tuple[Any, ...], found: tuple[Any, ...]) -> bool:
    """Whether sizes or strides are equal; a number that depends on elements is not known, and agrees with any."""
    pairs = zip(expected, found)
    return len(expected) == len(found) and all(_is_unknown(size) or n == size for n, size in pairs)


def _is_unknown(size: Any) -> bool:
    return isinstance(size, SymInt) and size.node.hint is None


def _run_on_fakes(overload: OpOverload, args: list[Any]) -> Any:
    """What an operator gives for fake tensors; for tensors on meta, where the distribution mindtorch is not there."""
    try:
        mode = resolve("torch._subclasses.fake_tensor", "FakeTensorMode")(
            shape_env=resolve("torch.fx.experimental.symbolic_shapes", "ShapeEnv")()
        )
    except LookupError:
        return _run(overload, _each_tensor(args, lambda tensor: tensor.detach().to("meta")))
    fakes = _each_tensor(args, lambda tensor: mode.from_tensor(tensor.detach(), static_shapes=True))
    with mode:
        return _run(overload, fakes)


def _each_tensor(value: Any, change: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    return [_each_tensor(item, change) for item in value] if isinstance(value, list) else value


def _check_compiled(
    overload: OpOverload, args: list[Any], atol: float | None, rtol: float | None, name: str = _STATIC
) -> None:
    try:
        check = resolve("torch._functorch._aot_autograd.checks", "aot_autograd_check")
    except LookupError as error:
        raise NotImplementedError(f"opcheck: {name} needs the distribution mindtorch") from error
    check(overload._overload.call, args, atol, rtol, dynamic=name == _DYNAMIC)


_CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd_registration,
    "test_faketensor": _check_fake,
    _STATIC: _check_compiled,
    _DYNAMIC: _check_compiled,
}
_COMPILED = (_STATIC, _DYNAMIC)
