"""Tables of measurements: a row for each task, a column for each description."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable

from .common import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BOLD, _PLAIN = "\033[1m", "\033[0m"
_BEST, _GOOD, _BAD, _WORST = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"
#: Seconds that make no difference.
_NEGLIGIBLE = 100e-9


class Colorize(enum.Enum):
    """Beside what times are coloured: nothing, others of their column, or others of their row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


#: What tells rows apart: threads, environment, name.
_Row = tuple[int, "str | None", str]


class _Table:
    """Measurements of one label."""

    def __init__(self, results: list[Measurement], colorize: Colorize, trim: bool, highlight: bool) -> None:
        self.results, self.colorize, self.trim, self.highlight = results, colorize, trim, highlight
        self.cells = {(self._row(m), m.description): m for m in results}
        self.rows = sorted(ordered_unique(map(self._row, results)), key=lambda row: (row[0], row[1] or ""))
        self.columns = ordered_unique(m.description for m in results)
        self.unit, self.scale = select_unit(min(m.median for m in results))
        envs = [env for _, env, _ in self.rows if env is not None]
        self.env_width = max(map(len, envs), default=0) + 4

    @staticmethod
    def _row(m: Measurement) -> _Row:
        return m.task_spec.num_threads, m.env, m.as_row_name

    def render(self) -> str:
        names = self._names()
        columns = [self._column(description) for description in self.columns]
        width = max(map(len, names))
        head = ["".ljust(width), *[title for title, _ in columns]]
        lines = [
            "  |  ".join([name.ljust(width), *cells])
            for name, *cells in zip(names, *[c for _, c in columns], strict=True)
        ]
        wide = len("  |  ".join(head))
        label = self.results[0].task_spec.label or ""
        told = [f"[{f' {label} '.center(wide - 2, '-')}]", "  |  ".join(head)]
        for number, (row, line) in enumerate(zip(self.rows, lines, strict=True)):
            if not number or row[0] != self.rows[number - 1][0]:
                told.append(f"{row[0]} threads: ".ljust(wide, "-"))
            told.append(line)
        told += ["", f"Times are in {unit_to_english(self.unit)}s ({self.unit})."]
        if self.highlight and any(m.has_warnings for m in self.results):
            told.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join([*told, ""])

    def _names(self) -> list[str]:
        """Names of rows; an environment is told where it is another than that of the row before."""
        names, before = [], None
        for row in self.rows:
            threads, env, name = row
            new = env is not None and (threads, env) != before
            before = threads, env
            names.append("  " + (f"({env})" if new else "").ljust(self.env_width) + name)
        return names

    def _column(self, description: str | None) -> tuple[str, list[str]]:
        """The title of a column, and its cells, all equally wide."""
        found = [self.cells.get((row, description)) for row in self.rows]
        told = [m for m in found if m is not None]
        leading = [math.ceil(math.log10(m.median / self.scale)) for m in told]
        digits = 1
        if self.trim:
            digits = min(max(min(m.significant_figures - n for m, n in zip(told, leading, strict=True)), 0), 1)
        width = max(leading) + digits + (1 if digits else 0)
        warned = self.highlight and any(m.has_warnings for m in told)
        texts = ["" if m is None else self._text(m, width, digits, warned) for m in found]
        wide = max(map(len, [*texts, description or ""]))
        cells = [
            self._coloured(m, row, text.center(wide)) for m, row, text in zip(found, self.rows, texts, strict=True)
        ]
        return (description or "").center(wide), cells

    def _text(self, m: Measurement, width: int, digits: int, warned: bool) -> str:
        value = m.median / self.scale
        if self.trim:
            value = trim_sigfig(value, m.significant_figures)
        note = f" (! {m.iqr / m.median * 100:.0f}%)" if m.has_warnings else ""
        return f"{value:>{width}.{digits}f}" + (f"{note:>7}" if warned else "")

    def _coloured(self, m: Measurement | None, row: _Row, text: str) -> str:
        if m is None or self.colorize is Colorize.NONE:
            return text
        if self.colorize is Colorize.ROWWISE:
            others = [o for (place, _), o in self.cells.items() if place == row]
        else:
            others = [o for (place, title), o in self.cells.items() if title == m.description and place[0] == row[0]]
        best = min(o.median for o in others)
        if m.median <= best * 1.01 or m.median <= best + _NEGLIGIBLE:
            return _BEST + _BOLD + text + 2 * _PLAIN
        if m.median <= best * 1.1:
            return _GOOD + _BOLD + text + 2 * _PLAIN
        if m.median >= best * 5:
            return _WORST + _BOLD + text + 2 * _PLAIN
        return _BAD + text + 2 * _PLAIN if m.median >= best * 2 else text


class Compare:
    """Measurements side by side: a table for each label.

    Parameters
    ----------
    results
        Those of the same task are taken together.
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim_significant_figures = False
        self._colorize = Colorize.NONE
        self._highlight_warnings = False

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = ordered_unique(m.task_spec.label for m in merged)
        return "\n".join(self._table([m for m in merged if m.task_spec.label == label]) for label in labels)

    def _table(self, results: list[Measurement]) -> str:
        return _Table(results, self._colorize, self._trim_significant_figures, self._highlight_warnings).render()

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Take in further measurements.

        Raises
        ------
        ValueError
            For anything else.
        """
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show no digits that mean nothing."""
        self._trim_significant_figures = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show by colours what is fast and what slow: in each column, or in each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark what varies much."""
        self._highlight_warnings = True

    def print(self) -> None:
        print(str(self))
