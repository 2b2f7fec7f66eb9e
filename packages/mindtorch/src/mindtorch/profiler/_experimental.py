"""``torch._C._profiler._ExperimentalConfig``: options of traces."""

from __future__ import annotations

from typing import Any

from .._unsupported import refusal

__all__ = ["_ExperimentalConfig"]

_REFUSED = {
    "profiler_metrics": [],
    "profiler_measure_per_kernel": False,
    "performance_events": [],
    "enable_cuda_sync_events": False,
    "adjust_profiler_step": False,
    "disable_external_correlation": False,
    "profile_all_threads": False,
    "record_python_gc_info": False,
    "expose_kineto_event_metadata": False,
    "custom_profiler_config": "",
    "adjust_timestamps": False,
    "trace_only": False,
}


class _ExperimentalConfig:
    """Options of a profiler: `verbose` and `capture_overload_names`; others are refused unless at their defaults.

    Parameters
    ----------
    verbose
        Whether events have stacks, with ``with_stack=True``.
    capture_overload_names
        Whether events of operators say which overload it is.
    """

    def __init__(self, *, verbose: bool = False, capture_overload_names: bool = False, **others: Any) -> None:
        for name, value in others.items():
            if name not in _REFUSED:
                raise TypeError(f"_ExperimentalConfig() got an unexpected keyword argument '{name}'")
            if value != _REFUSED[name]:
                raise refusal(f"torch._C._profiler._ExperimentalConfig({name}={value!r})")
        self.verbose = verbose
        self.capture_overload_names = capture_overload_names
