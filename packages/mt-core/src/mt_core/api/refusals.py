"""The errors for arguments that no overload takes, in PyTorch's words.

What PyTorch says follows from how it looks at a call. Of a list it looks at the first element alone when it chooses a
signature, and stumbles over the others later. The reasons that it gives compare names of types, so that an integer
never is a ``Number``, and a list of whatever never a ``tuple of ints``; and it knows a parameter's name by the last
word of what it has quoted, so that it does not know those with defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..schema import MISSING
from .arguments import REJECTED, type_name

if TYPE_CHECKING:
    from ..dispatch.registry import Packet
    from .binder import Parameter, Signature

__all__ = ["mismatch", "quoted_order", "type_text"]

_BOOL = (bool, type(None))
#: Classes whose names PyTorch writes with a module.
_FULL_NAMES = {name: f"torch.{name}" for name in ("dtype", "device", "layout", "memory_format", "Size")} | {
    "Generator": "torch._C.Generator"
}


def type_text(value: Any) -> str:
    """What PyTorch's messages call the type of a value: ``Tensor``, ``torch.dtype``, ``numpy.ndarray``."""
    cls = type(value)
    if cls.__module__ == "numpy":
        return f"numpy.{cls.__name__}"
    full = _FULL_NAMES.get(cls.__name__)
    return full if full is not None and cls.__module__.split(".")[0] in ("torch", "mt_core") else cls.__name__


def mismatch(packet: Packet, forms: list[Signature], args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    """The TypeError for arguments that no overload takes; signatures in old orders go unmentioned."""
    name = packet.name
    signatures = [form for form in forms if not form.is_old]
    if not signatures:
        return TypeError(f"{name}() has no overload for this form of call")
    stumbled = _stumbled(name, signatures, args, kwargs)
    if stumbled is not None:
        return stumbled
    count = len(args) + len(kwargs)
    plausible = [s for s in signatures if s.fewest() <= count <= s.parameter_count()]
    if len(forms) == 1 or len(plausible) == 1:
        return _single_mismatch(name, plausible[0] if plausible else signatures[0], args, kwargs)
    named = [f"{key}={type_text(kwargs[key])}" for key in reversed(kwargs)]
    got = ", ".join([*map(type_text, args), *named])
    if len(signatures) == 1:
        return _only_form_mismatch(name, signatures[0], args, kwargs, f"({got})")
    lines = []
    for signature in quoted_order(signatures):
        lines.append(f" * {signature}\n")
        if count == signature.quoted_count():
            lines.append(_why_not(signature, args, kwargs))
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{''.join(lines)}"
    )


# Lists whose first element fits


