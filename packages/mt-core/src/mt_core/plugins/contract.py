"""Whether a plugin follows the contract of its group; what it lacks is listed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import keys
from . import protocols
from .errors import PluginError
from .program_protocols import Bridge, Collectives, Compiler

__all__ = ["CHECKS", "check_backend", "members"]


def members(protocol: type) -> list[str]:
    """The attributes and methods that a protocol names, in its order."""
    named = [*inspect.get_annotations(protocol), *vars(protocol)]
    return [name for name in dict.fromkeys(named) if not name.startswith("_")]


def check_backend(plugin: Any, name: str, who: str) -> None:
    """Refuse what is no backend of the device type `name`; `who` begins the message.

    Raises
    ------
    PluginError
        For another contract, a missing attribute, or another device type.
    """
    _check(plugin, protocols.Backend, who)
    if plugin.device_type != name:
        raise PluginError(
            f"{who} has the device type {plugin.device_type!r}, and was found as '{name}'. Name both alike"
        )


def _check_layer(plugin: Any, name: str, who: str) -> None:
    _check(plugin, protocols.Layer, who)
    if plugin.dispatch_key == keys.NAMES[keys.AUTOGRAD]:
        _check(plugin, protocols.AutogradLayer, who)


def _check_compiler(plugin: Any, name: str, who: str) -> None:
    _check(plugin, Compiler, who)


def _check_collectives(plugin: Any, name: str, who: str) -> None:
    _check(plugin, Collectives, who)


def _check_bridge(plugin: Any, name: str, who: str) -> None:
    _check(plugin, Bridge, who)


#: Group -> the check of its plugins, where they are objects and not functions.
CHECKS: dict[str, Callable[[Any, str, str], None]] = {
    "mindtorch.backends": check_backend,
    "mindtorch.layers": _check_layer,
    "mindtorch.compilers": _check_compiler,
    "mindtorch.collectives": _check_collectives,
    "mindtorch.bridges": _check_bridge,
}


def _check(plugin: Any, protocol: type, who: str) -> None:
    """Refuse a plugin of another contract, and one that lacks what the protocol names."""
    lacking = [name for name in members(protocol) if name != "contract" and not hasattr(plugin, name)]
    contract = getattr(plugin, "contract", None)
    if contract == protocols.CONTRACT:
        if lacking:
            raise PluginError(f"{who} lacks, of plugin contract {contract}: {', '.join(lacking)}. Add it")
        return
    to_add = f". For contract {protocols.CONTRACT} it lacks: {', '.join(lacking)}" if lacking else ""
    if contract is None:
        raise PluginError(
            f"{who} does not say for which plugin contract it was written: add contract = {protocols.CONTRACT}{to_add}"
        )
    raise PluginError(
        f"{who} was written for plugin contract {contract}, and this mt-core speaks contract {protocols.CONTRACT}: "
        f"install matching versions of the two, or bring it to that contract (docs/writing-a-backend.md){to_add}"
    )
