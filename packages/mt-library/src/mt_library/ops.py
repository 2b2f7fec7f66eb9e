"""``torch.ops``: every operator by namespace, name and overload."""

import importlib
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NoReturn

from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch import taken_apart
from mt_core.dispatch.registry import DECLARATIONS, PACKETS, Overload, find_overload, load_family
from mt_core.factories import call_factory, pin_position
from mt_core.keys import ADINPLACE_OR_VIEW, AUTOCAST, AUTOGRAD, FORWARD_GRAD, PYTHON, WIDTH
from mt_core.overriding import Overridden, handed_over, must_ask
from mt_core.python_dispatch import as_written
from mt_core.schema import Schema, parse_schema
from mt_core.state import excluding, tls
from mt_core.tensor_types import tensors_in

from . import geometry, registrations
from .binding import bind
from .defaults import defaults_left_out
from .dispatch_keys import COMPOSITE, is_device_key, key_of_device_type
from .function_schema import FunctionSchema
from .higher_order import HIGHER_ORDER, HigherOrderOperator
from .key_resolution import resolve_key
from .key_sets import DispatchKey, key_set_of_call
from .operator_base import OperatorBase
from .questions import has_kernel
from .results import checked
from .tags import Tag, tags_of_built_in

__all__ = [
    "DispatchKey", "HigherOrderOperator", "OpOverload", "OpOverloadPacket", "OperatorBase", "fallback_builder",
    "number_form_of", "operator_of", "ops", "resolve_key",
]  # fmt: skip


class _PythonKernels(threading.local):
    """How many of a thread's guards have the kernels of `OpOverload.py_impl` count."""

    depth = 0


python_kernels = _PythonKernels()
_KEYS_OF_PYTHON_KERNELS = ("Autograd", "AutogradCPU", "AutogradCUDA", "AutogradMeta", COMPOSITE)


_RECORDED = {"Autograd": AUTOGRAD | FORWARD_GRAD, "Autocast": AUTOCAST, "ADInplaceOrView": ADINPLACE_OR_VIEW}


def _absent_from(names: set[str]) -> int:
    """The core's keys that a set of PyTorch's has no key of."""
    absent = 0
    for prefix, bits in (
        ("Autograd", AUTOGRAD | FORWARD_GRAD),
        ("Autocast", AUTOCAST),
        ("ADInplaceOrView", ADINPLACE_OR_VIEW),
    ):
        if not any(name.startswith(prefix) for name in names):
            absent |= bits
    return absent if "Python" in names else absent | PYTHON


