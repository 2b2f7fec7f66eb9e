"""``torch.testing.FileCheck``: patterns that a text must have, one after the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["FileCheck"]

_IN_COMMENTS = re.compile(
    r"^\s*#\s*CHECK(-NEXT|-SAME|-NOT|-DAG|-REGEX|-COUNT-(\d+)(-EXACTLY)?)?:\s*(.*?)\s*$", re.MULTILINE
)


@dataclass(frozen=True)
class _Check:
    kind: str
    text: str
    count: int = 1
    exactly: bool = False

    def __str__(self) -> str:
        number = f"-{self.count}" if self.kind == "COUNT" else ""
        return f"CHECK{'-' if self.kind else ''}{self.kind}{number}{'-EXACTLY' if self.exactly else ''}: {self.text}"


class FileCheck:
    """Patterns, each looked for behind the one before it; `run` looks, and raises where one is not there.

    Every method that adds one returns this object.
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def __str__(self) -> str:
        return "FileCheck checks:" + "".join(f"\n\t{check}" for check in self._checks) + "\n"

    def _add(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._checks.append(_Check(kind, text, count, exactly))
        return self

    def check(self, test_string: str) -> FileCheck:
        """The text comes next."""
        return self._add("", test_string)

    def check_next(self, test_string: str) -> FileCheck:
        """The text comes in the next line."""
        return self._add("NEXT", test_string)

    def check_same(self, test_string: str) -> FileCheck:
        """The text comes in the same line."""
        return self._add("SAME", test_string)

    def check_not(self, test_string: str) -> FileCheck:
        """The text does not come before what is checked next, or before the end."""
        return self._add("NOT", test_string)

    def check_dag(self, test_string: str) -> FileCheck:
        """The text comes next; among checks of this kind in a row, in any order."""
        return self._add("DAG", test_string)

    def check_count(self, test_string: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes so often next; with `exactly`, and then no more before the end."""
        return self._add("COUNT", test_string, count, exactly)

    def check_regex(self, test_string: str) -> FileCheck:
        """What the regular expression finds comes next."""
        return self._add("REGEX", test_string)

    def check_source_highlighted(self, test_string: str) -> FileCheck:
        """The text comes next, underlined by ``~`` in the line behind it."""
        return self._add("SOURCE-HIGHLIGHTED", test_string)

    def run(self, checks_file_or_test: str, test_file: str | None = None) -> None:
        """Look for what was added in a text; of two, for what lines ``# CHECK: ...`` of the first say, in the second.

        Raises
        ------
        RuntimeError
            Where something is not found, or is found that must not be, and where there are no checks.
        """
        checks, text = self._checks, checks_file_or_test
        if test_file is not None:
            checks, text = _written_in(checks_file_or_test), test_file
        if not checks:
            raise RuntimeError("No checks have been added to this instance of Filecheck! Check for bad input.")
        _look(checks, text)


def _written_in(comments: str) -> list[_Check]:
    found = []
    for kind, count, exactly, text in _IN_COMMENTS.findall(comments):
        if count:
            found.append(_Check("COUNT", text, int(count), bool(exactly)))
        else:
            found.append(_Check(kind.removeprefix("-"), text))
    return found


def _look(checks: list[_Check], text: str) -> None:
    """Go through the checks in groups: those of DAG in a row are one, and NOT is settled when the next is found."""
    behind, unwanted, place = 0, [], 0
    while place < len(checks):
        check = checks[place]
        if check.kind == "NOT":
            unwanted.append(check)
            place += 1
            continue
        group = [check]
        while check.kind == "DAG" and place + len(group) < len(checks) and checks[place + len(group)].kind == "DAG":
            group.append(checks[place + len(group)])
        begin, end = _found(group, text, behind)
        for one in unwanted:
            _refuse(one, text, behind, begin)
        unwanted, behind, place = [], end, place + len(group)
        if check.kind == "COUNT" and check.exactly:
            _refuse(_Check("NOT", check.text), text, behind, len(text))
    for one in unwanted:
        _refuse(one, text, behind, len(text))


def _found(group: list[_Check], text: str, behind: int) -> tuple[int, int]:
    """Where what a group of checks asks for begins and ends."""
    check = group[0]
    if check.kind == "DAG":
        spans = [_next(one, text, behind) for one in group]
        return min(begin for begin, _ in spans), max(end for _, end in spans)
    if check.kind == "COUNT":
        first, end = _next(check, text, behind)
        for _ in range(check.count - 1):
            _, end = _next(check, text, end)
        return first, end
    begin, end = _next(check, text, behind)
    between = text[behind:begin]
    if check.kind == "SAME" and "\n" in between:
        raise _error('Expected to not find "\\n" but found it', text, behind + between.index("\n"), check)
    if check.kind == "NEXT":
        lines = between.count("\n")
        if lines == 0:
            raise _error('Expected to find "\\n" but did not find it\nSearched string:', text, behind, check)
        if lines > 1:
            second = between.index("\n", between.index("\n") + 1)
            raise _error('Expected to not find "\\n" but found it', text, behind + second, check)
    if check.kind == "SOURCE-HIGHLIGHTED":
        _refuse_plain(check, text, begin, end)
    return begin, end


def _next(check: _Check, text: str, behind: int) -> tuple[int, int]:
    if check.kind == "REGEX":
        match = re.compile(check.text).search(text, behind)
        begin, end = (-1, -1) if match is None else match.span()
    else:
        begin = text.find(check.text, behind)
        end = begin + len(check.text)
    if begin < 0:
        raise _error(f'Expected to find "{check.text}" but did not find it\nSearched string:', text, behind, check)
    return begin, end


def _refuse(check: _Check, text: str, begin: int, end: int) -> None:
    found = text.find(check.text, begin, end)
    if found >= 0:
        raise _error(f'Expected to not find "{check.text}" but found it', text, found, check)


def _refuse_plain(check: _Check, text: str, begin: int, end: int) -> None:
    """Raise unless the line behind has a ``~`` below each character."""
    start = text.rfind("\n", 0, begin) + 1
    line = text.find("\n", end)
    below = "" if line < 0 else text[line + 1 :].split("\n", 1)[0]
    if not below[begin - start : end - start].ljust(end - begin) == "~" * (end - begin):
        raise RuntimeError(f'Expected to find "{check.text}"highlighted but it is not.\n{text}')


def _error(what: str, text: str, place: int, check: _Check) -> RuntimeError:
    """The words, with the line in which it is marked."""
    line = text.find("\n", place)
    cut = len(text) if line < 0 else line
    start = text.rfind("\n", 0, place) + 1
    mark = f"\n{' ' * (place - start)}~ <--- HERE"
    return RuntimeError(f"{what}\n{text[:cut]}{mark}{text[cut:]}\nFrom {check}\n")
