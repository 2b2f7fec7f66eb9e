"""``torch.library.Library`` and the functions that register kernels by name."""

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mt_core import device
from mt_core.api.arguments import _SINGLE as _SCHEMA_TYPES
from mt_core.dtypes import dtype
from mt_core.layers.autocast import WITHOUT, register_casts, withdraw_casts
from mt_core.schema import Schema, parse_schema

from . import fallbacks, registrations
from .dispatch_keys import ANY_DEVICE, COMPOSITE, check_key, core_keys, is_device_key, is_key, key_of_device_type
from .fake import as_kernel
from .handlers import register_rule, withdraw_rule
from .ops import OpOverload, OpOverloadPacket, fallback_builder, ops
from .registrations import KeysetKernel, Operator, fallthrough_kernel
from .tags import Tag, as_tags
from .vmap_rules import enter_rule
from .vmap_rules import withdraw_rule as withdraw_rule_of

__all__ = [
    "Library",
    "check_autocast",
    "define",
    "fallthrough_kernel",
    "find_operator",
    "impl",
    "keep",
    "kernel_keys",
    "qualified_name",
]

_RESERVED_NAMESPACES = ("prim",)

#: Namespaces that a library of the kind DEF has taken.
_owned_namespaces: set[str] = {"aten", "prims"}


#: ``"namespace/name/key"`` of every kernel that libraries have registered.
_impls: set[str] = set()


class _Holder:
    """Lives as long as a library's registrations count."""


