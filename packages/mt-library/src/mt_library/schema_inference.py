"""From the annotations of a Python function to the schema of an operator."""

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union

from mt_core import Tensor, device, dtype

from .tags import Tag

__all__ = ["infer_schema"]

#: Python types and what schemas call them.
_BASES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtype: "ScalarType",
    device: "Device",
}
_NUMBER = frozenset((int, float, bool))
#: The spellings of lists and of what may be None.
_LISTS: tuple[Any, ...] = (typing.Sequence, typing.List, collections.abc.Sequence, list)  # noqa: UP006
_OPTIONAL: Any = typing.Optional
_SEQUENCES = (list, collections.abc.Sequence)
_ACCEPTED = frozenset(
    """
    Tensor Tensor? Tensor[] Tensor?[] SymInt SymInt? SymInt[] SymInt[]? float float? float[] float[]? bool bool? bool[]
    bool[]? str str? Scalar Scalar? Scalar[] ScalarType ScalarType? Device Device?
    """.split()
)
_RETURNED = frozenset("Tensor Tensor[] SymInt float bool Scalar".split())
_VALID_TYPES = (
    "Tensor, int, float, bool, str, int | float | bool, torch.dtype, torch.device, optional ones of these, and "
    "lists or Sequences of Tensor, Optional[Tensor], int, float, bool and int | float | bool"
)


def supported_param_types() -> dict[Any, str]:
    """Annotation of an argument -> what schemas call it."""
    number = int | float | bool
    bases = {**_BASES, number: "Scalar"}
    found: dict[Any, str] = {}
    for base in bases:
        lists = [of[base] for of in _LISTS]
        candidates = [base, _OPTIONAL[base], *lists, *(_OPTIONAL[of] for of in lists)]
        candidates += [of[_OPTIONAL[base]] for of in _LISTS]
        found.update({of: text for of in candidates if (text := _schema_type(of)) in _ACCEPTED and text is not None})
    return found


def supported_return_types() -> dict[Any, str]:
    """Annotation of a result -> what schemas call it."""
    return {
        Tensor: "Tensor", typing.List[Tensor]: "Tensor[]", list[Tensor]: "Tensor[]", int: "SymInt",  # noqa: UP006
        float: "float", bool: "bool", int | float | bool: "Scalar",
    }  # fmt: skip


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Tag | Sequence[Tag] | None = (),
) -> str:
    """The schema of an operator with the signature of a function.

    Parameters
    ----------
    prototype_function
        Annotated throughout.
    mutates_args
        Names of the tensor arguments that it writes to, or ``"unknown"`` for all of them.
    op_name
        Put before the arguments where given.
    tags
        Accepted as PyTorch accepts them; they do not change the schema.

    Returns
    -------
    ``"(Tensor x, SymInt n=1) -> Tensor"``.

    Raises
    ------
    ValueError
        For missing or unsupported annotations and defaults, and names in `mutates_args` that are no tensor arguments.
    """
    signature = _Signature(prototype_function)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
            "'unknown'. "
        )
    mutated = mutates_args if isinstance(mutates_args, str) else set(mutates_args)
    arguments, star = [], False
    for position, parameter in enumerate(signature.parameters):
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            arguments.append("*")
            star = True
        arguments.append(_argument(signature, position, parameter, mutated))
    if mutated != "unknown" and (unknown := set(mutated) - {p.name for p in signature.parameters}):
        signature.refuse(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
            "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    return f"{op_name or ''}({', '.join(arguments)}) -> {_returned(signature)}"


class _Signature:
    """A function's signature with its annotations as types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._signature = inspect.signature(function)
        self._names = getattr(function, "__globals__", {})
        self.parameters = list(self._signature.parameters.values())
        for parameter in self.parameters:
            if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
                self.refuse("We do not support positional-only args, varargs, or varkwargs.")
        self.return_annotation = self._signature.return_annotation

    def refuse(self, reason: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {reason} Got func with signature {self._signature})")

    def type_of(self, annotation: Any) -> Any:
        """An annotation, evaluated where it is a string."""
        if not isinstance(annotation, str):
            return annotation
        try:
            return typing.get_type_hints(types.SimpleNamespace(__annotations__={"it": annotation}), self._names)["it"]
        except (NameError, TypeError, SyntaxError, AttributeError) as error:
            self.refuse(
                f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using 'from "
                "__future__ import annotations', note that annotations are evaluated lazily as strings; make sure "
                "all types referenced in annotations are importable at module scope, not only inside a local "
                "function."
            )


def _schema_type(annotation: Any) -> str | None:
    """What schemas call a type; None for one they have no word for."""
    if annotation in _BASES:
        return _BASES[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Union or origin is types.UnionType:
        rest = tuple(part for part in parts if part is not type(None))
        inner = "Scalar" if frozenset(rest) == _NUMBER else _schema_type(rest[0]) if len(rest) == 1 else None
        return inner and inner + ("?" if len(rest) < len(parts) else "")
    if origin in _SEQUENCES and len(parts) == 1:
        inner = _schema_type(parts[0])
        return inner and inner + "[]"
    return None


def _argument(signature: _Signature, position: int, parameter: inspect.Parameter, mutated: str | set[str]) -> str:
    name = parameter.name
    if parameter.annotation is inspect.Parameter.empty:
        signature.refuse(f"Parameter {name} must have a type annotation.")
    annotation = signature.type_of(parameter.annotation)
    text = _schema_type(annotation)
    if text not in _ACCEPTED:
        hint = ""
        if typing.get_origin(annotation) is tuple:
            inner = typing.get_args(annotation)[0].__name__
            hint = (
                "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. For "
                f"example, list[{inner}].\n"
                "\n"
            )
        signature.refuse(
            f"Parameter {name} has unsupported type {annotation}. {hint}The valid types are: {_VALID_TYPES}."
        )
    assert text is not None
    is_tensor = text.startswith("Tensor")
    if mutated == "unknown" and is_tensor or mutated != "unknown" and name in mutated:
        if not is_tensor:
            signature.refuse(
                f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated"
            )
        text = f"Tensor(a{position}!){text.removeprefix('Tensor')}"
    return f"{text} {name}{_default(signature, parameter)}"


def _default(signature: _Signature, parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is inspect.Parameter.empty:
        return ""
    if value is None or isinstance(value, int | float):
        return f"={value}"
    if isinstance(value, str | device):
        return f'="{value}"'
    if isinstance(value, dtype):
        return f"={str(value).removeprefix('torch.')}"
    signature.refuse(
        f"Parameter {parameter.name} has an unsupported default value type {type(value)}. Please file an issue on "
        "GitHub so we can prioritize this."
    )


def _returned(signature: _Signature) -> str:
    if signature.return_annotation is inspect.Signature.empty:
        signature.refuse("No return type annotation was provided. Please add one.")
    annotation = signature.type_of(signature.return_annotation)
    if annotation is None or annotation is type(None):
        return "()"
    parts = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
    texts = [_schema_type(part) for part in parts]
    if any(text not in _RETURNED for text in texts):
        signature.refuse(
            f"Return has unsupported type {annotation}. The valid types are: {', '.join(sorted(_RETURNED))}."
        )
    return f"({', '.join(map(str, texts))})" if typing.get_origin(annotation) is tuple else str(texts[0])
