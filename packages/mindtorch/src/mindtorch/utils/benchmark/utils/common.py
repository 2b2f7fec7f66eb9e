"""What was measured, and how it is told."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import math
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...._threads import get_num_threads, set_num_threads

__all__ = [
    "Measurement", "TaskSpec", "ordered_unique", "select_unit", "set_torch_threads", "trim_sigfig", "unit_to_english",
]  # fmt: skip

#: A clock tells no less, in seconds.
_RESOLUTION = 25e-9
_MOST_DIGITS = 5
#: Interquartile range by median from which a measurement is warned of, and from which the machine is blamed.
_NOISY, _VERY_NOISY = 0.1, 0.25
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What is timed, and under which names it is told."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement, with the second label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The setup as it is told; empty where there is none."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, each on lines of their own."""
        told = [self.title, self.description or "", self.setup_str()]
        return "\n".join(text + ("\n" if "\n" in text else "") for text in told if text)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of one task, in seconds for each run of its statement.

    Parameters
    ----------
    number_per_run
        How often the statement ran for each of the times.
    raw_times
        Seconds that so many runs took.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    @property
    def times(self) -> list[float]:
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        return self._quantile(0.5) if self.raw_times else -1.0

    @property
    def mean(self) -> float:
        return math.fsum(self.times) / len(self.raw_times) if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """From the first quartile to the third."""
        return self._quantile(0.75) - self._quantile(0.25) if self.raw_times else 0.0

    def _quantile(self, at: float) -> float:
        # In double precision, between the two times beside the place, the nearer one first.
        ordered = sorted(self.times)
        place = at * (len(ordered) - 1)
        low = math.floor(place)
        high, part = min(low + 1, len(ordered) - 1), place - low
        a, b = ordered[low], ordered[high]
        return a + part * (b - a) if part < 0.5 else b - (b - a) * (1 - part)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something, by the spread of the times between the quartiles.

        The interval is that of a mean with 90 % confidence, of times that are distributed normally.
        """
        ordered = sorted(self.times)
        count = len(ordered)
        between = ordered[count // 4 : math.ceil(3 * count / 4)]
        spread = float(np.std(between)) if between else math.nan
        interval = max(1.645 * spread / math.sqrt(len(between)) if between else math.nan, _RESOLUTION)
        digits = math.floor(-math.log10(interval / self.median))
        return min(max(digits, 1), _MOST_DIGITS)

    @property
    def has_warnings(self) -> bool:
        return bool(self._warning())

    def meets_confidence(self, threshold: float = _NOISY) -> bool:
        """Whether the interquartile range is small beside the median."""
        return self.iqr / self.median < threshold

    def _warning(self) -> str:
        if not self.raw_times or self.meets_confidence():
            return ""
        what = "This could indicate system fluctuation."
        if not self.meets_confidence(_VERY_NOISY):
            what = "This suggests significant environmental influence."
        share = self.iqr / self.median * 100
        return f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n           {what}"

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __getattr__(self, name: str) -> Any:
        # Names of what was timed; none of a measurement under construction has any.
        if name in {field.name for field in dataclasses.fields(TaskSpec)} and "task_spec" in self.__dict__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        """The task, its median and quartiles, how often it ran, and a warning where the times spread."""
        unit, scale = select_unit(self.median)
        count = len(self.raw_times)
        told = [super().__repr__(), self.task_spec.summarize()]
        told.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
            told.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        runs, threads = f"{self.number_per_run} runs", self.task_spec.num_threads
        each = "per measurement" if count > 1 else ""
        plural = "" if count == 1 else "s"
        told.append(f"  {count} measurement{plural}, {runs} {each}, {threads} thread{'' if threads == 1 else 's'}")
        return "\n".join([*told, *filter(None, [self._warning()])])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, of single runs, with the times of all."""
        grouped: dict[TaskSpec, list[Measurement]] = collections.defaultdict(list)
        for measurement in measurements:
            grouped[measurement.task_spec].append(measurement)
        return [
            Measurement(1, [t for m in group for t in m.times], task, metadata=None) for task, group in grouped.items()
        ]


def select_unit(t: float) -> tuple[str, float]:
    """The unit that a time is told in, and how many seconds it has."""
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(math.log10(t) // 3), "s")
    return unit, _UNITS[unit]


def unit_to_english(u: str) -> str:
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to n digits."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    step = 10.0 ** (math.ceil(math.log10(abs(x))) - int(n))
    return float(np.float32(np.round(np.float32(x / step)) * np.float32(step)))


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """Each element once, in the order in which they turn up first."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """So many threads of operators inside of the block."""
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)
