"""Plugins that fail to load."""
