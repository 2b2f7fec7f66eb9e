"""``torch._custom_ops`` and ``torch._custom_op``: what `custom_op` was before; deprecated, and still in use.

An operator is declared first, and its kernels, what its backward saves and its backward follow one by one.
"""

from __future__ import annotations

import inspect
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.autograd_state import is_grad_enabled
from mt_core.schema import SchemaError, parse_schema
from mt_core.tensor_types import tensors_in

from .autograd import below_autograd
from .dispatch_keys import ANY_DEVICE, COMPOSITE
from .legacy_autograd import legacy_autograd_kernel
from .library import Library
from .ops import OpOverload, ops
from .registration_functions import register_fake
from .registrations import Operator, find
from .schema_inference import infer_schema

__all__ = ["RESERVED_NS", "SUPPORTED_DEVICE_TYPE_TO_KEY", "CustomOp", "custom_op", "destroy", "get_op", "registry"]

SUPPORTED_DEVICE_TYPE_TO_KEY = {"cpu": "CPU", "cuda": "CUDA"}
#: Namespaces that programs may not use.
RESERVED_NS = {"prim", "prims", "aten", "at", "torch", "pytorch"}

#: Qualified name -> operator.
registry: dict[str, CustomOp] = {}


class CustomOp:
    """An operator that `custom_op` declared, or one of a library's to which this module adds.

    Raises
    ------
    RuntimeError
        For whoever makes one himself.
    """

    __module__ = "torch._custom_op.impl"

    def __init__(
        self, lib: Any, cpp_ns: Any, schema: Any, operator_name: Any, ophandle: Any, *, _private_access: bool = False
    ) -> None:
        warn_deprecated()
        if not _private_access:
            raise RuntimeError(
                "The CustomOp constructor is private and we do not guarantee BC for it. Please use custom_op(...) to "
                "create a CustomOp object"
            )
        self._lib: Library = lib
        self._operator: Operator = ophandle
        self._opname: str = operator_name
        self._qualname = f"{cpp_ns}::{operator_name}"
        self._schema = schema
        #: What was registered here -> (function, where).
        self._impls: dict[str, tuple[Callable[..., Any], str]] = {}
        self._differentiable: list[bool] | None = None
        registry[self._qualname] = self

    def __repr__(self) -> str:
        return f'<CustomOp(op="{self._qualname}")>'

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return get_op(self._qualname)(*args, **kwargs)

    def _destroy(self) -> None:
        """Take back what was registered, and the operator if it was declared here."""
        self._lib._destroy()
        registry.pop(self._qualname, None)

    # Registrations

    def _enter(self, kind: str, function: Callable[..., Any], stacklevel: int) -> None:
        if kind in self._impls:
            raise RuntimeError(
                f"Attempting to register a {kind} impl for operator {self._qualname} that already has a {kind} impl "
                f"registered from Python at {self._impls[kind][1]}. This is not supported."
            )
        frame = sys._getframe(stacklevel)
        self._impls[kind] = function, f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def impl(self, device_types: str | Sequence[str], _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator for the kernel of some device types, of ``cpu`` and ``cuda``."""
        types = [device_types] if isinstance(device_types, str) else list(device_types)
        for device_type in types:
            if device_type not in SUPPORTED_DEVICE_TYPE_TO_KEY:
                raise ValueError(
                    f"CustomOp.impl(device_types=[{device_type}, ...]): we only support device_type in "
                    f"{SUPPORTED_DEVICE_TYPE_TO_KEY.keys()}."
                )

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for device_type in dict.fromkeys(types):
                self._refuse_second_kernel(device_type)
                self._enter(device_type, function, _stacklevel)
                self._lib.impl(self._opname, function, SUPPORTED_DEVICE_TYPE_TO_KEY[device_type])
            return function

        return register

    def _refuse_second_kernel(self, device_type: str) -> None:
        keys = (SUPPORTED_DEVICE_TYPE_TO_KEY[device_type], COMPOSITE, ANY_DEVICE)
        if device_type not in self._impls and any(self._operator.kernel(key) is not None for key in keys):
            raise RuntimeError(
                f"impl(..., device_types={device_type}): the operator {self._qualname} already has an implementation "
                "for this device type via a pre-existing torch.library or TORCH_LIBRARY registration."
            )

    def impl_factory(self) -> Callable[..., Any]:
        """A decorator for the kernel of an operator that is given no tensors."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._enter("factory", function, 2)
            self._lib.impl(self._opname, function, "BackendSelect")
            return function

        return register

    def impl_abstract(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator for what the operator gives for tensors without memory."""
        return lambda function: register_fake(self._qualname, function, lib=self._lib)

    def impl_save_for_backward(self, _stacklevel: int = 2) -> Callable[..., Any]:
        """A decorator for ``save(inputs, output)``, which returns what the backward is to have."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._refuse_backward()
            self._enter("save_for_backward", function, _stacklevel)
            self._renew_autograd()
            return function

        return register

    def impl_backward(
        self, output_differentiability: list[bool] | None = None, _stacklevel: int = 2
    ) -> Callable[..., Any]:
        """A decorator for ``backward(ctx, saved, *grads)``, which returns a dict of the gradients of tensor arguments.

        `output_differentiability` tells of each result whether a gradient passes it.

        Raises
        ------
        RuntimeError
            Where it is no list of bools, one for each result.
        """
        if output_differentiability is not None:
            count = len(self._operator.overload.schema.returns)
            is_list = isinstance(output_differentiability, list) and len(output_differentiability) == count
            if not is_list or not all(isinstance(item, bool) for item in output_differentiability):
                raise RuntimeError(
                    "impl_backward(output_differentiability): expected output_differentiability to be a list of bools "
                    "with length equal to the number of outputs of this CustomOp got: "
                    f"{output_differentiability}"
                )

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._refuse_backward()
            self._enter("backward", function, _stacklevel)
            self._differentiable = output_differentiability
            self._renew_autograd()
            return function

        return register

    # Derivatives

    def _refuse_backward(self) -> None:
        """Refuse operators that have no place for a backward, with RuntimeError."""
        schema = self._operator.overload.schema
        fault = (
            "operator that returns views" if not schema.is_mutable and any(r.alias for r in schema.returns)
            else "non-functional operator" if schema.is_mutable
            else "operator with no returns" if not schema.returns
            else None
        )  # fmt: skip
        if fault is not None:
            raise RuntimeError(
                f"Cannot use torch._custom_ops APIs to register backward formula for {fault}. Got operator "
                f"{self._qualname} with schema: {str(self._operator.schema).partition('::')[2]}"
            )
        if self._operator.kernel(COMPOSITE) is not None:
            raise RuntimeError(
                f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has an implementation "
                f"for this device type via a pre-existing registration to DispatchKey::{COMPOSITE}.{COMPOSITE} "
                "operators do not need an autograd formula; instead, the operator will decompose into its "
                "constituents and those can have autograd formulas defined on them."
            )
        self._refuse_other_autograd()

    def _refuse_other_autograd(self) -> None:
        for key in ("Autograd", "AutogradCPU", "AutogradCUDA"):
            kernel = self._operator.kernel(key)
            if kernel is not None and getattr(kernel, "_of_custom_op", None) is not self:
                raise RuntimeError(
                    f"impl_backward/impl_save_for_backward: the operator {self._qualname} already has an Autograd "
                    f"kernel registered to DispatchKey::{key} vi a pre-existing torch.library or TORCH_LIBRARY "
                    "registration. Please either remove those registrations or don't use the torch._custom_ops APIs"
                )

    def _renew_autograd(self) -> None:
        """Enter the kernel for autograd that what is registered by now makes possible."""
        save, backward = self._impls.get("save_for_backward"), self._impls.get("backward")
        if save is not None and backward is not None:
            kernel = legacy_autograd_kernel(
                self._operator, repr(self), save[0], backward[0], backward[1], self._differentiable
            )
        else:
            kernel = self._incomplete(save, backward)
        kernel._of_custom_op = self  # type: ignore[attr-defined]
        # To those who register, there is one kernel, which follows what is registered.
        self._lib._enter(self._operator, "Autograd", kernel, warn=False)

    def _incomplete(self, save: Any, backward: Any) -> Callable[..., Any]:
        below = below_autograd(self._operator)

        def run(*args: Any, **kwargs: Any) -> Any:
            given = tensors_in([*args, *kwargs.values()])
            if not (is_grad_enabled() and any(tensor.requires_grad for tensor in given)):
                return below(*args, **kwargs)
            if save is None and backward is None:
                raise RuntimeError("Autograd has not been implemented for operator")
            there, missing = ("backward", "save_for_backward") if save is None else ("save_for_backward", "backward")
            raise RuntimeError(
                f"We found a '{there}' registration for {self!r} at {(backward or save)[1]} but were unable to find a "
                f"'{missing}' registration. To use the CustomOp API to register a backward formula, please provide us "
                "both a backward function and a 'save for backward' function via `impl_backward` and "
                "`impl_save_for_backward` respectively."
            )

        return run

    def _missing(self, args: tuple[Any, ...]) -> NotImplementedError:
        """The error for a call that no kernel takes."""
        device_type = next((tensor.device.type for tensor in tensors_in(args)), None)
        if device_type is None:
            return NotImplementedError(
                f"{self!r}: There were no Tensor inputs to this operator (e.g. you passed an empty list of Tensors). "
                "If your operator is a factory function (that is, it takes no Tensors and constructs a new one), then "
                "please use CustomOp.impl_factory to register an implementation for it"
            )
        if device_type == "meta":
            return NotImplementedError(
                f"{self._qualname}: attempted to run this operator with Meta tensors, but there was no fake impl or "
                "Meta kernel registered. You may have run into this message while using an operator with PT2 "
                "compilation APIs (torch.compile/torch.export); in order to use this operator with those APIs you'll "
                "need to add a fake impl. Please see the following for next steps:  "
                "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
            )
        return NotImplementedError(
            f"{self!r}: when running with device='{device_type}' tensors: there is no {device_type} impl registered "
            f"for this CustomOp. Please register one via CustomOp.impl(device_type='{device_type}')"
        )


# Declaring, and finding again


def split_name(qualname: str) -> tuple[str, str]:
    """(namespace, name). Raises ValueError where there is no namespace, or an overload."""
    namespace, found, name = qualname.partition("::")
    if not found:
        raise ValueError(
            f"Expected there to be a namespace in {qualname}, i.e. The operator name should look something like ns::foo"
        )
    if "." in name:
        raise ValueError(
            "The torch.custom_ops APIs do not handle overloads, i.e. operator names with '.' in them. Please name your "
            f"operator something like ns::foo. Got: {qualname}"
        )
    return namespace, name


def check_namespace(namespace: str) -> None:
    """Refuse a namespace that programs may not use, with ValueError."""
    if "." in namespace:
        raise ValueError(
            f'custom_op(..., ns="{namespace}"): expected ns to not contain any . (and be a valid variable name)'
        )
    if namespace in RESERVED_NS:
        raise ValueError(
            f"custom_op(..., ns='{namespace}'): '{namespace}' is a reserved namespace, please choose something else. "
        )


def warn_deprecated() -> None:
    """Say that this module is deprecated."""
    warnings.warn(
        "torch._custom_op is deprecated and will be removed in PyTorch 2.6, please use the equivalent torch.library "
        "API instead.",
        DeprecationWarning,
        stacklevel=3,
    )


def declare(qualname: str, schema: str) -> CustomOp:
    """Declare an operator.

    Raises
    ------
    ValueError
        For a schema that writes, or returns views or nothing; for arguments that are called ``self``.
    AssertionError
        For a text that is no schema.
    RuntimeError
        For an operator that exists.
    """
    namespace, name = split_name(qualname)
    check_namespace(namespace)
    try:
        parsed = parse_schema(f"{name}{schema}")
    except SchemaError as error:
        raise AssertionError(f"Invalid function schema: {name}{schema}") from error
    if parsed.is_mutable or any(result.alias for result in parsed.returns) or not parsed.returns:
        raise ValueError(
            "custom_op only supports functional operators (ops that do not mutate any inputs, do not return views of "
            f"the inputs, and has at least one return). Got the following non-functional schema: {name}{schema}"
        )
    if any(argument.name == "self" for argument in parsed.arguments):
        raise ValueError(
            f"custom_op does not support arguments named 'self'. Please rename your argument. Got: {name}{schema}"
        )
    lib = Library(namespace, "FRAGMENT")
    lib.define(f"{name}{schema}")
    operator = find(f"{namespace}::{name}")
    assert operator is not None
    made = CustomOp(lib, namespace, schema, name, operator, _private_access=True)
    operator.missing = made._missing
    made._renew_autograd()
    return made


def _checked_function(qualname: str, function: Any) -> str:
    name = split_name(qualname)[1]
    if not inspect.isfunction(function):
        raise ValueError(f"custom_op(...)(func): Expected `func` to be a Python function, got: {type(function)}")
    if function.__name__ != name:
        raise ValueError(
            f"custom_op(qualname='{qualname}', ...)(func): expected `func` to have name '{name}' but got "
            f"'{function.__name__}'. Please either change the name of `func` or the qualname that is passed to "
            "`custom_op`"
        )
    return name


def custom_op(qualname: str, func_or_schema: Callable[..., Any] | str | None = None) -> Any:
    """Declare an operator: with a schema at once, else as a decorator of a function whose annotations tell it.

    Raises
    ------
    ValueError
        For names and functions that cannot be an operator's.
    """
    check_namespace(split_name(qualname)[0])

    def declared(function: Any) -> Any:
        _checked_function(qualname, function)
        declare(qualname, infer_schema(function, mutates_args=()))
        return function

    if isinstance(func_or_schema, str):
        declare(qualname, func_or_schema)
        return None
    return declared if func_or_schema is None else declared(func_or_schema)


def custom_op_of_function(qualname: str, manual_schema: str | None = None) -> Callable[..., CustomOp]:
    """``torch._custom_op.impl.custom_op``: a decorator that gives the operator itself.

    Raises
    ------
    ValueError
        For functions whose signature is not the schema's.
    """
    warn_deprecated()

    def declared(function: Any) -> CustomOp:
        namespace = split_name(qualname)[0]
        check_namespace(namespace)
        name = _checked_function(qualname, function)
        if manual_schema is None:
            return declare(qualname, infer_schema(function, mutates_args=()))
        _refuse_other_signature(f"{name}{manual_schema}", inspect.signature(function))
        return declare(qualname, manual_schema)

    return declared


def _refuse_other_signature(schema: str, signature: inspect.Signature) -> None:
    parameters = list(signature.parameters.values())
    where = "custom_op(..., manual_schema)(func): "
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(parameter.kind not in plain for parameter in parameters):
        raise ValueError(
            f"{where}positional-only args, varargs, and kwargs are not supported. Please rewrite `func` to not have "
            f"them. Got `func` with signature: {signature}"
        )
    arguments = parse_schema(schema).arguments
    if any(p.default is not p.empty for p in parameters) or any("=" in text for text in [_arguments_of(schema)]):
        raise ValueError(
            f"{where}neither func nor manual_schema should have default arguments. Got func's signature: {signature}, "
            f"manual_schema: {schema}"
        )
    mine = [(p.name, p.kind is inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    if mine != [(argument.name, argument.kwarg_only) for argument in arguments]:
        raise ValueError(
            f"{where}When passing in a manual schema, we expect `func`'s signature to match `manual_schema` (aside "
            f"from type annotations). func's signature: {signature}, manual_schema: {schema}"
        )


def _arguments_of(schema: str) -> str:
    return re.sub(r"->[^)]*$", "", schema)


def custom_op_from_existing(op: OpOverload) -> CustomOp:
    """An operator of a library's, to which this module is to add."""
    namespace, _, name = op.name().partition("::")
    operator = find(op.name())
    assert operator is not None
    return CustomOp(Library(namespace, "FRAGMENT"), namespace, op._schema, name, operator, _private_access=True)


def get_op(qualname: str) -> OpOverload:
    """The operator of a name, as ``torch.ops`` has it.

    Raises
    ------
    ValueError
        Where there is none.
    """
    namespace, name = split_name(qualname)
    packet = getattr(getattr(ops, namespace), name, None)
    found = None if packet is None else getattr(packet, "default", None)
    if found is None:
        raise ValueError(
            f"Could not find the operator {qualname}. Please make sure you have already registered the operator and "
            "(if registered from C++) loaded it via torch.ops.load_library."
        )
    return found


def find_or_take(qualname: str) -> CustomOp:
    """The `CustomOp` of a name; of a library's operator, a new one."""
    found = registry.get(qualname)
    if found is None:
        found = custom_op_from_existing(get_op(qualname))
    return found


def destroy(qualname: str) -> None:
    """Take back all that was registered for an operator here, and the operator if it was declared here."""
    registry[qualname]._destroy()
