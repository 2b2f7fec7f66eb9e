"""Binding Python arguments to overloads: the path for calls that a wrapper's shortest form does not cover.

The overloads of a packet are tried in order; the first whose parameters accept the arguments is called. Where none
does, the error is PyTorch's, word for word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..deprecation import warn_once
from ..dispatch.registry import PACKETS, Overload, Packet, Resolver, find_overload
from ..factories import call_factory, check_out_options, pin_position, requiring_grad
from ..overriding import handed_over, must_ask
from ..schema import MISSING, Argument, Schema, Type
from ..tensor_types import TENSORS
from .arguments import REJECTED, converter, default_of, type_name, wrapping
from .refusals import mismatch

__all__ = ["bind_schema", "call_method", "call_method_as_given", "call_packet", "call_packet_as_given", "signatures_of"]

#: Second names that NumPy users write.
_NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}


class Parameter:
    """One Python parameter of an overload."""

    __slots__ = ("name", "argument", "convert", "default", "kwarg_only", "second_names")

    def __init__(self, name: str, argument: Argument, number_ok: bool, position: int = 0) -> None:
        self.name = name
        self.argument = argument
        self.convert = converter(argument, number_ok, position)
        self.default = python_default(argument)
        self.kwarg_only = argument.kwarg_only
        self.second_names = _NUMPY_NAMES.get(name, ())

    def __str__(self) -> str:
        text = f"{type_name(self.argument)} {self.name}"
        if self.default is MISSING:
            return text
        # ``float std=1`` and ``int[2] stride=1`` are quoted as they are declared.
        as_declared = self.argument.type == "float" or self.argument.is_list
        return f"{text} = {_default_text(self.argument.default if as_declared else self.default)}"


def python_default(argument: Argument) -> Any:
    """The default of a function's argument, where the operator's may be another (`schema.MEAN`)."""
    return getattr(argument.default, "in_python", default_of(argument))


def _default_text(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"{{{','.join(map(str, value))}}}" if value else "None"
    return repr(value) if not isinstance(value, str) else f'"{value}"'


#: The classes of what ``requires_grad=`` may be.
_BOOL = (bool, type(None))

#: What messages say of the options of factories, which always come last.
_OPTION_DEFAULTS = {"dtype": "None", "layout": "None", "device": "None", "pin_memory": "False"}


class Signature:
    """The Python form of an overload: a function (self is called ``input``) or a method (self is no parameter).

    `numbers` are tensor arguments that are numbers in this form, where PyTorch lists it as a signature of its own.
    """

    #: Whether this is an order of arguments that PyTorch warns of.
    is_old = False

    def __init__(
        self, overload: Overload, method: bool, numbers: frozenset[str] = frozenset(), takes_out: bool = True
    ) -> None:
        declaration = overload.declaration
        arguments = declaration.schema.arguments
        self.overload = overload
        self.method = method
        self.self_at = next((i for i, a in enumerate(arguments) if a.name == "self"), 0)
        either = frozenset() if declaration.number_signatures else declaration.numbers
        self.parameters: list[Parameter] = []
        for position, argument in enumerate(arguments):
            if method and position == self.self_at:
                continue
            if argument.name in numbers:
                argument = Argument(argument.name, Type("Scalar"), argument.default, argument.kwarg_only)
            name = "input" if argument.name == "self" and argument.is_tensor and not argument.is_list else argument.name
            parameter = Parameter(name, argument, argument.name in either, position)
            if argument.name in declaration.wraps:
                parameter.convert = wrapping(parameter.convert)
            self.parameters.append(parameter)
        self.positional = [p for p in self.parameters if not p.kwarg_only]
        self.required = sum(p.default is MISSING for p in self.positional)
        form = declaration.python_out if takes_out and not method else None
        self.out = find_overload(form) if form is not None else None
        self.out_count = len(self.out.schema.returns) if self.out is not None else 0
        #: Whether ``out`` is as many tensors as there are results, in one argument.
        self.out_is_list = self.out is not None and not self.out_count
        self.pin_at = pin_position(declaration.schema)
        self.is_factory = self.pin_at >= 0
        #: Whether Python hands back the list whose tensors are written, as it was given.
        self.returns_list = _writes_list_only(declaration.schema)
        self.varargs = len(self.positional) == 1 and self._takes_ints(self.positional[0])

    @staticmethod
    def _takes_ints(parameter: Parameter) -> bool:
        return parameter.argument.is_list and parameter.argument.type == "int"

    def __str__(self) -> str:
        parts = [str(p) for p in self.positional]
        keywords = [p for p in self.parameters if p.kwarg_only]
        options = [p for p in keywords if p.name in _OPTION_DEFAULTS] if self.is_factory else []
        keyword = [str(p) for p in keywords if p not in options]
        if self.out is not None:
            keyword.append("Tensor out = None" if self.out_count == 1 else "tuple of Tensors out = None")
        keyword += [f"{type_name(p.argument)} {p.name} = {_OPTION_DEFAULTS[p.name]}" for p in options]
        if self.is_factory:
            keyword.append("bool requires_grad = False")
        return f"({', '.join(parts + (['*'] + keyword if keyword else []))})"

    def fewest(self) -> int:
        """How many arguments a call needs, by position or by name."""
        return sum(p.default is MISSING for p in self.parameters)

    def parameter_count(self) -> int:
        return len(self.parameters) + (self.out is not None) + self.is_factory

    def quoted_count(self) -> int:
        """What PyTorch counts in the quoted form before it says why that does not match: the asterisk too."""
        return self.parameter_count() + (self.parameter_count() > len(self.positional))

    def try_bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The schema's arguments (without self for a method), or None when the Python arguments do not fit."""
        if len(args) > len(self.positional):
            if not self.varargs or not args or isinstance(args[0], (tuple, list)):
                return None
            args = (args,)
        bound, used = [], 0
        for position, parameter in enumerate(self.parameters):
            if position < len(args) and not parameter.kwarg_only:
                value = args[position]
                if parameter.name in kwargs:
                    return None
            else:
                value = kwargs.get(parameter.name, MISSING)
                if value is MISSING:
                    value = self._second_name(parameter, kwargs)
                if value is MISSING:
                    if parameter.default is MISSING:
                        return None
                    bound.append(parameter.default)
                    continue
                used += 1
            if value is None and parameter.default is None:
                bound.append(None)
                continue
            converted = parameter.convert(value)
            if converted is REJECTED and self.varargs and position == 0 and len(args) == 1 and type(value) is int:
                converted = (value,)
            if converted is REJECTED and self.varargs and position == 0:
                converted = parameter.convert((value,)) if not isinstance(value, (tuple, list)) else REJECTED
            if converted is REJECTED:
                return None
            bound.append(converted)
        return bound if used + self._extras(kwargs) == len(kwargs) else None

    @staticmethod
    def _second_name(parameter: Parameter, kwargs: dict[str, Any]) -> Any:
        for name in parameter.second_names:
            if name in kwargs:
                return kwargs[name]
        return MISSING

    def _extras(self, kwargs: dict[str, Any]) -> int:
        """How many keywords are ours to handle: ``out`` and ``requires_grad``."""
        count = 0
        if "out" in kwargs and (self.out is not None or kwargs["out"] is None):
            count += 1
        if self.is_factory and kwargs.get("requires_grad", MISSING).__class__ in _BOOL:
            count += 1
        return count

    def call(self, bound: list[Any], kwargs: dict[str, Any]) -> Any:
        out = kwargs.get("out")
        if out is not None and self.out is not None:
            if self.is_factory:
                return self._call_factory_out(bound, out, kwargs)
            return self._call_out(bound, out)
        result = call_factory(self.overload.call, bound, self.pin_at)
        return requiring_grad(result) if self.is_factory and kwargs.get("requires_grad") else result

    def _call_factory_out(self, bound: list[Any], out: Any, kwargs: dict[str, Any]) -> Any:
        """The options of a factory are those of `out` then; ``pin_memory=`` says nothing, as in PyTorch.

        A leaf requires grad afterwards if the call says so, and else no longer.
        """
        if out.__class__ in TENSORS:
            at = {p.name: i for i, p in enumerate(self.parameters)}
            check_out_options(out, {name: bound[i] for name, i in at.items() if name in kwargs})
        bound[self.pin_at] = None
        result = self._call_out(bound, out)
        if kwargs.get("requires_grad"):
            return requiring_grad(result)
        if out.__class__ in TENSORS and out.requires_grad and out.is_leaf:
            out._set_requires_grad(False)
        return result

    def _call_out(self, bound: list[Any], out: Any) -> Any:
        assert self.out is not None
        several = self.out_is_list or self.out_count > 1
        outs = list(out) if several and isinstance(out, (tuple, list)) else [out]
        for tensor in outs:
            if tensor.__class__ not in TENSORS or several and tensor is out:
                expected = "tuple of Tensors" if several else "Tensor"
                raise TypeError(
                    f"{self.overload.packet_name}(): argument 'out' must be {expected}, not {type(out).__name__}"
                )
        if several and not self.out_is_list and len(outs) != self.out_count:
            raise TypeError(f"expected tuple of {self.out_count} elements but got {len(outs)}")
        rest = iter(bound)
        writes = iter([outs] if self.out_is_list else outs)
        return self.out.call(*[next(writes) if a.writes else next(rest) for a in self.out.schema.arguments])


