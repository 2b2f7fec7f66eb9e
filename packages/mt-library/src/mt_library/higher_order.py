"""Operators on functions: ``HigherOrderOperator``, whose kernels are Python functions, one for each dispatch key."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import Any

from mt_core import Tensor
from mt_core.keys import AUTOGRAD, FUNCTIONALIZE, PYTHON, TRACING
from mt_core.overrides import handle_torch_function, has_torch_function
from mt_core.python_dispatch import handlers_among, refresh_modes
from mt_core.pytree import tree_leaves
from mt_core.state import excluding, tls
from mt_core.transforms.interpreters import innermost, outside

from .dispatch_keys import key_of_device_type
from .operator_base import OperatorBase

__all__ = ["HIGHER_ORDER", "HigherOrderOperator", "recorders"]

Callee = Callable[..., Any]

#: The operators that there are, by name: ``torch.ops.higher_order``.
HIGHER_ORDER: dict[str, HigherOrderOperator] = {}

#: Thread -> what is called in the place of operators where the key ``TRACING`` is not left out.
recorders: dict[int, Callee] = {}

_IMPLICIT, _EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"


class HigherOrderOperator(OperatorBase, abc.ABC):
    """Base of operators that take functions; a subclass names itself and is called by ``super().__call__``.

    A call goes to the kernel of the first key that takes part in it: transforms of ``torch.func``, autograd, functional
    tensors, modes and tensor classes with a ``__torch_dispatch__``, the device. A kernel goes on to the next key by
    leaving its own out and calling the operator again. One for ``CompositeImplicitAutograd`` stands for all keys but
    those of modes that have a rule for the operator.
    """

    def __init__(self, name: str, *, cacheable: bool = False, supports_training_input_mutation: bool = False) -> None:
        if type(self) is HigherOrderOperator:
            raise RuntimeError("Direct instantiation of HigherOrderOperator is not allowed. Please subclass it.")
        self._name = self.__name__ = name
        self.__module__ = "torch.ops.higher_order"
        self._cacheable = cacheable
        self._supports_training_input_mutation = supports_training_input_mutation
        #: Dispatch key, by name -> kernel.
        self.py_kernels: dict[str, Callee] = {}
        #: Class of modes or tensors -> kernel.
        self.python_key_table: dict[type, Callee] = {}
        self._passed_over: set[str] = set()
        HIGHER_ORDER[name] = self

    @abc.abstractmethod
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if recorders and not tls.exclude & TRACING and (recorder := recorders.get(get_ident())) is not None:
            return recorder(self, args, kwargs)
        leaves = tree_leaves((args, kwargs))
        if has_torch_function(leaves):
            return handle_torch_function(self, leaves, *args, **kwargs)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        keys = tls.include
        for tensor in tensors:
            keys |= tensor._keys
        if (level := innermost()) is not None and not self._is_composite():
            return self._at_level(level, args, kwargs)
        is_seen = keys & ~tls.exclude & (PYTHON | FUNCTIONALIZE) == PYTHON and innermost() is None
        if is_seen and self._is_composite() and self._has_rule_for_mode():
            return self._in_python(tensors, args, kwargs)
        device = key_of_device_type(tensors[0].device.type) if tensors else "CPU"
        if not tls.exclude & AUTOGRAD and tensors and f"Autograd{device}" not in self._passed_over:
            return self._kernel(f"Autograd{device}", "Autograd", _IMPLICIT)(*args, **kwargs)
        keys &= ~tls.exclude
        if keys & FUNCTIONALIZE:
            return self._kernel("Functionalize", _IMPLICIT)(*args, **kwargs)
        if keys & PYTHON:
            return self._in_python(tensors, args, kwargs)
        return self._kernel(device, _EXPLICIT, _IMPLICIT)(*args, **kwargs)

    def py_impl(self, k: Any) -> Callable[[Callee], Callee]:
        """Enter a kernel for a dispatch key, or for a class of modes or tensors.

        Kernels for classes of modes get the mode first.
        """

        def enter(function: Callee) -> Callee:
            if isinstance(k, type):
                self.python_key_table[k] = function
            else:
                self.py_kernels[_key_name(k)] = function
            return function

        return enter

    def py_autograd_impl(self, fn: Callee) -> Callee:
        """Enter a kernel for autograd, which is called where there is something to record."""

        def run(*args: Any, **kwargs: Any) -> Any:
            tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
            if tls.grad_enabled and any(tensor.requires_grad for tensor in tensors):
                return fn(*args, **kwargs)
            with excluding(AUTOGRAD):
                return self(*args, **kwargs)

        self.py_kernels["Autograd"] = run
        return fn

    def fallthrough(self, dispatch_key: Any) -> None:
        """Pass over a key."""
        self._passed_over.add(_key_name(dispatch_key))

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Whether a kernel was entered for a key."""
        return _key_name(k) in self.py_kernels

    def gen_schema(self, *args: Any, **kwargs: Any) -> Any:
        """The schema of one call, which depends on its functions; subclasses may have one.

        Raises
        ------
        NotImplementedError
            In those that have none.
        """
        raise NotImplementedError(
            f"HigherOrderOperator {self._name} does not implement a gen_schema. This is OK as long as the hop is "
            "functional. e.g. it should not mutate its inputs and there are no input, output aliasing via views or "
            "direct referencing."
        )

    def name(self) -> str:
        return self._name

    @property
    def namespace(self) -> str:
        return "higher_order"

    def __str__(self) -> str:
        return self._name

    def __deepcopy__(self, memo: Any = None) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> Any:
        return _find, (self._name,)

    def _is_composite(self) -> bool:
        """Whether it is written in operators alone, which every transform sees one by one."""
        return _IMPLICIT in self.py_kernels and not any("FuncTorch" in key or key in _LEVELS for key in self.py_kernels)

    def composite(self) -> Callee:
        """The kernel that is written in operators alone."""
        return self._kernel(_IMPLICIT)

    def _has_rule_for_mode(self) -> bool:
        """Whether the innermost mode takes the whole; others are told of the operators that its functions call."""
        mode = tls.dispatch_modes[-1] if tls.dispatch_modes else None
        return type(mode) in self.python_key_table or getattr(mode, "supports_higher_order_operators", False)

    def _kernel(self, *keys: str) -> Callee:
        for key in keys:
            if key in self.py_kernels:
                return self.py_kernels[key]
        raise NotImplementedError(
            f"could not find kernel for HigherOrderOperator {self._name} at dispatch key DispatchKey.{keys[0]} "
            f"(resolved from DispatchKey.{keys[0]})"
        )

    def _at_level(self, level: Any, args: Any, kwargs: Any) -> Any:
        kernel = self.py_kernels.get(level.name)
        if kernel is None:
            raise RuntimeError(f"There was no rule registered for HigherOrderOperator {self._name} and {level.name}")
        with outside():
            return kernel(level, *args, **kwargs)

    def _in_python(self, tensors: Iterable[Tensor], args: Any, kwargs: Any) -> Any:
        """Ask the innermost mode, then the classes of tensors."""
        if tls.dispatch_modes:
            result = self._in_mode(tls.dispatch_modes[-1], args, kwargs)
            if result is not NotImplemented:
                return result
        handlers = handlers_among(tensors)
        for tensor in handlers:
            cls = type(tensor)
            if cls not in self.python_key_table:
                raise NotImplementedError(
                    f"There was no rule registered for HOP {self._name} and subclass {cls}. We recommend filing an "
                    "issue."
                )
            result = self.python_key_table[cls](*args, **kwargs)
            if result is not NotImplemented:
                return result
        raise TypeError(
            f"HigherOrderOperator '{self._name}' is not supported for the given input types. This typically happens "
            "when using custom tensor types or dispatch modes that don't have implementations for this operation.\n\n"
            f"Input types: {[type(tensor).__name__ for tensor in handlers]}"
        )

    def _in_mode(self, mode: Any, args: Any, kwargs: Any) -> Any:
        kernel = self.python_key_table.get(type(mode))
        if kernel is None and not getattr(mode, "supports_higher_order_operators", False):
            raise NotImplementedError(
                f"There was no rule registered for HigherOrderOperator {self._name} and mode {mode}.Hint: set {mode}'s "
                "supports_higher_order_operators to True. This causes all higher order operators to pass through "
                f"{mode}'s __torch_dispatch__, so handle them accordingly by adding support for HigerOrderOperators "
                f"(in this case, {self._name}) in {mode}.__torch_dispatch__ or returning NotImplemented when not "
                "supported."
            )
        tls.dispatch_modes.pop()
        refresh_modes()
        try:
            if kernel is not None:
                return kernel(mode, *args, **kwargs)
            return mode.__torch_dispatch__(self, [], args, kwargs)
        finally:
            tls.dispatch_modes.append(mode)
            refresh_modes()


#: What the interpreters of transforms are called.
_LEVELS = frozenset(("Vmap", "Grad", "Jvp", "Functionalize"))


def _key_name(key: Any) -> str:
    name: str = getattr(key, "name", None) or str(key).rpartition(".")[2]
    return name


def _find(name: str) -> HigherOrderOperator:
    return HIGHER_ORDER[name]
