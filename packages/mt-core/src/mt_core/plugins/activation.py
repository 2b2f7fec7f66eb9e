"""What takes effect when mindtorch is imported, before anyone asks for it: layers of third parties, and extensions."""

from __future__ import annotations

from ..dispatch.dispatcher import layer_for, register_layer
from .discovery import dispatch_key_of, entry_points_of, find_layer, load_extensions, note_failure
from .entry_points import EntryPoint
from .errors import PluginError

__all__ = ["activate", "keep_inactive", "load_layers"]


_inactive = False


def activate() -> None:
    """Put layers and extensions into effect; ``import mindtorch`` calls this last.

    One that fails is named in a warning, with the cause, and keeps no other from taking effect.
    """
    if not _inactive:
        load_layers()
        load_extensions()


def keep_inactive() -> None:
    """Have `activate` do nothing in this process, which is there to examine a single plugin."""
    global _inactive
    _inactive = True


def load_layers() -> list[str]:
    """Load every ``mindtorch.layers`` entry point of third parties and enter it at its dispatch key; returns names.

    The project's own layers are known to the core by key, and load when a call first needs them.
    """
    names = []
    layers: dict[str, list[EntryPoint]] = {}
    for point in entry_points_of("mindtorch.layers"):
        layers.setdefault(point.name, []).append(point)
    for name, points in layers.items():
        if any(point.is_own for point in points):
            continue  # a rival to it is named when the layer is first needed
        try:
            _enter_layer(name)
            names.append(name)
        except PluginError as error:
            note_failure("mindtorch.layers", name, error)
    return names


def _enter_layer(name: str) -> None:
    layer = find_layer(name)
    key = dispatch_key_of(layer)
    present = layer_for(key)
    if present is not None and present is not layer:
        raise PluginError(f"the dispatch layer '{name}' wants the key {layer.dispatch_key}, which {present!r} serves")
    register_layer(key, layer)