class OldSignature(Signature):
    """An overload with its arguments in an order of which PyTorch warns; all of them are required.

    `order` are names of the schema's arguments; those that are not among them have their defaults.
    """

    is_old = True

    def __init__(self, overload: Overload, method: bool, order: str) -> None:
        super().__init__(overload, method)
        arguments = {argument.name: argument for argument in overload.schema.arguments}
        names = [name for name in order.split() if not (method and name == "self")]
        self.places = [names.index(p.argument.name) if p.argument.name in names else -1 for p in self.parameters]
        self.defaults = [p.default for p in self.parameters]
        numbers = overload.declaration.numbers - {"self"}
        self.parameters = [_required(arguments[name], name in numbers) for name in names]
        self.positional = self.parameters
        self.required = len(names)

    def try_bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        bound = super().try_bind(args, kwargs)
        if bound is None:
            return None
        self._warn()
        return [d if at < 0 else bound[at] for at, d in zip(self.places, self.defaults, strict=True)]

    def _warn(self) -> None:
        name = self.overload.packet_name
        others = [s for s in signatures_of(PACKETS[name], self.method) if not isinstance(s, OldSignature)]
        listed = "".join(f"\n\t{name}{signature}" for signature in others)
        warn_once(
            f"This overload of {name} is deprecated:\n\t{name}{self}\nConsider using one of the following signatures "
            f"instead:{listed}",
            stacklevel=5,
            subject="old orders",
        )