def _stumbled(
    name: str, signatures: list[Signature], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    """The error where a signature fits, but for elements of a list behind the first."""
    for signature in signatures:
        given, named = args, kwargs
        if signature.varargs and args and not isinstance(args[0], (tuple, list)):
            given = (args,)
        for position, parameter in enumerate(signature.parameters):
            by_position = position < len(given) and not parameter.kwarg_only
            value: Any = given[position] if by_position else named.get(parameter.name)
            at = _bad_element(parameter, value)
            if at > 0:
                fixed = value[:at]
                trial = (*given[:position], fixed, *given[position + 1 :]) if by_position else given
                if _fits(signature, trial, named if by_position else {**named, parameter.name: fixed}):
                    return TypeError(_unpacking(name, parameter, at, value[at]))
    return None


def _fits(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return signature.try_bind(args, kwargs) is not None


def _bad_element(parameter: Parameter, value: Any) -> int:
    """Where the first element stands that a list of numbers may not have; -1 if there is none."""
    argument = parameter.argument
    if not argument.is_list or argument.type not in ("int", "float") or not isinstance(value, (tuple, list)):
        return -1
    first = parameter.convert(value[:1]) is not REJECTED
    ends = range(1 if not first else 2, len(value) + 1)
    return next((end - 1 for end in ends if parameter.convert(value[:end]) is REJECTED), -1)


def _unpacking(name: str, parameter: Parameter, at: int, item: Any) -> str:
    expected, found = type_name(parameter.argument), type_text(item)
    where = f"{name}(): argument '{parameter.name}'"
    if parameter.argument.type == "float":
        return f"{where} must be {expected}, but found element of type {found} at pos {at + 1}"
    return f'{where} failed to unpack the object at pos {at + 1} with error "type must be {expected},but got {found}"'


# Several signatures


def _only_form_mismatch(
    name: str, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], got: str
) -> TypeError:
    """The error where one signature is quoted, and others, in orders of old, are not."""
    unknown, marks = _marked(signature, args, kwargs)
    if unknown:
        text = f"got unrecognized keyword arguments: {', '.join(unknown)}"
    else:
        text = f"got {marks if len(args) + len(kwargs) == signature.quoted_count() else got}"
        text += f", but expected {signature}"
    return TypeError(f"{name}() received an invalid combination of arguments - {text}")


def quoted_order(signatures: list[Signature]) -> list[Signature]:
    """The order of PyTorch's messages: by the alphabet, but a form behind those whose arguments take more."""
    waiting = sorted(signatures, key=_spelled)
    before = {id(s): [o for o in waiting if _is_narrower(s, o)] for s in waiting}
    quoted = [s for s in waiting if not before[id(s)]]
    for done in quoted:
        for signature in waiting:
            ahead = before[id(signature)]
            if done in ahead:
                ahead.remove(done)
                if not ahead:
                    quoted.append(signature)
    return quoted


def _is_narrower(signature: Signature, other: Signature) -> bool:
    """Whether arguments are as the other's, but for numbers in place of tensors, or an integer for a list of them."""
    kinds = [[_spelled_type(p) for p in s.parameters] for s in (signature, other)]
    pairs = list(zip(*kinds))
    return (
        len(kinds[0]) == len(kinds[1]) and kinds[0] != kinds[1]
        and all(a == b or (a, b) in _NARROWER for a, b in pairs)
    )  # fmt: skip


#: Types of arguments: the first is quoted behind the second.
_NARROWER = frozenset(
    [
        ("Scalar", "Tensor"), ("int64_t", "Tensor"), ("SymInt", "Tensor"), ("Scalar?", "Tensor?"),
        ("IntArrayRef", "int64_t"), ("IntArrayRef", "int64_t?"), ("TensorList", "IntArrayRef"),
    ]
)  # fmt: skip
#: Integers that say which dimension, and how many of what is no size: PyTorch keeps no symbols for these.
_PLAIN_INTEGERS = frozenset(
    "dim dim0 dim1 dims source destination start_dim end_dim axis0 axis1 bins steps n k r diagonal offset num_layers "
    "window_length decimals blank reduction edge_order correction N".split()
)
_SPELLED = {
    "float": "double", "str": "c10::string_view", "ScalarType": "ScalarType", "Layout": "Layout", "Device": "Device",
    "bool": "bool",
}  # fmt: skip


def _spelled(signature: Signature) -> str:
    """A signature as PyTorch sorts it."""
    parts = [_spelled_parameter(p) for p in signature.positional]
    keywords = [_spelled_parameter(p) for p in signature.parameters if p.kwarg_only]
    if signature.out is not None:
        keywords.append("Tensor out=None")
    return f"({', '.join(parts + (['*', *keywords] if keywords else []))})"


def _spelled_parameter(parameter: Parameter) -> str:
    default = "" if parameter.default is MISSING else f"={parameter.argument.default}"
    return f"{_spelled_type(parameter)} {parameter.name}{default}"


def _spelled_type(parameter: Parameter) -> str:
    argument = parameter.argument
    kind = _SPELLED.get(argument.type, argument.type)
    if argument.type == "int":
        plain = parameter.name in _PLAIN_INTEGERS
        kind = ("" if plain else "Sym") + "IntArrayRef" if argument.is_list else "int64_t" if plain else "SymInt"
    elif argument.is_list:
        kind = f"{kind}List" if kind in ("Tensor", "Scalar") else f"ArrayRef<{kind}>"
    if argument.is_list and argument.size is not None:
        kind += f"[{argument.size}]"
    return kind + "?" * argument.optional


def _why_not(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    unknown, marks = _marked(signature, args, kwargs)
    if unknown:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    return f"      didn't match because some of the arguments have invalid types: {marks}\n"


def _marked(signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[str], str]:
    """(names that the signature has not, the types of the arguments, marked where they do not fit)."""
    known = {p.name: p for p in signature.parameters if p.default is MISSING}
    unknown = [key for key in reversed(kwargs) if key not in known]
    marks = []
    for position, value in enumerate(args):
        parameter = signature.positional[position] if position < len(signature.positional) else None
        text, fits = _contents_text(value), parameter is not None and _looks_right(parameter, value)
        marks.append(text if fits else f"!{text}!")
    for key in () if unknown else reversed(kwargs):
        text = f"{key}={_contents_text(kwargs[key])}"
        marks.append(text if _looks_right(known[key], kwargs[key]) else f"!{text}!")
    return unknown, f"({', '.join(marks)}{', ' if kwargs else ''})"


def _looks_right(parameter: Parameter, value: Any) -> bool:
    """Whether PyTorch's message shows a value without marks: its type has the very name before the last word quoted."""
    return parameter.default is MISSING and type_text(value) == type_name(parameter.argument)


def _contents_text(value: Any) -> str:
    """The type of a value, with those of the elements of a list."""
    if isinstance(value, list):
        return f"{type_text(value)} of [{', '.join(map(type_text, value))}]"
    if isinstance(value, tuple):
        inside = ", ".join(map(type_text, value)) + "," * (len(value) == 1)
        return f"{type_text(value)} of ({inside})"
    return type_text(value)


# One signature


def _single_mismatch(name: str, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    most = len(signature.positional)
    if len(args) > most and not signature.varargs:
        if signature.method and most == 0:
            return TypeError(f"TensorBase.{name}() takes no arguments ({len(args)} given)")
        fewest = signature.required
        plural = "s" if most != 1 else ""
        if fewest < most:
            return TypeError(f"{name}() takes from {fewest} to {most} positional arguments but {len(args)} were given")
        was = "were" if len(args) != 1 else "was"
        return TypeError(f"{name}() takes {most} positional argument{plural} but {len(args)} {was} given")
    for position, parameter in enumerate(signature.parameters):
        given_by_position = position < len(args) and not parameter.kwarg_only
        if given_by_position and parameter.name in kwargs:
            return TypeError(f"{name}() got multiple values for argument '{parameter.name}'")
        value = args[position] if given_by_position else kwargs.get(parameter.name, MISSING)
        if value is MISSING:
            value = signature._second_name(parameter, kwargs)
        if value is MISSING:
            if parameter.default is MISSING:
                return _missing_arguments(name, signature, position, kwargs)
            continue
        if value is None and parameter.default is None:
            continue
        if position == 0 and signature.varargs and type(value) is int:
            value = args
        if parameter.convert(value) is REJECTED:
            return TypeError(_bad_argument(name, parameter, value, position if given_by_position else None))
    if signature.is_factory and kwargs.get("requires_grad").__class__ not in _BOOL:
        kind = type_text(kwargs["requires_grad"])
        return TypeError(f"{name}(): argument 'requires_grad' must be bool, not {kind}")
    for key in kwargs:
        if all(key != p.name and key not in p.second_names for p in signature.parameters):
            return TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    return TypeError(f"{name}() received an invalid combination of arguments")


def _missing_arguments(name: str, signature: Signature, position: int, kwargs: dict[str, Any]) -> TypeError:
    missing = [p.name for p in signature.positional[position:] if p.default is MISSING and p.name not in kwargs]
    quoted = ", ".join(f'"{m}"' for m in missing)
    return TypeError(f"{name}() missing {len(missing)} required positional arguments: {quoted}")


def _bad_argument(name: str, parameter: Parameter, value: Any, position: int | None) -> str:
    expected = type_name(parameter.argument)
    if position is None:
        return f"{name}(): argument '{parameter.name}' must be {expected}, not {type_text(value)}"
    where = f"{name}(): argument '{parameter.name}' (position {position + 1}) must be {expected}"
    at = _bad_element(parameter, value)
    if at >= 0:
        return f"{where}, but found element of type {type_text(value[at])} at pos {at}"
    return f"{where}, not {type_text(value)}"
