"""Parametrizations: a parameter or buffer computed by modules from other tensors, which are what is learned."""

import collections
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, NamedTuple

import mt_core as mt
from mt_core import Tensor

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor | None] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within this context every parametrized tensor is computed once and kept."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module: Module, name: str, X: Tensor) -> None:
    if isinstance(X, Parameter):
        module.register_parameter(name, X)
    else:
        module.register_buffer(name, X)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first applied first, and the tensor or tensors that they start from.

    These are the attribute `original`, or, where the last `right_inverse` returned a sequence, `original0`, `original1`
    and so on. Calling the list computes the parametrized tensor.

    Parameters
    ----------
    modules
        The parametrizations.
    original
        The tensor to be parametrized.
    unsafe
        Whether shape and dtype may change.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        original_shape, original_dtype = original.shape, original.dtype
        with mt.no_grad():
            inverse = self._inverse_or_itself(original)
        if not isinstance(inverse, Tensor) and not isinstance(inverse, collections.abc.Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(inverse).__name__}"
            )
        self.is_tensor = isinstance(inverse, Tensor)
        self.ntensors = 1 if self.is_tensor else len(inverse)
        if self.is_tensor:
            self._register_original(original, inverse)
        else:
            self._register_originals(original, inverse)
        if not self.unsafe:
            self._check_result(original_shape, original_dtype)

    def _inverse_or_itself(self, original: Tensor) -> Any:
        """What the right inverses, last first, make of a tensor; a parametrization without one leaves it as it is."""
        new: Any = original
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    new = module.right_inverse(new)
                except NotImplementedError:
                    pass
        return new

    def _register_original(self, original: Tensor, inverse: Tensor) -> None:
        if original.dtype != inverse.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {inverse.dtype}"
            )
        if original.device != inverse.device:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the device.\n"
                f"original.device: {original.device}\nright_inverse(original).device: {inverse.device}"
            )
        # The tensor itself stays, as an optimizer may hold it.
        with mt.no_grad():
            original.data = inverse
        _register_parameter_or_buffer(self, "original", original)

    def _register_originals(self, original: Tensor, inverse: Sequence[Tensor]) -> None:
        for position, tensor in enumerate(inverse):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                    f"{position} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            _register_parameter_or_buffer(self, f"original{position}", tensor)

    def _check_result(self, shape: Any, dtype: mt.dtype) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        if result.dtype != dtype:
            raise ValueError(
                "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is "
                "enabled.\n"
                f"unparametrized dtype: {dtype}\nparametrized dtype: {result.dtype}"
            )
        if result.shape != shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is "
                "enabled.\n"
                f"unparametrized shape: {shape}\nparametrized shape: {result.shape}"
            )

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrized tensor becomes a value, if the parametrizations allow that.

        Raises
        ------
        RuntimeError
            A parametrization has no `right_inverse`.
        ValueError
            What they return does not fit the originals.
        """
        with mt.no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            if self.is_tensor:
                self._set_original("original", new)
            else:
                self._set_originals(new)

    def _set_originals(self, new: Any) -> None:
        if not isinstance(new, collections.abc.Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}.")
        if len(new) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                f"length {len(new)}."
            )
        for position, tensor in enumerate(new):
            if not isinstance(tensor, Tensor):
                raise ValueError(
                    f"Tensor {position} returned by `right_inverse` is a {type(tensor).__name__}. Expected torch.Tensor"
                )
            self._set_original(f"original{position}", tensor)

    def _set_original(self, name: str, new: Any) -> None:
        if not isinstance(new, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
        original = getattr(self, name)
        if original.dtype != new.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {new.dtype} while `{name}` has dtype "
                f"{original.dtype}"
            )
        original.data = new

    def forward(self) -> Tensor:
        if self.is_tensor:
            result = self[0](self.original)
        else:
            result = self[0](*(getattr(self, f"original{position}") for position in range(self.ntensors)))
        for module in list(self)[1:]:
            result = module(result)
        return result


# A parametrized module gets a class of its own, in which the tensor's name is a property.


def _inject_new_class(module: Module) -> None:
    """Put a module into a class of its own, below its present one."""
    cls = module.__class__

    def getstate(self: Module) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    def deepcopy_of(self: Module, memo: dict[int, Any]) -> Module:
        # Without this, `__getstate__` above would be asked.
        if id(self) in memo:
            return memo[id(self)]
        replica = self.__new__(self.__class__)
        memo[id(self)] = replica
        replica.__dict__ = deepcopy(self.__dict__, memo)
        return replica

    members: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy_of
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, tensor_name: str) -> None:
    """Let an attribute of a module compute its parametrized tensor, and setting it run the right inverses."""
    if hasattr(module, tensor_name):
        raise AssertionError(f"Module {module} already has an attribute {tensor_name}")

    def get_cached(self: Module) -> Tensor:
        key = (id(self), tensor_name)
        tensor = _cache.get(key)
        if tensor is None:
            tensor = _cache[key] = self.parametrizations[tensor_name]()
        return tensor

    def get_parametrized(self: Module) -> Tensor:
        return get_cached(self) if _cache_enabled else self.parametrizations[tensor_name]()

    def set_original(self: Module, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(module.__class__, tensor_name, property(get_parametrized, set_original))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a tensor of a module be computed by another module, from what is then called its original.

    Several registered for one tensor are applied one after another. A parametrization may have a method
    `right_inverse`, which makes originals for a value; without it the original starts as the tensor itself.

    Parameters
    ----------
    module
        Has the tensor.
    tensor_name
        Name of a parameter or buffer.
    parametrization
        What computes it.
    unsafe
        Whether it may change the shape or the dtype.

    Returns
    -------
    Module
        `module`, whose class is a new one below its former class.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _extend_parametrization(module, tensor_name, parametrization, unsafe)
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _extend_parametrization(module: Module, tensor_name: str, parametrization: Module, unsafe: bool) -> None:
    """Add one more parametrization to a tensor that has some."""
    parametrizations = module.parametrizations[tensor_name]
    if not unsafe:
        present = getattr(module, tensor_name)
        result = parametrization(present)
        _check_same_kind(result, present, _OF_RESULT)
        _check_inverse(parametrization, result, present)
    parametrizations.append(parametrization)
    parametrizations.unsafe |= unsafe


class _Words(NamedTuple):
    """What is said of a result that is no tensor, and of another dtype or shape: of `what`, what it is and was."""

    not_a_tensor: str
    changed: str


_OF_RESULT = _Words(
    "A parametrization must return a tensor. Got {}.",
    "Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is enabled.\n"
    "module.weight.{what}: {present}\nparametrization(module.weight).{what}: {found}",
)
_OF_INVERSE = _Words(
    "parametrization.right_inverse must return a tensor. Got: {}",
    "The tensor returned by parametrization.right_inverse must have the same {what} as module.weight, unless the "
    "`unsafe` flag is enabled.\nmodule.weight.{what}: {present}\nreturned {what}: {found}",
)


def _check_inverse(parametrization: Module, result: Tensor, present: Tensor) -> None:
    """Refuse an inverse that does not lead back from a result; one that says that it is not implemented is none."""
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    _check_same_kind(inverse, present, _OF_INVERSE)


def _check_same_kind(result: Any, present: Tensor, words: _Words) -> None:
    if not isinstance(result, Tensor):
        raise ValueError(words.not_a_tensor.format(type(result).__name__))
    for what in ("dtype", "shape"):
        had, found = getattr(present, what), getattr(result, what)
        if had != found:
            raise ValueError(words.changed.format(what=what, present=had, found=found))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or a tensor of it, is parametrized."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor an ordinary one again.

    Parameters
    ----------
    module
        Has the tensor.
    tensor_name
        Its name.
    leave_parametrized
        Whether it keeps its computed value rather than the original one.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        tensor = parametrizations.original
        if leave_parametrized:
            with mt.no_grad():
                tensor.data = getattr(module, tensor_name)
    elif leave_parametrized:
        computed = getattr(module, tensor_name)
        tensor = Parameter(computed) if computed.requires_grad else computed
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, tensor)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class a module had before it was parametrized."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another, and the tensors these start from.

    Parameters
    ----------
    from_module
        Has the parametrizations.
    to_module
        Gets them.
    tensor_name
        The tensor concerned; all parametrized ones by default.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, deepcopy(getattr(from_module, name)))
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, deepcopy(parametrization))
        source, target = from_module.parametrizations[name], to_module.parametrizations[name]
        if source.is_tensor:
            target.original = source.original
        else:
            for position in range(source.ntensors):
                setattr(target, f"original{position}", getattr(source, f"original{position}"))
    return to_module
