"""``torch.library.opcheck``: whether an operator does what its registrations say."""

from collections.abc import Callable, Sequence
from typing import Any

import mt_core
from mt_core import Tensor
from mt_core.cell import cell_of
from mt_core.tensor_types import tensors_in

from .binding import bind
from .custom_ops import CustomOpDef
from .ops import OpOverload, OpOverloadPacket
from .registrations import find

__all__ = ["OpCheckError", "opcheck"]


class OpCheckError(Exception):
    """An operator that does not pass a check."""


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = ("test_schema", "test_autograd_registration", "test_faketensor"),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, str]:
    """Check an operator's registrations on sample arguments.

    ``test_schema``
        It writes to the arguments that the schema says, and to no others; results are no views unless it says so.
    ``test_autograd_registration``
        If an argument requires grad, a derivative is registered: by `register_autograd`, or as an autograd kernel.
    ``test_faketensor``
        For meta tensors it returns what it returns for the arguments, but for the elements.

    PyTorch's further checks concern its compiler, which does not exist here; to ask for one is an error.

    Parameters
    ----------
    op, args, kwargs
        The operator and sample arguments, which are not changed.
    test_utils
        Which checks.
    raise_exception
        Whether the first failure is raised.

    Returns
    -------
    Check -> ``"SUCCESS"``, or the error where failures are not raised.

    Raises
    ------
    OpCheckError
        For a failure.
    ValueError, NotImplementedError
        For a check that does not exist, or not here.
    """
    overload = _overload_of(op)
    bound = bind(overload._schema, args, kwargs or {}, overload._numbers)
    results: dict[str, str] = {}
    for name in [test_utils] if isinstance(test_utils, str) else test_utils:
        try:
            _check_named(name, test_utils)(overload, bound)
            results[name] = "SUCCESS"
        except _Failure as failure:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {failure}") from failure
            results[name] = OpCheckError(str(failure))  # type: ignore[assignment]
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
    raise ValueError(f"opcheck(op, ...): expected an operator of torch.ops or of custom_op, but got {type(op)}")


def _check_named(name: str, asked: Any) -> Callable[[OpOverload, list[Any]], None]:
    if name in _CHECKS:
        return _CHECKS[name]
    if name in _CHECKS_OF_THE_COMPILER:
        raise NotImplementedError(
            f"opcheck: {name} checks compilation with AOTDispatcher, which mindtorch does not have"
        )
    raise ValueError(
        f"opcheck(op, ..., test_utils={(asked,) if isinstance(asked, str) else asked}), expected test_utils to be "
        f"subset of {(*_CHECKS, *_CHECKS_OF_THE_COMPILER)} but it was not"
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
    args = _copied(args)
    before, versions = _copied(args), [_version(argument) for argument in args]
    try:
        result = _run(overload, args)
    except RuntimeError as error:  # the operator found out by itself
        raise _Failure(str(error)) from error
    for argument, old, new, version in zip(overload._overload.schema.arguments, before, args, versions):
        changed = _version(new) != version or not _same_elements(old, new)
        if changed and not argument.writes:
            raise _Failure(f"Argument {argument.name} is not defined as mutable but was mutated")
    _check_views(overload, args, result)


def _version(value: Any) -> list[int]:
    return [cell_of(tensor).version for tensor in tensors_in(value)]


def _same_elements(one: Any, other: Any) -> bool:
    pairs = zip(tensors_in(one), tensors_in(other))
    return all(bool(((a == b) | ((a != a) & (b != b))).all()) for a, b in pairs)


def _check_views(overload: OpOverload, args: list[Any], result: Any) -> None:
    results = result if isinstance(result, tuple) else (result,)
    blocks = {tensor.untyped_storage().data_ptr() for tensor in tensors_in(args)} - {0}
    for number, (value, declared) in enumerate(zip(results, overload._overload.schema.returns)):
        for tensor in tensors_in(value):
            if declared.alias is None and tensor.untyped_storage().data_ptr() in blocks:
                raise _Failure(f"Output {number} is not declared to be a view of an argument but is one")


def _check_autograd_registration(overload: OpOverload, args: list[Any]) -> None:
    if not any(tensor.requires_grad for tensor in tensors_in(args)):
        return
    operator = find(overload.name())
    if operator is None or not operator.defined_here:
        return
    keys = {key for key, kernels in operator.kernels.items() if kernels}
    if not any(key.startswith("Autograd") or key == "CompositeImplicitAutograd" for key in keys):
        raise _Failure(
            f"{overload}: no autograd kernel was registered; use torch.library.register_autograd, so that gradients "
            "do not depend on which of the operators that the kernel calls happen to be recorded"
        )


def _check_fake(overload: OpOverload, args: list[Any]) -> None:
    real = _run(overload, _copied(args))
    try:
        fake = _run(overload, _on_meta(args))
    except (RuntimeError, NotImplementedError) as error:
        raise _Failure(str(error)) from error
    real_tensors, fake_tensors = list(tensors_in(real)), list(tensors_in(fake))
    if len(real_tensors) != len(fake_tensors):
        raise _Failure(f"{len(fake_tensors)} tensors from meta tensors, but {len(real_tensors)} from concrete ones")
    for expected, found in zip(real_tensors, fake_tensors):
        for fact, of in (("Shapes", Tensor.size), ("Dtypes", lambda t: t.dtype), ("Strides", Tensor.stride)):
            if of(expected) != of(found):
                raise _Failure(
                    f"When comparing the output of {overload} on FakeTensor and concrete Tensors, found mismatched "
                    f"tensor metadata: {fact} {of(expected)} and {of(found)} are not equal!"
                )


def _on_meta(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().to("meta")
    return [_on_meta(item) for item in value] if isinstance(value, list) else value


_CHECKS: dict[str, Callable[[OpOverload, list[Any]], None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd_registration,
    "test_faketensor": _check_fake,
}
_CHECKS_OF_THE_COMPILER = ("test_aot_dispatch_static", "test_aot_dispatch_dynamic")
