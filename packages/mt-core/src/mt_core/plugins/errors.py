"""The error of plugins."""

__all__ = ["PluginError"]


class PluginError(RuntimeError):
    """A plugin is missing, ambiguous, or failed to load; the message names it and the remedy."""
