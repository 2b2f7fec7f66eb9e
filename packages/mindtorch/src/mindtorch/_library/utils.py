"""``torch._library.utils``: questions about operators and their schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mt_core import Tensor
from mt_library import OpOverload, ops
from mt_library.function_schema import Argument, FunctionSchema, parsed_schema
from mt_library.registrations import find, where_called
from mt_library.schema_types import ListType, OptionalType, TensorType

__all__ = [
    "fill_defaults", "get_source", "has_fake_kernel", "has_kwarg_only_args", "has_kwarg_only_tensors",
    "has_tensor_arg", "is_builtin", "is_functional_schema", "is_inplace", "is_out", "is_tensor_like_type",
    "is_tensorlist_like_type", "iter_tensors", "lookup_op", "mutated_args_kwargs", "mutates_and_returns_first_arg",
    "parse_namespace", "zip_schema",
]  # fmt: skip


def parse_namespace(qualname: str) -> tuple[str, str]:
    """(namespace, name) of ``"ns::name"``. Raises ValueError for other texts."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> OpOverload:
    """The operator ``"ns::name"`` or ``"ns::name.overload"``. Raises AttributeError where there is none."""
    namespace, name = parse_namespace(qualname)
    name, _, overload = name.partition(".")
    return getattr(getattr(getattr(ops, namespace), name), overload or "default")  # type: ignore[no-any-return]


def get_source(stacklevel: int) -> str:
    """``"file:line"`` of a caller, so many calls above."""
    return where_called(stacklevel + 1)


def is_builtin(op: OpOverload) -> bool:
    """Whether an operator is PyTorch's own."""
    return op.namespace in ("aten", "prims", "prim")


def _as_schema(schema: Any) -> FunctionSchema:
    if isinstance(schema, FunctionSchema):
        return schema
    return parsed_schema(str(schema))


def is_functional_schema(schema: Any, *, allow_valid_view: bool = False) -> bool:
    """Whether an operator writes to nothing, returns something, and no views.

    With `allow_valid_view`, it may return one view of its first argument.
    """
    schema = _as_schema(schema)
    if schema.is_mutable or not schema.returns:
        return False
    if all(result.alias_info is None for result in schema.returns):
        return True
    return allow_valid_view and _is_valid_view(schema)


def _is_valid_view(schema: FunctionSchema) -> bool:
    if len(schema.returns) != 1 or not schema.arguments:
        return False
    of, result = schema.arguments[0].alias_info, schema.returns[0].alias_info
    rest = schema.arguments[1:]
    shared = of is not None and result is not None and bool(of.after_set & result.after_set)
    return shared and all(argument.alias_info is None for argument in rest)


def is_tensorlist_like_type(typ: Any) -> bool:
    """Whether a type is that of lists of tensors, either of which may be optional."""
    if isinstance(typ, OptionalType):
        typ = typ.getElementType()
    return isinstance(typ, ListType) and is_tensor_like_type(typ.getElementType())


def is_tensor_like_type(typ: Any) -> bool:
    """Whether a type is that of tensors, optional or not."""
    return isinstance(typ, TensorType) or typ == OptionalType.ofTensor()


def mutates_and_returns_first_arg(op: OpOverload) -> bool:
    """Whether an operator writes to its first argument alone, and returns it."""
    if op.namespace != "aten":
        return False
    arguments, returns = op._schema.arguments, op._schema.returns
    if len(returns) != 1 or not arguments or returns[0].alias_info is None:
        return False
    if returns[0].alias_info != arguments[0].alias_info or not arguments[0].is_write:
        return False
    return all(argument.alias_info is None for argument in arguments[1:])


def is_inplace(op: OpOverload) -> bool:
    """Whether an operator writes to its first argument and returns it, and is no ``out=`` form."""
    arguments, returns = op._schema.arguments, op._schema.returns
    if not arguments or not arguments[0].is_write or is_out(op):
        return False
    return len(returns) == 1 and returns[0].alias_info == arguments[0].alias_info


def is_out(op: OpOverload) -> bool:
    """Whether what an operator writes to are keyword-only arguments, which it returns."""
    written = [argument for argument in op._schema.arguments if argument.is_write]
    returns = op._schema.returns
    if not written or any(not argument.is_out for argument in written) or len(returns) != len(written):
        return False
    return all(result.alias_info == argument.alias_info for result, argument in zip(returns, written))


def fill_defaults(schema: FunctionSchema, args: Any, kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with the defaults of those that are left out."""
    positional, named = list(args), dict(kwargs)
    for position, argument in enumerate(schema.arguments):
        if argument.kwarg_only:
            named.setdefault(argument.name, argument.default_value)
        elif position >= len(args):
            positional.append(kwargs[argument.name] if argument.name in kwargs else argument.default_value)
            named.pop(argument.name, None)
    return tuple(positional), named


def zip_schema(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Argument, Any]]:
    """(argument of the schema, value) of each that is given."""
    for position, argument in enumerate(schema.arguments):
        if argument.name in kwargs:
            yield argument, kwargs[argument.name]
        elif position < len(args) and not argument.kwarg_only:
            yield argument, args[position]


def mutated_args_kwargs(schema: FunctionSchema) -> tuple[list[int], list[str]]:
    """(positions, names of keyword-only ones) of what an operator writes to."""
    written = [(i, argument) for i, argument in enumerate(schema.arguments) if argument.is_write]
    positional = [i for i, argument in written if not argument.kwarg_only]
    return positional, [argument.name for _, argument in written if argument.kwarg_only]


def has_tensor_arg(schema: FunctionSchema) -> bool:
    """Whether an argument may be a tensor, or hold some."""
    return any(is_tensor_like_type(a.type) or is_tensorlist_like_type(a.type) for a in schema.arguments)


def has_kwarg_only_args(schema: FunctionSchema) -> bool:
    """Whether an argument is keyword-only."""
    return any(argument.kwarg_only for argument in schema.arguments)


def has_kwarg_only_tensors(schema: FunctionSchema) -> bool:
    """Whether a keyword-only argument may be a tensor, or hold some."""
    tensors = (a for a in schema.arguments if is_tensor_like_type(a.type) or is_tensorlist_like_type(a.type))
    return any(argument.kwarg_only for argument in tensors)


def has_fake_kernel(op: OpOverload) -> bool:
    """Whether an operator tells what it gives for tensors without memory."""
    if is_builtin(op):
        return True
    operator = find(op.name())
    keys = ("Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
    return operator is not None and (operator.fake is not None or any(operator.kernel(key) for key in keys))


def iter_tensors(args: tuple[Any, ...], kwargs: dict[str, Any], allowed_nesting: int = 1) -> Iterator[Tensor]:
    """The tensors among arguments, and in lists and tuples so many levels deep."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            yield value
        elif allowed_nesting and isinstance(value, (tuple, list)):
            yield from iter_tensors(tuple(value), {}, allowed_nesting - 1)
