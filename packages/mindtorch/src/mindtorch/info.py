"""What ``mindtorch info --operators`` prints: operators by device, as a table or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from mt_core.plugins.coverage import STATES, Coverage, coverage
from mt_core.plugins.discovery import PluginError, backend_entry_points, find_backend

__all__ = ["operators_as_json", "operators_as_text", "usable_devices"]


def usable_devices() -> list[str]:
    """The device types that have a device here, the CPU first, the meta device last."""
    others = sorted(set(backend_entry_points()) - {"cpu"})
    return [name for name in ("cpu", *others) if _has_device(name)] + ["meta"]


def _has_device(device_type: str) -> bool:
    try:
        return find_backend(device_type).device_count() > 0
    except PluginError:  # `mindtorch doctor` tells why
        return False


def operators_as_json(devices: list[str]) -> str:
    """``{"devices": {"cpu": {"add.Tensor": {"state": "native", "distribution": "mt-backend-cpu"}}}}``."""
    tables = {name: {op: found._asdict() for op, found in coverage(name).items()} for name in devices}
    return json.dumps({"devices": tables}, indent=1)


def operators_as_text(devices: list[str]) -> str:
    """A line for each operator with a column for each device, and a line of counts for each device at the end."""
    return "\n".join(_lines(devices, [coverage(name) for name in devices]))


def _lines(devices: list[str], tables: list[dict[str, Coverage]]) -> Iterator[str]:
    names = sorted(set().union(*tables))
    width = max(map(len, names))
    yield _row(width, "operator", devices)
    for name in names:
        yield _row(width, name, [_cell(table.get(name)) for table in tables])
    yield ""
    for device, table in zip(devices, tables, strict=True):
        counts = Counter(found.state for found in table.values())
        yield f"{device}: " + ", ".join(f"{counts[state]} {state}" for state in STATES)


def _row(width: int, name: str, cells: list[str]) -> str:
    return f"{name:{width}}  {'  '.join(f'{cell:26}' for cell in cells)}".rstrip()


def _cell(found: Coverage | None) -> str:
    if found is None or found.state == "missing":
        return "missing"
    return f"{found.state} ({found.distribution})"
