"""Switches that PyTorch keeps at the top level."""

import warnings

from mt_core.deprecation import Once
from mt_core.determinism import DETERMINISM
from mt_core.state import settle

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_DEBUG_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")


class _Switches:
    """The state of this module: every kernel on the CPU is of full precision, whatever it says."""

    float32_matmul_precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask that operators which have no deterministic algorithm in PyTorch raise, or warn.

    Memory without values is filled then (``torch.utils.deterministic.fill_uninitialized_memory``).

    Raises
    ------
    TypeError
        When an argument is no bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not " + type(mode).__name__
        )
    if not isinstance(warn_only, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument 'warn_only' must be bool, not {type(warn_only).__name__}"
        )
    settle()
    DETERMINISM.enabled, DETERMINISM.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` is on."""
    return DETERMINISM.enabled


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it is on and only warns."""
    return DETERMINISM.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Another way to say `use_deterministic_algorithms`: 0 or "default", 1 or "warn", 2 or "error".

    Raises
    ------
    TypeError, RuntimeError
        When it is neither a number nor a string, or none of these.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in _DEBUG_MODES:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    level = _DEBUG_MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {level}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as `set_deterministic_debug_mode` takes them."""
    if not DETERMINISM.enabled:
        return 0
    return 1 if DETERMINISM.warn_only else 2


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 products to be computed less exactly; the kernels of this version make no use of that.

    Anything but "highest", "high" and "medium" warns and changes nothing, as in PyTorch.
    """
    if precision not in _PRECISIONS:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call "
            "has no effect.",
            stacklevel=2,
        )
        return
    _Switches.float32_matmul_precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was given last."""
    return _Switches.float32_matmul_precision


def set_warn_always(b: bool) -> None:
    """Repeat warnings that are otherwise given once."""
    Once.always = bool(b)


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always` is on."""
    return Once.always