def _required(argument: Argument, may_be_number: bool) -> Parameter:
    required = Argument(argument.name, Type(argument.type), MISSING, False)
    return Parameter("input" if argument.name == "self" else argument.name, required, may_be_number)


def signatures_of(packet: Packet, method: bool) -> list[Signature]:
    """The forms in which a packet is called as a function or method, in the order in which they are tried."""
    cached = packet._signatures
    if cached is None:
        cached = packet._signatures = {}
    found = cached.get(method)
    if found is None:
        wanted = "method" if method else "function"
        overloads = [o for o in packet.overloads() if wanted in o.declaration.variants]
        if not overloads:  # what Python does not see is called under its own name alone
            overloads = [
                o for o in packet.overloads() if o.declaration.form == "functional" and not o.declaration.variants
            ]
        found = cached[method] = [signature for o in overloads for signature in _forms(o, method)]
    return found


def _forms(overload: Overload, method: bool) -> list[Signature]:
    """The signatures of one overload: with tensors, with numbers in place of some of them, and in old orders."""
    forms = [Signature(overload, method)]
    for names, takes_out in overload.declaration.number_signatures.items():
        numbers = frozenset(names.split())
        if not (method and "self" in numbers):
            forms.append(Signature(overload, method, numbers, takes_out))
    return forms + [OldSignature(overload, method, order) for order in overload.declaration.old_orders]


