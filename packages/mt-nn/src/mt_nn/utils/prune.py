"""Pruning: multiplying a parameter by a mask of zeros and ones."""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import mt_core as mt
from mt_core import Tensor

from ..modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """Chooses a mask for a parameter, and applies it before every call of the module.

    The parameter is kept as ``<name>_orig``, the mask is the buffer ``<name>_mask``. A subclass sets `PRUNING_TYPE` to
    ``"unstructured"``, ``"structured"`` or ``"global"`` and defines `compute_mask`.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for importance scores `t`, given the mask so far."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor of a module."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = getattr(module, self._tensor_name + "_mask"), getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> "BasePruningMethod":
        """Prune a parameter.

        Parameters
        ----------
        module
            Has the parameter.
        name
            Its name.
        *args
            What the method is made with.
        importance_scores
            What decides which elements are pruned; by default the parameter.
        **kwargs
            What the method is made with.
        """
        previous = _take_pruning_hook(module, name)
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        if previous is not None:
            method = _joined(previous, method, name)
        original = getattr(module, name)
        scores = _checked_scores(importance_scores, original, module, name)
        if previous is None:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = mt.ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone(memory_format=mt.contiguous_format)
        try:
            mask = method.compute_mask(scores, default_mask=default_mask)
        except Exception:
            if previous is None:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A tensor pruned by itself, without any module.

        Parameters
        ----------
        t
            The tensor.
        default_mask
            A mask to start from.
        importance_scores
            What decides which elements are pruned; by default the tensor.
        """
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        scores = t if importance_scores is None else importance_scores
        default_mask = mt.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor an ordinary parameter again."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters[name + "_orig"]
        original.data = weight.data
        del module._parameters[name + "_orig"]
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _take_pruning_hook(module: Module, name: str) -> "BasePruningMethod | None":
    """The pruning of a parameter so far, which is unregistered."""
    found = [
        (hook_id, hook)
        for hook_id, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(found) > 1:
        raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}.")
    if not found:
        return None
    hook_id, hook = found[0]
    del module._forward_pre_hooks[hook_id]
    return hook


def _joined(previous: "BasePruningMethod", method: "BasePruningMethod", name: str) -> "PruningContainer":
    container = previous
    if not isinstance(container, PruningContainer):
        container = PruningContainer(previous)
        container._tensor_name = name
    container.add_pruning_method(method)
    return container


def _checked_scores(scores: Tensor | None, original: Tensor, module: Module, name: str) -> Tensor:
    if scores is None:
        return original
    if scores.shape != original.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
            f"{original.shape}"
        )
    return scores


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, each of what the ones before it have left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        self._tensor_name: Any = None
        if not isinstance(args, Iterable) or len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        elif len(args) == 1 and isinstance(args[0], tuple):
            for method in args[0]:
                self.add_pruning_method(method)
        else:
            for method in args:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a pruning of the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)  # type: ignore[operator]

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        kept = _kept_part(method, mask)
        new_mask = mask.clone()
        new_mask[kept] = method.compute_mask(t[kept], default_mask=mask[kept]).to(new_mask.dtype)
        return new_mask


def _kept_part(method: "BasePruningMethod", mask: Tensor) -> Any:
    """The index of what is not pruned yet: elements, or whole channels."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return slice(None)
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    dim = method.dim % mask.dim()  # type: ignore[attr-defined]
    channel_sums = mask.sum(dim=tuple(other for other in range(mask.dim()) if other != dim))
    return (slice(None),) * dim + (channel_sums != 0,)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes random elements: `amount` is how many, or which fraction."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _checked_count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=mt.contiguous_format)
        if count != 0:
            chosen = mt.topk(mt.rand_like(t).view(-1), k=count)
            mask.view(-1)[chosen.indices] = 0
        return mask


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of least magnitude: `amount` is how many, or which fraction."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _checked_count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=mt.contiguous_format)
        if count != 0:
            chosen = mt.topk(mt.abs(t).view(-1), k=count, largest=False)
            mask.view(-1)[chosen.indices] = 0
        return mask


class _Structured(BasePruningMethod):
    """Prunes whole channels along a dimension."""

    PRUNING_TYPE = "structured"
    amount: int | float
    dim: int

    def _scores(self, t: Tensor) -> Tensor:
        """What decides which channels stay: those with the highest numbers."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        channels = t.shape[self.dim]
        count = _checked_count(self.amount, channels)
        if count == 0:
            return default_mask
        kept = mt.topk(self._scores(t), k=channels - count, largest=True).indices
        mask = mt.zeros_like(t)
        mask[(slice(None),) * (self.dim % t.dim()) + (kept,)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes random channels: `amount` is how many, or which fraction; `dim` the dimension they lie along."""

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        return mt.rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prunes the channels of least norm.

    Parameters
    ----------
    amount
        How many, or which fraction.
    n
        Order of the norm, as for `Tensor.norm`.
    dim
        The dimension they lie along.
    """

    def __init__(self, amount: int | float, n: Any, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        return _compute_norm(t, self.n, self.dim)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"mask should have the same shape as the tensor, got {self.mask.shape} vs {default_mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Treat a parameter as pruned, with a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: int | float) -> Module:
    """Prune random elements of a parameter."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: int | float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of a parameter that have the least magnitude."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: int | float, dim: int) -> Module:
    """Prune random channels of a parameter."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: int | float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the channels of a parameter that have the least norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a given mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: "type[BasePruningMethod]",
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters as if they were one.

    Parameters
    ----------
    parameters
        Pairs of module and name.
    pruning_method
        The class of an unstructured method.
    importance_scores
        What decides which elements are pruned; by default the parameters.
    **kwargs
        What the method is made with.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    tensors = [getattr(module, name) for module, name in parameters]
    scores = [importance_scores.get(key, tensor) for key, tensor in zip(parameters, tensors, strict=True)]
    masks = [
        getattr(module, name + "_mask", mt.ones_like(tensor))
        for (module, name), tensor in zip(parameters, tensors, strict=True)
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            "type "
            f"{method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    final = container.compute_mask(_joined_vector(scores), _joined_vector(masks))
    for (module, name), tensor, mask in zip(
        parameters, tensors, final.split([tensor.numel() for tensor in tensors]), strict=True
    ):
        custom_from_mask(module, name, mask=mask.view_as(tensor))


def _joined_vector(tensors: list[Tensor]) -> Tensor:
    return mt.cat([tensor.reshape(-1) for tensor in tensors])


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one again, keeping its pruned value."""
    for hook_id, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[hook_id]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether any parameter of a module, or of one below it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for _, submodule in module.named_modules()
        for hook in submodule._forward_pre_hooks.values()
    )


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    is_count = isinstance(amount, numbers.Integral)
    if amount < 0 or (not is_count and float(amount) > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _checked_count(amount: int | float, size: int) -> int:
    """How many of `size` to prune."""
    _validate_pruning_amount(amount, size)
    return _compute_nparams_toprune(amount, size)


def _validate_pruning_amount(amount: int | float, tensor_size: int) -> None:
    """Refuse to prune more than there are."""
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: int | float, tensor_size: int) -> int:
    """How many of `tensor_size` an amount means: so many, or such a fraction."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _compute_norm(t: Tensor, n: Any, dim: int) -> Tensor:
    """The norm of each channel along a dimension."""
    others = [other for other in range(t.dim()) if other != dim % t.dim()]
    return mt.norm(t, p=n, dim=others)