class Library:
    """Operators and kernels of one namespace, which go when the library does.

    Parameters
    ----------
    ns
        The namespace; ``aten`` to override kernels of built-in operators.
    kind
        ``"DEF"`` for the one library that owns the namespace, ``"FRAGMENT"`` for further ones that define operators in
        it, ``"IMPL"`` for one that only registers kernels.
    dispatch_key
        Where kernels go unless :meth:`impl` says otherwise.

    Raises
    ------
    ValueError
        For another kind, or a reserved namespace.
    RuntimeError
        For a second DEF of one namespace.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in _RESERVED_NAMESPACES and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            _take_namespace(ns)
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._definitions: list[Operator] = []
        self._kernels: list[tuple[Operator, str, Callable[..., Any]]] = []
        self._casts: list[tuple[str, str]] = []
        self._rules: list[tuple[str, type]] = []
        self._batched: list[Operator] = []
        self._fallbacks: list[str] = []
        #: ``"namespace/name/key"`` of each kernel, here and of all libraries.
        self._op_impls: set[str] = set()
        owned = ns if kind == "DEF" else None
        #: What keeps the registrations: they go with it, be it deleted or the library.
        self.m = _Holder()
        self._destroy = weakref.finalize(
            self.m,
            _destroy,
            owned,
            self._definitions,
            self._kernels,
            self._casts,
            self._rules,
            self._batched,
            _impls,
            self._op_impls,
            self._fallbacks,
        )
        self._destroy.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def cast_under_autocast(self, operator: Operator, device_type: str, wanted: dtype) -> None:
        """Where autocast is on for a device type, floating-point tensors of it become `wanted` before the operator."""
        name = operator.overload.qualified_name
        register_casts(name, device_type, wanted)
        self._casts.append((name, device_type))

    def define(self, schema: str, alias_analysis: str = "", *, tags: Tag | Sequence[Tag] = ()) -> str:
        """Define an operator.

        Parameters
        ----------
        schema
            ``"name.overload(Tensor x) -> Tensor"``.
        alias_analysis
            ``"CONSERVATIVE"`` or empty, as in PyTorch; it has no effect.
        tags
            Words about the operator.

        Returns
        -------
        The name, without its overload.

        Raises
        ------
        RuntimeError
            For a schema that cannot be read, an operator that exists, or a library of the kind IMPL.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{schema.partition("(")[0]}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  '
                "All def()s should be placed in the (unique) TORCH_LIBRARY block for their namespace."
            )
        operator = registrations.define(_parsed(self.ns, schema), as_tags(tags))
        self._definitions.append(operator)
        _forget_packet(operator)
        return operator.overload.packet_name.partition("::")[2]

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a kernel on tensors for an operator of the namespace.

        Parameters
        ----------
        op_name
            Its name, with its overload unless that is the default one.
        fn
            The kernel; or `fallthrough_kernel`.
        dispatch_key
            ``"CPU"``, ``"Meta"``, ``"Autograd"``, ``"CompositeExplicitAutograd"`` ...; by default the library's, else
            ``"CompositeImplicitAutograd"``.
        with_keyset
            Whether the kernel is handed the key set of the call before its arguments.
        allow_override
            Whether a kernel that was registered from Python for this key may be replaced; the first time that one is,
            a warning tells of it.

        Raises
        ------
        TypeError
            For a kernel that cannot be called.
        RuntimeError
            For an operator or a key that does not exist, and for a kernel that may not be replaced.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = getattr(dispatch_key, "name", dispatch_key) or self.dispatch_key or COMPOSITE
        if self.dispatch_key and key != self.dispatch_key:
            raise RuntimeError(
                f'impl("{op_name}", ...): Explicitly provided dispatch key ({key}) is inconsistent with the dispatch '
                f"key of the enclosing TORCH_LIBRARY_{self.kind} block ({self.dispatch_key}).  Please declare a "
                f"separate TORCH_LIBRARY_{self.kind} block for this dispatch key and move your impl() there. "
            )
        check_key(key)
        if with_keyset:
            if key == COMPOSITE:
                raise NotImplementedError("Library.impl(with_keyset=True): what is written in others has no key set")
            fn = KeysetKernel(fn)
        if not isinstance(op_name, (str, OpOverload)):
            raise RuntimeError(
                "impl should be passed either a name or an OpOverload object as the first argument, got "
                f"{type(op_name)}"
            )
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        operator = find_operator(name if "::" in name else f"{self.ns}::{name}")
        if not allow_override and operator.kernel(key) is not None:
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python overriding "
                f"{name.rpartition('::')[2]}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        if key == "Meta":
            self._refuse_parts(operator)
        self._enter(operator, key, fn)

    def enter_vmap_rule(self, operator: Operator, rule: Callable[..., Any]) -> None:
        """What ``torch.vmap`` does with an operator, as long as the library lives."""
        enter_rule(operator.overload, rule)
        self._batched.append(operator)

    def register_rule(self, name: str, cls: type, rule: Callable[..., Any]) -> None:
        """What a class of tensors or modes does with an operator, as long as the library lives."""
        register_rule(name, cls, rule)
        self._rules.append((name, cls))

    def _enter(self, operator: Operator, key: str, fn: Callable[..., Any], warn: bool = True) -> None:
        operator.enter(key, fn, warn)
        self._kernels.append((operator, key, fn))
        namespace, _, name = operator.overload.qualified_name.partition("::")
        self._op_impls.add(f"{namespace}/{name}/{key}")
        _impls.update(self._op_impls)

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, *, allow_override: bool = True
    ) -> None:
        """Register a fake implementation, which may call `get_ctx`."""
        operator = find_operator(op_name if "::" in op_name else f"{self.ns}::{op_name}")
        self._refuse_parts(operator)
        if operator.fake is not None and not allow_override:
            raise RuntimeError(
                f"register_fake(...): the operator {operator.schema.name} already has a fake impl registered at "
                f"{operator.fake[1]}."
            )
        operator.fake = fn, registrations.where_called(_stacklevel + 1)
        self._enter(operator, "Meta", as_kernel(operator.schema.name, fn))

    @staticmethod
    def _refuse_parts(operator: Operator) -> None:
        """Refuse an operator that is written in others, which tell what it gives, with RuntimeError."""
        if operator.kernel(COMPOSITE) is not None:
            raise RuntimeError(
                f"We should not register a meta kernel directly to the operator '{operator.overload.qualified_name}', "
                "because it has a CompositeImplicitAutograd kernel in core. Instead we should let the operator "
                "decompose, and ensure that we have meta kernels for the base ops that it decomposes into."
            )

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Register a kernel for all operators that have none at the key of a device.

        Parameters
        ----------
        fn
            ``fn(op, *args, **kwargs)``; with `with_keyset`, the key set of the call comes before the operator.
        dispatch_key
            The key of a device; by default the library's.

        Raises
        ------
        AssertionError
            Without a key.
        RuntimeError
            For a library of another namespace than ``_``, and where there is one at the key.
        TypeError
            For a kernel that cannot be called.
        NotImplementedError
            For the keys of layers.
        """
        key = getattr(dispatch_key, "name", dispatch_key) or self.dispatch_key
        if not key:
            raise AssertionError("dispatch_key must not be empty for fallback")
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_" but it is '
                f"{self.ns}"
            )
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        check_key(key)
        if not is_device_key(key):
            raise NotImplementedError(f"Library.fallback: a kernel for all operators cannot stand at the key {key}")
        builder = fallback_builder(fn, with_keyset)
        fallbacks.enter(key, builder, core_keys(key))
        self._fallbacks.append(key)


def _take_namespace(ns: str) -> None:
    if ns in _owned_namespaces:
        raise RuntimeError(
            f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
            "definitions in a single TORCH_LIBRARY block.  If you were trying to specify implementations, consider "
            "using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define operators for a "
            "single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate this."
        )
    _owned_namespaces.add(ns)


def check_autocast(device_type: str) -> None:
    """Refuse what is no device type that has autocast, with ValueError in PyTorch's words."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if device(device_type).type in WITHOUT:
        raise ValueError(f"Device type '{device_type}' does not support autocast.")


