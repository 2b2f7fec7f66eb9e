"""``torch.nn.utils._named_member_accessor``: parameters, buffers and submodules by dotted names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mt_core as mt

from ..modules.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_MISSING: Any = object()


def set_tensor(module: Module, name: str, tensor: mt.Tensor | None) -> None:
    """Put a tensor in the place of a parameter, a buffer or a tensor attribute; `name` is without dots."""
    _check(module, name)
    if name in module._parameters:
        module._parameters[name] = tensor  # type: ignore[assignment]
    elif name in module._buffers:
        module._buffers[name] = tensor
    else:
        setattr(module, name, tensor)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """`set_tensor`, giving what was there.

    Raises
    ------
    AttributeError
        There is no such tensor; with `allow_missing` a mark of its absence is given, and taken in place of `tensor`.
    """
    _check(module, name)
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, mt.Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    for table in (module._parameters, module._buffers):
        if name in table:
            before: Any = table[name]
            if tensor is _MISSING:
                del table[name]
            else:
                table[name] = tensor
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, mt.Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module in the place of a submodule, and give that; `name` is without dots."""
    _check(module, name)
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if before is None:
        raise TypeError(f"{name} attribute is None")
    module._modules[name] = submodule
    return before


def _check(module: Module, name: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')


class NamedMemberAccessor:
    """The tensors and submodules of a module by their dotted names.

    Parameters
    ----------
    module
        The module; where it gets other submodules, make another accessor.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {}

    def get_submodule(self, name: str) -> Module:
        """The submodule of a name; the module itself for the empty one."""
        if not name:
            return self.module
        if name not in self.memo:
            parent, _, own = name.rpartition(".")
            found = getattr(self.get_submodule(parent), own, None)
            if found is None:
                raise AttributeError(f"{self.get_submodule(parent)._get_name()} has no attribute `{own}`")
            if not isinstance(found, Module):
                raise TypeError(f"submodule `{name}`: {found} is not an instance of torch.nn.Module")
            self.memo[name] = found
        return self.memo[name]

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Put a module in the place of a submodule, and give that."""
        parent, _, own = path.rpartition(".")
        self.memo.clear()
        return swap_submodule(self.get_submodule(parent), own, value)

    def get_tensor(self, name: str) -> mt.Tensor:
        """The tensor of a name."""
        parent, _, own = name.rpartition(".")
        module = self.get_submodule(parent)
        try:
            found = getattr(module, own)
        except AttributeError as error:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`") from error
        if not isinstance(found, mt.Tensor) and found is not None:
            raise TypeError(f"{found} is not an instance of torch.Tensor")
        return found  # type: ignore[return-value] # None of a parameter that is not there

    def set_tensor(self, name: str, value: mt.Tensor) -> None:
        """Put a tensor in the place of one."""
        parent, _, own = name.rpartition(".")
        set_tensor(self.get_submodule(parent), own, value)

    def del_tensor(self, name: str) -> None:
        """Remove a tensor."""
        parent, _, own = name.rpartition(".")
        module = self.get_submodule(parent)
        try:
            delattr(module, own)
        except AttributeError as error:
            raise AttributeError(f"{module._get_name()} has no attribute `{own}`") from error

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Put a tensor in the place of one, and give that."""
        parent, _, own = name.rpartition(".")
        return swap_tensor(self.get_submodule(parent), own, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[mt.Tensor]:
        """`get_tensor` of each name."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[mt.Tensor]) -> None:
        """`set_tensor` of each name."""
        for name, value in _paired(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, mt.Tensor]) -> None:
        """`set_tensor` of each name."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """`del_tensor` of each name."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False) -> list[Any]:
        """`swap_tensor` of each name."""
        return [self.swap_tensor(name, value, allow_missing) for name, value in _paired(names, values)]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """What was there by its names, and the names where nothing was; where one fails, all are put back."""
        before: dict[str, Any] = {}
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
            missing = [name for name, tensor in before.items() if tensor is _MISSING]
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except BaseException:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Sorted: the module's tensors that are not among `keys`, and those of `keys` that it has not."""
        given, own = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, mt.Tensor]]:
        """The module's parameters."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, mt.Tensor]]:
        """The module's buffers."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, mt.Tensor]]:
        """Parameters, then buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Module]]:
        """The module and those below it."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def _paired(names: Iterable[str], values: Iterable[Any]) -> list[tuple[str, Any]]:
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise AssertionError(
            f"names and values must have the same length, got {len(names)} names and {len(values)} values"
        )
    return list(zip(names, values, strict=True))
