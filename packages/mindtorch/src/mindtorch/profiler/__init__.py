"""``torch.profiler``: what a program calls, and how long it takes; see the page on the profiler."""

from __future__ import annotations

from mt_nn.optim.optimizer import register_optimizer_step_post_hook

from .._lazy import lazy_submodules
from .autograd_profiler import KinetoStepTracker, record_function
from .profiler import (
    ExecutionTraceObserver,
    ProfilerAction,
    ProfilerActivity,
    _KinetoProfile,
    kineto_available,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from .profiler_util import DeviceType

__all__ = [
    "DeviceType", "ExecutionTraceObserver", "KinetoStepTracker", "ProfilerAction", "ProfilerActivity",
    "_KinetoProfile", "kineto_available", "profile", "record_function", "register_optimizer_step_post_hook",
    "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


__getattr__, __dir__ = lazy_submodules(__name__, "itt")
