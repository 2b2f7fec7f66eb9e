"""Events of `test_profiler.py` and `make_profiler_tables.py`: name, times, shapes, stack, FLOPs, bytes, overload."""

from __future__ import annotations

from typing import Any

EVENTS = [
    ("outer", 0, 1500.0, [[2, 3], []], ["a.py(3): f", "b.py(4): g" * 12], 5_000_000, 12, "Tensor"),
    ("x" * 70, 100.0, 900.0, [], [], 0, 1 << 22, ""),
    ("outer", 2000.0, 2000.5, [[2, 3], []], ["z.py(1): h"], 7, -3000, "Tensor"),
    ("same", 3000.0, 3003.0, [[4] * 30], [], 0, 0, ""),
    ("same", 3001.0, 3002.0, [[4] * 30], [], 0, 0, ""),
]
#: Keyword arguments of ``table``.
TABLES: list[dict[str, Any]] = [
    {},
    {"sort_by": "count", "row_limit": 2},
    {"header": "HEAD", "top_level_events_only": True},
    {"max_name_column_width": 12, "max_shapes_column_width": 20, "max_src_column_width": 30},
    {"time_unit": "ms"},
]
#: Keyword arguments of ``key_averages``.
GROUPS: list[dict[str, Any]] = [
    {},
    {"group_by_input_shapes": True},
    {"group_by_stack_n": 1},
    {"group_by_stack_n": 2, "group_by_input_shapes": True},
    {"group_by_overload_name": True},
]
#: Keyword arguments of ``schedule``.
SCHEDULES: list[dict[str, int]] = [
    {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 1},
    {"wait": 2, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 1, "skip_first_wait": 1},
    {"wait": 0, "warmup": 2, "active": 3},
]


def described(util: Any, schedule: Any, flops: bool) -> dict[str, Any]:
    """Tables, representations and schedules, as text.

    With stacks and FLOPs in one table PyTorch puts each into the other's column, so there is only one of them.
    """

    def events(**options: Any) -> Any:
        made = [
            util.FunctionEvent(
                number, name, 1, start, end, input_shapes=shapes, stack=[] if flops else stack, flops=count,
                cpu_memory_usage=nbytes, overload_name=overload,
            )
            for number, (name, start, end, shapes, stack, count, nbytes, overload) in enumerate(EVENTS)
        ]  # fmt: skip
        found = util.EventList(made, **options)
        found._build_tree()
        return found

    whole = events(profile_memory=True, with_flops=flops)
    return {
        "tables": [whole.table(**options) for options in TABLES],
        "groups": [whole.key_averages(**options).table() for options in GROUPS],
        "plain": events().table(),
        "total": repr(whole.total_average()),
        "averages": [repr(average) for average in whole.key_averages()],
        "schedules": [[schedule(**options)(step).name for step in range(15)] for options in SCHEDULES],
    }
