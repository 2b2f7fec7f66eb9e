"""Timing of Python statements."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from ....accelerator import is_available, synchronize
from .common import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]

#: What is measured in place of no time at all, in seconds.
_LEAST = 1e-9
#: A block is measured that takes this part of the whole time at least.
_BLOCK = 1000


def _after_the_device() -> float:
    """The clock, after an accelerator has done what it was given."""
    synchronize()
    return timeit.default_timer()


#: Gives seconds; whether there is an accelerator is asked once, since asking would be timed.
timer: Callable[[], float] = _after_the_device if is_available() else timeit.default_timer


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


_LANGUAGES = {"py": Language.PYTHON, "python": Language.PYTHON, "c++": Language.CPP, "cpp": Language.CPP}


class Timer:
    """Times a statement, after it ran once, on a fixed number of threads.

    Parameters
    ----------
    stmt, setup
        Python; indentation that all lines share is dropped.
    global_setup
        Of C++ alone.
    timer
        Gives seconds.
    globals
        Names that the statement sees; ``torch`` is there by itself.
    label, sub_label, description, env
        How it is told.
    num_threads
        Threads of operators.
    language
        `Language.PYTHON`.

    Raises
    ------
    ValueError
        For a statement that is no text, `global_setup`, or a language that is not known.
    NotImplementedError
        For C++.
    """

    _timer_cls: Any = timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        found = language if isinstance(language, Language) else _LANGUAGES.get(language)
        if found is None:
            raise ValueError(f"Invalid language `{language}`.")
        if found is Language.CPP:
            raise NotImplementedError("torch.utils.benchmark.Timer(language='c++') is not supported: it compiles C++")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        # A copy: the timer writes names of its own into it.
        self._globals = {"torch": _torch(), **dict(globals or {})}
        stmt, setup = (textwrap.dedent(text).strip("\n").rstrip() for text in (stmt, setup))
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=self._globals)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), _LEAST)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One time of so many runs, after a hundredth of them."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _number_of_a_block(self, min_run_time: float) -> int:
        """How many runs hide what the loop and the clock cost, and take a thousandth of the whole time."""
        overhead = float(np.median([self._timeit(0) for _ in range(5)]))
        number = 1
        while True:
            taken = self._timeit(number)
            if overhead / taken <= 1e-4 and taken >= min_run_time / _BLOCK or taken > min_run_time:
                return number
            number *= 10

    def _times(
        self,
        number: int,
        enough: Callable[[list[float]], bool],
        min_run_time: float,
        max_run_time: float | None = None,
        callback: Callable[[int, float], Any] | None = None,
    ) -> list[float]:
        times: list[float] = []
        taken = 0.0
        with set_torch_threads(self._task_spec.num_threads):
            while taken < min_run_time or not enough(times):
                times.append(self._timeit(number))
                taken += times[-1]
                if callback is not None:
                    callback(number, times[-1])
                if max_run_time is not None and taken > max_run_time:
                    break
        return times

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Times of blocks of runs, until they took `min_run_time` seconds together."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._number_of_a_block(min_run_time)
        times = self._times(number, lambda _: True, min_run_time, callback=callback)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Times of blocks of runs, until their interquartile range is below `threshold` of the median."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._number_of_a_block(0.05)

        def enough(times: list[float]) -> bool:
            return len(times) > 3 and Measurement(number, times, self._task_spec).meets_confidence(threshold)

        times = self._times(number, enough, min_run_time, max_run_time, callback)
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, number: int = 100, **options: Any) -> Any:
        """Raise NotImplementedError: instructions are counted by a program beside Python."""
        raise NotImplementedError("torch.utils.benchmark.Timer.collect_callgrind is not supported: it runs Valgrind")


def _torch() -> Any:
    import mindtorch  # at the first timer: this is part of what it names

    return mindtorch