class OpOverload(OperatorBase):
    """One operator: ``torch.ops.aten.add.Tensor``."""

    def __init__(self, overload: Overload, schema: Schema | None = None) -> None:
        self._overload = overload
        self._schema = FunctionSchema(schema or overload.schema)
        self._overloadname = self._schema.overload_name or "default"
        self._namespace, _, self._opname = self._schema.name.partition("::")
        self._numbers = overload.declaration.numbers
        self._pin_at = pin_position(overload.schema)
        #: Key -> what `py_impl` registered.
        self.py_kernels: dict[str, Callable[..., Any]] = {}
        self.__name__ = f"{self._opname}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch._ops.{self._namespace}"
        is_asked = f"{self._namespace}::{self._opname}" in geometry.NAMES
        #: What a refusal calls it.
        self._shown = (
            f"torch.ops.{self._namespace}.{self._opname}" if is_asked else f"{self.__module__}.{self.__name__}"
        )
        returns = (schema or overload.schema).returns
        self._gives_list = len(returns) == 1 and returns[0].is_list  # functions of the same name give a tuple

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = bind(self._schema, args, kwargs, self._numbers)
        except RuntimeError:
            # An argument that is no tensor may yet say what the call means.
            if must_ask([*args, *kwargs.values()]):
                return handed_over(self, args, kwargs)
            raise
        try:
            return self._call(bound)
        except Overridden:
            return handed_over(self, args, kwargs)

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator for a kernel of calls through ``torch.ops``, while `torch._C._EnablePythonDispatcher` holds.

        Parameters
        ----------
        key
            The key of a device (``DispatchKey.CPU``), ``CompositeImplicitAutograd``, or an autograd key.

        Raises
        ------
        RuntimeError
            Where there is one for the key.
        NotImplementedError
            For keys at which calls cannot be told apart.
        """
        name = getattr(key, "name", None)
        if name not in _KEYS_OF_PYTHON_KERNELS and not is_device_key(str(name)):
            raise NotImplementedError(f"OpOverload.py_impl: kernels cannot be registered for {key}")

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            if name in self.py_kernels:
                raise RuntimeError(f"Trying to override a python impl for {key} on operator {self.name()}")
            self.py_kernels[str(name)] = fn
            return fn

        return register

    def _python_kernel(self, bound: list[Any]) -> Callable[..., Any] | None:
        """The kernel of `py_impl` for a call: an autograd key's where a gradient is recorded, then the device's."""
        tensors = list(tensors_in(tuple(bound)))
        device_key = key_of_device_type(tensors[0].device.type) if tensors else "CPU"
        recorded = is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
        keys = [f"Autograd{device_key}", "Autograd"] if recorded else []
        found = (self.py_kernels.get(key) for key in (*keys, device_key, COMPOSITE))
        return next((kernel for kernel in found if kernel is not None), None)

    def redispatch(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator below the keys that a set lacks: autograd, autocast, handlers of ``__torch_dispatch__``."""
        with excluding(_absent_from({key.name for key in keyset})):
            return self._call(bind(self._schema, args, kwargs, self._numbers))

    def _call(self, bound: list[Any]) -> Any:
        if self.py_kernels and python_kernels.depth:
            kernel = self._python_kernel(bound)
            if kernel is not None:
                return kernel(*bound)
        if self._pin_at >= 0 and tls.mode >> WIDTH:
            with as_written():
                return call_factory(self._overload.call, bound, self._pin_at)
        result = call_factory(self._overload.call, bound, self._pin_at)
        return list(result) if self._gives_list else result

    def name(self) -> str:
        """Namespace, name and, unless default, overload: ``aten::add.Tensor``."""
        return f"{self._schema.name}.{self._overloadname}".removesuffix(".default")

    @property
    def _name(self) -> str:
        return self.name()

    @property
    def namespace(self) -> str:
        return self._namespace

    @property
    def overloadpacket(self) -> "OpOverloadPacket":
        """All overloads of the name."""
        return getattr(getattr(ops, self._namespace), self._opname)

    @property
    def tags(self) -> list[Tag]:
        """Words about the operator."""
        operator = registrations.find(self.name())
        if operator is not None and operator.defined_here:
            return list(operator.tags)
        return list(tags_of_built_in(self.name().removeprefix("aten::")))

    @property
    def op(self) -> Callable[..., Any]:
        return self

    @property
    def _defined_in_python(self) -> bool:
        """Whether it was defined through ``torch.library``."""
        operator = registrations.find(self.name())
        return operator is not None and operator.defined_here

    def decompose(self, /, *args: Any, **kwargs: Any) -> Any:
        """The operator by those that PyTorch writes it in; NotImplemented of one that is not written in others."""
        operator = registrations.find(self.name()) if "::" in self._overload.name else None
        if operator is not None:
            written_in_others = operator.composite_kernel() if operator.kernel(COMPOSITE) else None
        else:
            written_in_others = taken_apart.parts_of(self._overload)
        if written_in_others is None:
            return NotImplemented
        return written_in_others(*bind(self._schema, args, kwargs, self._numbers))

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Whether there is a kernel at this very key: the core's, of a library, or of `py_impl`."""
        return super().has_kernel_for_dispatch_key(k) or has_kernel(self.name(), getattr(k, "name", str(k)))

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self._opname}.{self._overloadname}"

    def __hash__(self) -> int:
        return hash((self._overload, self._overloadname))

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, OpOverload) and other._overload is self._overload
        return same and other._overloadname == self._overloadname  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: Any = None) -> "OpOverload":
        return self

    def __reduce__(self) -> Any:
        return _find_overload, (self._namespace, self._opname, self._overloadname)


