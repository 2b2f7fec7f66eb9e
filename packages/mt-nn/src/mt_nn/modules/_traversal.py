"""Walking a module tree: its modules, parameters and buffers by dotted name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from mt_core import Tensor

from ..parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


class ModuleTraversal:
    """The part of `Module` that looks up and lists what is in the tree."""

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path, such as ``"encoder.layers.0"``; this module for the empty path.

        Raises
        ------
        AttributeError
            The path leads nowhere, or to something that is no module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            module = _child(module, name)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a dotted path.

        Parameters
        ----------
        target
            Where; all but the last part of the path must exist.
        module
            What to put there.
        strict
            Whether there must already be a module at the path.

        Raises
        ------
        ValueError
            The path is empty, or `module` is no module.
        AttributeError
            The path leads nowhere, or what is there is no module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        *parents, name = target.split(".")
        if not isinstance(module, ModuleTraversal):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent: Any = self.get_submodule(".".join(parents))
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), ModuleTraversal):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path.

        Raises
        ------
        AttributeError
            The path leads nowhere, or to something that is no parameter.
        """
        owner, name = self._owner_of(target)
        param = getattr(owner, name)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path.

        Raises
        ------
        AttributeError
            The path leads nowhere, or to something that is no buffer.
        """
        owner, name = self._owner_of(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return getattr(owner, name)

    def _owner_of(self, target: str) -> tuple[Any, str]:
        """(module that has the attribute at a dotted path, name of the attribute)"""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """(dotted name, member) of what `get_members_fn` lists for each module, leaving out `None`."""
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield f"{path}.{name}" if path else name, member

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Each parameter once. With `recurse`, those of all modules below are included."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter).

        Parameters
        ----------
        prefix
            Put in front of every name.
        recurse
            Whether to include the parameters of all modules below.
        remove_duplicate
            Whether a parameter that is in several places is listed only once.
        """
        yield from self._named_members(lambda module: module._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Each buffer once. With `recurse`, those of all modules below are included."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(dotted name, buffer), with arguments as in `named_parameters`."""
        yield from self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Module]:
        """Each direct child once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the direct children, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, parents first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(dotted name, module) of this module and all below it, parents first.

        Parameters
        ----------
        memo
            Modules to leave out; those listed are added to it.
        prefix
            The name of this module itself.
        remove_duplicate
            Whether a module that is in several places is listed only once.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


def _child(module: Any, name: str) -> Any:
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    child = getattr(module, name)
    if not isinstance(child, ModuleTraversal):
        raise AttributeError(f"`{name}` is not an nn.Module")
    return child