def _destroy(
    owned: str | None,
    definitions: list[Operator],
    kernels: list[tuple[Operator, str, Callable[..., Any]]],
    casts: list[tuple[str, str]],
    rules: list[tuple[str, type]],
    batched: list[Operator],
    all_impls: set[str],
    impls: set[str],
    for_all: list[str],
) -> None:
    while for_all:
        key = for_all.pop()
        fallbacks.withdraw(key, core_keys(key))
    all_impls -= impls
    while batched:
        withdraw_rule_of(batched.pop().overload)
    while rules:
        withdraw_rule(*rules.pop())
    while casts:
        withdraw_casts(*casts.pop())
    while kernels:
        operator, key, fn = kernels.pop()
        operator.withdraw(key, fn)
    while definitions:
        operator = definitions.pop()
        registrations.undefine(operator)
        _forget_packet(operator)
    if owned is not None:
        _owned_namespaces.discard(owned)


def _forget_packet(operator: Operator) -> None:
    namespace, _, name = operator.overload.packet_name.partition("::")
    getattr(ops, namespace).forget(name)


def _parsed(ns: str, text: str) -> Schema:
    """A schema with its namespace.

    Raises
    ------
    RuntimeError
        For a text that is no schema, or a type that schemas do not have.
    """
    try:
        schema = parse_schema(text if "::" in text.partition("(")[0] else f"{ns}::{text.strip()}")
    except ValueError as error:
        raise RuntimeError(str(error)) from None
    described: tuple[Any, ...] = (*schema.arguments, *schema.returns)
    for argument in described:
        if argument.type not in _SCHEMA_TYPES:
            raise RuntimeError(
                "unknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, "
                "Scalar; for a full list, please see "
                "https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func :\n"
                f"{text}\n"
                f"{' ' * text.find(argument.type)}{'~' * len(argument.type)} <--- HERE"
            )
    return schema


def find_operator(name: str) -> Operator:
    """The operator of a qualified name.

    Raises
    ------
    RuntimeError
        Where there is none.
    """
    operator = registrations.find(name)
    if operator is None:
        raise RuntimeError(f"operator {name} does not exist")
    return operator


def qualified_name(op: str | OpOverload | OpOverloadPacket) -> str:
    """``"ns::name"`` of an operator, in whichever form it is given.

    Raises
    ------
    ValueError
        For a name without a namespace.
    """
    if isinstance(op, OpOverload):
        return op.name()
    if isinstance(op, OpOverloadPacket):
        return op._qualified_op_name
    if "::" not in op:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {op}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return op


#: Libraries of what is registered without one; they stay.
_kept: list[Library] = []


def keep(namespace: str) -> Library:
    """A library for a registration that stays for good."""
    library = Library(namespace, "FRAGMENT")
    _kept.append(library)
    return library


def define(
    qualname: str | Library, schema: str, alias_analysis: str = "", *, lib: Library | None = None,
    tags: Tag | Sequence[Tag] = (),
) -> Any:  # fmt: skip
    """Define an operator, ``define("ns::name", "(Tensor x) -> Tensor")``.

    With a library in place of the name, returns a decorator for its kernel: ``define(lib, "name(Tensor x) ->
    Tensor")``.

    Raises
    ------
    ValueError
        For a name without a namespace, or a schema with a name.
    """
    if isinstance(qualname, Library):
        library, name = qualname, schema.partition("(")[0].strip()
        library.define(schema, alias_analysis, tags=tags)
        return lambda fn: library.impl(name, fn) or fn  # type: ignore[func-returns-value]
    namespace, _, name = qualified_name(qualname).partition("::")
    if not re.fullmatch(r"\(.*\)\s*->\s*.*", schema, re.S):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    (lib or keep(namespace)).define(name + schema, tags=tags)
    return None


def kernel_keys(types: str | Iterable[str] | None) -> list[str]:
    """The dispatch keys of device types, which may be keys themselves.

    Of None and ``"default"`` it is the key of kernels for every device.
    """
    if types is None or types == "default":
        return [ANY_DEVICE]
    words = [types] if isinstance(types, str) else types
    return [word if is_key(word) else key_of_device_type(word) for word in words]


def impl(qualname: str | Library, types: str | Iterable[str], func: Any = None, *, lib: Library | None = None) -> Any:
    """Register a kernel, ``impl("ns::name", "cpu", function)``; without the function, returns a decorator.

    Parameters
    ----------
    qualname
        The operator; or a library, followed by the operator's name and a dispatch key, for its decorator.
    types
        Device types or dispatch keys, or ``"default"`` for all devices.
    lib
        Whose lifetime the registration has; by default it stays.

    Raises
    ------
    RuntimeError
        For an operator or device type that does not exist.
    """
    if isinstance(qualname, Library):
        name, key = types, func or ""
        return lambda fn: qualname.impl(name, fn, key) or fn  # type: ignore[arg-type, func-returns-value]
    keys = kernel_keys(types)
    name = qualified_name(qualname)

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        library = lib or keep(name.partition("::")[0])
        for key in keys:
            library.impl(name, fn, key)
        return fn

    if func is None:
        return register
    register(func)
    return None


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A library that is gone after the block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()