class OpOverloadPacket:
    """All overloads of one name: ``torch.ops.aten.add``."""

    def __init__(self, namespace: str, name: str, overloads: dict[str, Overload]) -> None:
        self._qualified_op_name = f"{namespace}::{name}"
        self._namespace = namespace
        self._overload_names = list(overloads)
        self._found = overloads
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"

    def __getattr__(self, key: str) -> "OpOverload":
        number_form = number_form_of(self._found[_TENSOR]) if key == _NUMBER and _TENSOR in self._found else None
        if key.startswith("__") or key not in self._found and number_form is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{key}'")
        overload = OpOverload(self._found[key]) if key in self._found else OpOverload(self._found[_TENSOR], number_form)
        setattr(self, key, overload)
        return overload

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the first overload that takes the arguments.

        Raises
        ------
        RuntimeError
            Where none does.
        """
        if must_ask([*args, *kwargs.values()]):
            return handed_over(self, args, kwargs)
        if len(self._overload_names) == 1:
            return getattr(self, self._overload_names[0])(*args, **kwargs)
        overload, bound = self._resolved(args, kwargs)
        return overload._call(bound)

    def _resolved(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> "tuple[OpOverload, list[Any]]":
        """The first overload that takes the arguments, and all of its arguments in order.

        Raises
        ------
        RuntimeError
            Where none does.
        """
        errors = []
        for overload in self.op_overloads():
            try:
                return overload, bind(overload._schema, args, kwargs, overload._numbers)
            except RuntimeError as error:
                if hasattr(error, "fits"):
                    raise
                errors.append(str(error))
        details = "\n\n".join(errors)
        raise RuntimeError(f"Overloaded torch operator invoked from Python failed to match any schema:\n{details}\n")

    @property
    def op(self) -> Callable[..., Any]:
        """What calls the operator by its name, whichever overload fits."""
        return self

    def overloads(self) -> list[str]:
        """Names of the overloads."""
        return list(self._overload_names)

    def op_overloads(self) -> "list[OpOverload]":
        """The overloads themselves."""
        return [getattr(self, name) for name in self._overload_names]

    @property
    def _schemas(self) -> dict[str, FunctionSchema]:
        return {overload._schema.overload_name: overload._schema for overload in self.op_overloads()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._overload_names)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __hash__(self) -> int:
        return hash(self._qualified_op_name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverloadPacket) and other._qualified_op_name == self._qualified_op_name

    def __deepcopy__(self, memo: Any = None) -> "OpOverloadPacket":
        return self

    def __reduce__(self) -> Any:
        return _find_packet, (self._namespace, self.__name__)


#: The overload of two tensors, and the one with a number in place of the second.
_TENSOR, _NUMBER = "Tensor", "Scalar"


def number_form_of(overload: Overload) -> Schema | None:
    """The schema that PyTorch has besides for a number in a tensor's place (``gt.Scalar``), which is the same here.

    None where PyTorch has none, or it is declared.
    """
    if overload.overload_name != _TENSOR or not overload.declaration.numbers or "::" in overload.name:
        return None
    name = f"{overload.packet_name}.{_NUMBER}"
    if name in DECLARATIONS or not taken_apart.is_known(name):
        return None
    text = str(overload.schema).replace(f".{_TENSOR}(", f".{_NUMBER}(", 1).replace("Tensor other", "Scalar other", 1)
    return parse_schema(text)


#: Operators to which a number in a tensor's place is one of their operands; others have a form of their own for it.
_ARITHMETIC = frozenset("add sub mul div add_ sub_ mul_ div_".split())


def form_for_numbers(overload: Overload) -> "OpOverload | None":
    """The operator that PyTorch calls where the second argument is a number, if that is another one."""
    if overload.packet_name in _ARITHMETIC or number_form_of(overload) is None:
        return None
    return operator_of(overload).overloadpacket.Scalar  # type: ignore[no-any-return]


def operator_of(overload: Overload) -> "OpOverload":
    """The operator of an overload, the very object that ``torch.ops`` has."""
    namespace, _, rest = overload.qualified_name.partition("::")
    return _find_overload(namespace, rest.partition(".")[0], overload.overload_name)


def fallback_builder(fn: Callable[..., Any], with_keyset: bool) -> Callable[[Overload, int], Callable[..., Any]]:
    """What hands all operators to a function, as `Library.fallback` registers it."""

    def build(overload: Overload, call_keys: int) -> Callable[..., Any]:
        split = defaults_left_out(overload.schema)
        operator, keys = operator_of(overload), key_set_of_call(call_keys)

        def run(*args: Any) -> Any:
            positional, named = split(args)
            return fn(*((keys, operator) if with_keyset else (operator,)), *positional, **named)

        return checked(run, overload.schema)

    return build


def _find_packet(namespace: str, name: str) -> "OpOverloadPacket":
    return getattr(getattr(ops, namespace), name)


def _find_overload(namespace: str, name: str, overload: str) -> "OpOverload":
    return getattr(_find_packet(namespace, name), overload)


def _overloads_named(namespace: str, name: str) -> dict[str, Overload]:
    if namespace == "aten" and f"aten::{name}" not in geometry.NAMES:
        return _built_in_overloads(name) | _spelled_overloads(name)
    operators = registrations.known_operators(namespace, name)
    return {operator.overload.overload_name: operator.overload for operator in operators}


def _spelled_overloads(name: str) -> dict[str, Overload]:
    from . import spelled  # late: only graphs that PyTorch wrote name these

    return spelled.overloads_named(name) if name in spelled.NAMES else {}


def _built_in_overloads(name: str) -> dict[str, Overload]:
    packet = PACKETS.get(name)
    families = [packet.family] if packet is not None else _families_declaring(name)
    for family in families:
        load_family("mt_core.declarations", family)
    matched = packet.overload_names if packet is not None else ()
    others = [n for n, d in list(DECLARATIONS.items()) if d.schema.name == name and n not in matched]
    overloads = [find_overload(overload_name) for overload_name in (*matched, *others)]
    return {overload.overload_name: overload for overload in overloads}


def _families_declaring(name: str) -> list[str]:
    """Families that may declare an operator which has no Python function or method (``add_``, ``_softmax``)."""
    functional = PACKETS.get(name.removesuffix("_"))
    return [functional.family] if functional is not None else sorted({packet.family for packet in PACKETS.values()})


#: Operators that are called as Python's methods are.
_BITWISE = frozenset(("__and__", "__or__", "__xor__", "__lshift__", "__rshift__"))


#: Declarations are read, and operators entered, when they are first asked for: by one thread at a time.
_FINDING = threading.RLock()


class _OpNamespace(ModuleType):
    """The operators of one namespace: ``torch.ops.aten``."""

    __file__ = "torch.ops"

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self._found: dict[str, OpOverloadPacket] = {}

    def __getattr__(self, op_name: str) -> "OpOverloadPacket":
        is_special = op_name.startswith("__") and op_name not in _BITWISE
        found = {} if is_special else self.__dict__["_found"]
        packet = found.get(op_name)
        if packet is None and self.name == "higher_order" and op_name in HIGHER_ORDER:
            return HIGHER_ORDER[op_name]  # type: ignore[return-value]
        if packet is None:
            with _FINDING:
                packet = found.get(op_name) or self._find(op_name, is_special)
        return packet

    def _find(self, op_name: str, is_special: bool) -> "OpOverloadPacket":
        overloads = {} if is_special else _overloads_named(self.name, op_name)
        if not overloads:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}'")
        packet = self.__dict__["_found"][op_name] = OpOverloadPacket(self.name, op_name, overloads)
        return packet

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __dir__(self) -> list[str]:
        return sorted({*self._found, "name"})

    def forget(self, op_name: str) -> None:
        """Look an operator up anew: its overloads have changed."""
        self._found.pop(op_name, None)


class _Ops(ModuleType):
    """The namespaces of operators."""

    __file__ = "_ops.py"

    def __init__(self) -> None:
        super().__init__("torch.ops")
        self.loaded_libraries: set[str] = set()

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
        namespace = _OpNamespace(name)
        setattr(self, name, namespace)
        return namespace

    def load_library(self, path: Any) -> NoReturn:
        """Refuse: a library compiled for PyTorch needs PyTorch's C++ code.

        Raises
        ------
        OSError
            Always.
        """
        raise OSError(
            f"Could not load this library: {path}. It is compiled for PyTorch's C++ interface, which mindtorch does "
            "not have; register Python kernels with torch.library instead"
        )

    def import_module(self, module: str) -> None:
        """Import a module that registers operators."""
        importlib.import_module(module)


ops = _Ops()
