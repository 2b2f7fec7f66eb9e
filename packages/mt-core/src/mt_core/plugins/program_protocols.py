"""Contracts of plugins that concern whole programs: compilers, collectives of many processes, bridges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Bridge", "Collectives", "Compiler"]


class Compiler(Protocol):
    """A backend of ``torch.compile``, found by its name in the group ``mindtorch.compilers``.

    It may have a method ``diagnose()``, which gives (what, state or remedy) lines for ``mindtorch doctor``.
    """

    #: Version of the contract that it was written for (`mt_core.plugins.protocols.CONTRACT`).
    contract: int

    def compile(self, function: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
        """What is called in place of `function`. There is no graph: it is given the program itself.

        It is asked at the first call of what ``torch.compile`` returned.

        Parameters
        ----------
        function
            The function; for a module, what calls its ``forward`` and hooks.
        settings
            ``fullgraph``, ``dynamic``, ``mode`` and ``options`` as ``torch.compile`` got them; ``name``,
            ``recompile_limit`` and ``isolate_recompiles`` when they were given. It refuses those that it does not know.
        """
        ...


class Collectives(Protocol):
    """A library of collectives, found by its name in the group ``mindtorch.collectives``.

    What `torch.distributed` will ask of one belongs to the distribution that asks; the core finds it and compares
    contracts.
    """

    #: Version of the contract that it was written for (`mt_core.plugins.protocols.CONTRACT`).
    contract: int


class Bridge(Protocol):
    """Interchange of tensors with another framework, found by that one's name in the group ``mindtorch.bridges``."""

    #: Version of the contract that it was written for (`mt_core.plugins.protocols.CONTRACT`).
    contract: int

    def export(self, tensor: Any) -> Any:
        """The framework's tensor of a tensor's elements, detached; on its memory where that lies row by row."""
        ...

    def adopt(self, tensor: Any, copy: bool) -> Any:
        """A tensor, detached, on the memory of one of the framework's; with `copy` on memory of its own."""
        ...

    def warn_of_copies(self, enabled: bool) -> None:
        """Whether a copy that `export` has to make is warned of."""
        ...
