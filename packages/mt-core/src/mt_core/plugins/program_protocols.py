"""Contracts of plugins that concern whole programs: compilers, and the collectives of many processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Collectives", "Compiler"]


class Compiler(Protocol):
    """A backend of ``torch.compile``, found by its name in the group ``mindtorch.compilers``."""

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
