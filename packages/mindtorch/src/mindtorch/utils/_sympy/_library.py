"""sympy, or the error that says how to get it."""

from __future__ import annotations

try:
    import sympy
except ImportError as error:
    raise ImportError(
        "Symbolic sizes need sympy, which is not installed. Install it by the extra mindtorch[symbolic]: "
        "in a clone of mindtorch, pip install 'packages/mindtorch[symbolic]'"
    ) from error

__all__ = ["sympy"]