def call_packet(function: Any, packet: Packet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a packet as the function `function`, which overrides of an argument are asked for first.

    Raises
    ------
    TypeError
        When no overload takes the arguments, in PyTorch's words.
    """
    if must_ask((*args, *kwargs.values())):
        return handed_over(function, args, kwargs or None)
    signatures = signatures_of(packet, False)
    for signature in signatures:
        bound = signature.try_bind(args, kwargs)
        if bound is not None:
            result = signature.call(bound, kwargs)
            return (args[0] if args else kwargs["self"]) if signature.returns_list else result
    raise mismatch(packet, signatures, args, kwargs)


def _writes_list_only(schema: Schema) -> bool:
    """Whether a list of tensors, the first argument, is all that an operator writes."""
    return [i for i, a in enumerate(schema.arguments) if a.writes] == [0] and schema.arguments[0].is_list


def call_method(function: Any, packet: Packet, self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a packet as a method of `self`; errors as `call_packet`."""
    if must_ask((self, *args, *kwargs.values())):
        return handed_over(function, (self, *args), kwargs or None)
    signatures = signatures_of(packet, True)
    for signature in signatures:
        bound = signature.try_bind(args, kwargs)
        if bound is not None:
            bound.insert(signature.self_at, self)
            return signature.call(bound, kwargs)
    raise mismatch(packet, signatures, args, kwargs)


def call_packet_as_given(
    function: Any, packet: Packet, positional: tuple[Any, ...], named: tuple[Any, ...], names: tuple[str, ...],
    args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """`call_packet` from a wrapper's variables (see `as_given`)."""
    return call_packet(function, packet, *as_given(positional, named, names, args, kwargs, 1))


def call_method_as_given(
    function: Any, packet: Packet, self: Any, positional: tuple[Any, ...], named: tuple[Any, ...],
    names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """`call_method` from a wrapper's variables (see `as_given`)."""
    return call_method(function, packet, self, *as_given(positional, named, names, args, kwargs, 0))


def as_given(
    positional: tuple[Any, ...], named: tuple[Any, ...], names: tuple[str, ...], args: tuple[Any, ...],
    kwargs: dict[str, Any], first: int,
) -> tuple[tuple[Any, ...], dict[str, Any]]:  # fmt: skip
    """A call's arguments as its caller wrote them.

    Parameters
    ----------
    positional
        What was given by position, MISSING from some point on.
    named
        One surplus positional argument or MISSING, then the values of `names`, whether given by position or by name.
    args, kwargs
        Further surplus, and what was given by a name that is none of `names`, or a second time.
    first
        The position that corresponds to the first of `names`.
    """
    given = sum(value is not MISSING for value in positional)
    more, *values = named
    front = positional[:given]
    if more is not MISSING:
        front += (more, *_surplus(names, kwargs, given - first), *args)
    by_name = {
        name: value for i, (name, value) in enumerate(zip(names, values, strict=True))
        if value is not MISSING and not first + i < given
    }  # fmt: skip
    return front, {**by_name, **kwargs}


def _surplus(names: tuple[str, ...], kwargs: dict[str, Any], moved: int) -> Iterator[Any]:
    """Surplus positional arguments that stand where arguments by name belong; they are taken from there.

    The first `moved` of the values came from positions of their own, which moved what had stood there to `kwargs`. What
    stands behind them is taken for given by name: of a call that is wrong anyway, this can only change the words.
    """
    for name in names[: max(moved, 0)]:
        if name not in kwargs:
            return
        yield kwargs.pop(name)


def bind_schema(schema: Schema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Bind by the schema's own names.

    Raises
    ------
    TypeError
        For missing, surplus or unacceptable arguments.
    """
    bound = []
    kwargs = dict(kwargs)
    for position, argument in enumerate(schema.arguments):
        if position < len(args) and not argument.kwarg_only:
            value = args[position]
        else:
            value = kwargs.pop(argument.name, default_of(argument))
        if value is MISSING:
            raise TypeError(
                f"{schema.full_name}() is missing value for argument '{argument.name}'. Declaration: {schema}"
            )
        converted = value if value is None and argument.optional else converter(argument, number_ok=True)(value)
        if converted is REJECTED:
            raise TypeError(
                f"{schema.full_name}() Expected a value of type '{argument.type_text}' for argument '{argument.name}' "
                f"but instead found type '{type(value).__name__}'. Declaration: {schema}"
            )
        bound.append(converted)
    if kwargs:
        raise TypeError(
            f"Unknown keyword argument '{next(iter(kwargs))}' for operator '{schema.full_name}'. Schema: {schema}"
        )
    if len(args) > len(schema.arguments):
        raise TypeError(
            f"{schema.full_name}() takes {len(schema.arguments)} arguments but {len(args)} were given. Declaration: "
            f"{schema}"
        )
    return bound


Resolver.bind = staticmethod(bind_schema)  # type: ignore[assignment]
