"""Tables of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ._formatting import _format_memory, _format_time, _format_time_share, flops_unit

__all__ = ["_build_table"]

_WIDTH = 12
_GAP = "  "
_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


class _Column:
    """A heading, a width, and the text of an event's cell."""

    def __init__(self, heading: str, width: int, text: Callable[[Any], str], left: bool = False) -> None:
        self.heading = heading
        self.width = width
        self.text = text
        self.left = left

    def cell(self, text: str) -> str:
        return text.ljust(self.width) if self.left else text.rjust(self.width)


def _build_table(
    events: Any,
    sort_by: str | None = None,
    header: str | None = None,
    row_limit: int = 100,
    max_src_column_width: int = 75,
    max_name_column_width: int = 55,
    max_shapes_column_width: int = 80,
    with_flops: bool = False,
    profile_memory: bool = False,
    top_level_events_only: bool = False,
    time_unit: str | None = None,
) -> str:
    """The text of `EventList.table`; without events, none."""
    if not events:
        return ""
    shown = sorted(events, key=lambda event: getattr(event, sort_by), reverse=True) if sort_by else [*events]
    time = _time_writer(time_unit)
    total = sum(event.self_cpu_time_total for event in events)
    device_total = sum(event.self_device_time_total for event in events)
    device = next((event.use_device for event in events if event.use_device), None) if device_total > 0 else None

    columns = [_name_column(shown, max_name_column_width)]
    if any(event.overload_name for event in events):
        columns.append(_Column("Overload Name", columns[0].width, lambda event: event.overload_name or ""))
    columns += _time_columns(total, time)
    if device is not None:
        columns += _device_columns(device.upper(), device_total, time)
    if profile_memory:
        columns += [
            _Column("CPU Mem", _WIDTH, lambda event: _format_memory(event.cpu_memory_usage)),
            _Column("Self CPU Mem", _WIDTH, lambda event: _format_memory(event.self_cpu_memory_usage)),
        ]
    columns.append(_Column("# of Calls", _WIDTH, lambda event: str(event.count)))
    if any(event.node_id != -1 for event in events):
        columns.append(_Column("Node ID", _WIDTH, lambda event: str(event.node_id)))
    columns += _shapes_columns(shown, max_shapes_column_width)
    stacks = max((len(entry) for event in events for entry in event.stack or ()), default=0)
    source = _source_column(min(stacks + 4, max_src_column_width)) if stacks else None
    if source is not None:
        columns.append(source)
    counts = [event.flops for event in events if event.flops] if with_flops else []
    if counts:
        columns.append(_flops_column(min(counts)))

    rows = _rows(shown, columns, source, row_limit, top_level_events_only)
    length = sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)
    lines = []
    if header is not None:
        lines += ["=" * length, header]
    if top_level_events_only:
        lines += ["=" * length, "This report only display top-level ops statistics"]
    rule = _line("-" * column.width for column in columns)
    lines += [rule, _line(column.cell(column.heading) for column in columns), rule, *rows, rule]
    lines.append(f"Self CPU time total: {time(total)}")
    if device is not None:
        lines.append(f"Self {device.upper()} time total: {time(device_total)}")
    return "\n".join(lines) + "\n"


def _line(cells: Iterable[str]) -> str:
    return "".join(cell + _GAP for cell in cells)


def _rows(
    events: list[Any], columns: list[_Column], source: _Column | None, limit: int, top_level_only: bool
) -> list[str]:
    rows: list[str] = []
    count = 0
    for event in events:
        if count == limit:
            break
        if top_level_only and event.cpu_parent is not None:
            continue
        count += 1
        rows.append(_line(column.cell(column.text(event)) for column in columns))
        if source is not None:
            further = [_cut_left(entry, source.width) for entry in (event.stack or ())[1:]]
            for entry in [*further, ""]:
                rows.append(_line(column.cell(entry if column is source else "") for column in columns))
    return rows


def _name_column(events: list[Any], most: int) -> _Column:
    width = min(max(len(event.key) for event in events) + 4, most)

    def text(event: Any) -> str:
        name: str = event.key
        return name if len(name) <= width else name[: width - 3] + "..."

    return _Column("Name", width, text)


def _time_columns(total: float, time: Callable[[float], str]) -> list[_Column]:
    return [
        _Column("Self CPU %", _WIDTH, lambda event: _format_time_share(event.self_cpu_time_total, total)),
        _Column("Self CPU", _WIDTH, lambda event: time(event.self_cpu_time_total)),
        _Column(
            "CPU total %",
            _WIDTH,
            lambda event: "0.00%" if event.is_async else _format_time_share(event.cpu_time_total, total),
        ),
        _Column("CPU total", _WIDTH, lambda event: time(event.cpu_time_total)),
        _Column("CPU time avg", _WIDTH, lambda event: time(event.cpu_time)),
    ]


def _device_columns(name: str, total: float, time: Callable[[float], str]) -> list[_Column]:
    return [
        _Column(f"Self {name}", _WIDTH, lambda event: time(event.self_device_time_total)),
        _Column(f"Self {name} %", _WIDTH, lambda event: _format_time_share(event.self_device_time_total, total)),
        _Column(f"{name} total", _WIDTH, lambda event: time(event.device_time_total)),
        _Column(f"{name} time avg", _WIDTH, lambda event: time(event.device_time)),
    ]


def _shapes_columns(events: list[Any], most: int) -> list[_Column]:
    shapes = [str(event.input_shapes) for event in events if event.input_shapes]
    if not shapes:
        return []
    width = min(max(map(len, shapes)) + 4, most)
    return [_Column("Input Shapes", width, lambda event: str(event.input_shapes)[:width])]


def _source_column(width: int) -> _Column:
    def text(event: Any) -> str:
        return _cut_left(event.stack[0], width) if event.stack else ""

    return _Column("Source Location", width, text, left=True)


def _cut_left(text: str, width: int) -> str:
    """The end of a text that is too long, which says where in a file it is."""
    return text if len(text) <= width else "..." + text[len(text) - width + 3 :]


def _flops_column(least: float) -> _Column:
    scale, unit = flops_unit(least)

    def text(event: Any) -> str:
        return f"{event.flops / scale:8.3f}" if event.flops else "--"

    return _Column(f"Total {unit}", _WIDTH, text)


def _time_writer(unit: str | None) -> Callable[[float], str]:
    if unit is None:
        return _format_time
    if unit not in _UNITS:
        raise ValueError(f"time_unit should be one of {sorted(_UNITS)}, got {unit!r}")
    return lambda time: f"{time / _UNITS[unit]:.3f}{unit}"
