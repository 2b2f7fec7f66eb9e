"""Spectral normalization by a hook. `parametrizations.spectral_norm` is its successor."""

from typing import Any, TypeVar

import mt_core as mt
from mt_core import Tensor

from ..functional import normalize
from ..modules.module import Module
from ..parameter import Parameter, UninitializedParameter
from .parametrizations import is_transposed_convolution

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

_Module = TypeVar("_Module", bound=Module)


class SpectralNorm:
    """Divides a weight, kept as ``<name>_orig``, by its largest singular value before every call of a module.

    The buffers ``<name>_u`` and ``<name>_v`` estimate the singular vectors; training improves them by power iteration.
    """

    #: 1: the state holds `v` too, and the weight itself is no longer part of it.
    _version: int = 1
    name: str
    dim: int
    n_power_iterations: int
    eps: float

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix with a row for each output."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(dim for dim in range(weight.dim()) if dim != self.dim))
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The normalized weight, after improving the singular vectors if asked to."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with mt.no_grad():
                for _ in range(self.n_power_iterations):
                    # In place, so that copies of the module in other threads, sharing the buffers, see new values.
                    v = normalize(mt.mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    u = normalize(mt.mv(matrix, v), dim=0, eps=self.eps, out=u)
                u = u.clone(memory_format=mt.contiguous_format)
                v = v.clone(memory_format=mt.contiguous_format)
        return weight / mt.dot(u, mt.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the normalized weight an ordinary parameter again."""
        with mt.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for suffix in ("_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, weight_mat: Tensor, u: Tensor, target_sigma: Tensor) -> Tensor:
        """The v that, with u, gives a wanted singular value."""
        v = mt.linalg_multi_dot([weight_mat.t().mm(weight_mat).pinverse(), weight_mat.t(), u.unsqueeze(1)]).squeeze(1)
        return v.mul_(target_sigma / mt.dot(u, mt.mv(weight_mat, v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> "SpectralNorm":
        """Rename a weight of a module, and register the hooks that normalize it."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        function = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with mt.no_grad():
            matrix = function.reshape_weight_to_matrix(weight)
            rows, columns = matrix.size()
            u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
            v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)  # a plain attribute: what follows it is no parameter
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(function)
        module._register_state_dict_hook(SpectralNormStateDictHook(function))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(function))
        return function


class SpectralNormLoadStateDictPreHook:
    """Converts states of version 0, which hold the normalized weight but no v."""

    def __init__(self, fn: "SpectralNorm") -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version", None)
        if version is not None and version >= 1:
            return
        key = prefix + self.fn.name
        needed = [key + suffix for suffix in ("_orig", "", "_u")]
        if version is None and all(name in state_dict for name in needed) is False:
            return
        missing = [name for name in needed if name not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with mt.no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            sigma = (original / weight).mean()
            matrix = self.fn.reshape_weight_to_matrix(original)
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(matrix, state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Stores the version beside the state."""

    def __init__(self, fn: "SpectralNorm") -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: _Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> _Module:
    """Keep the largest singular value of a weight at 1; arguments as in `parametrizations.spectral_norm`."""
    if dim is None:
        dim = 1 if is_transposed_convolution(module) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: _Module, name: str = "weight") -> _Module:
    """Undo `spectral_norm`, keeping the normalized weight."""
    for hook_id, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[hook_id]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        for hook_id, hook in hooks.items():
            function = getattr(getattr(hook, "hook", hook), "fn", None)
            if isinstance(getattr(hook, "hook", hook), kind) and function.name == name:
                del hooks[hook_id]
                break
    return module
