"""sympy, or the error that says how to get it."""

from __future__ import annotations

try:
    import sympy
except ImportError as error:
    raise ImportError(
        "Symbolic sizes need sympy, which is not installed. Install it with: pip install 'mindtorch[symbolic]'"
    ) from error

__all__ = ["sympy"]
