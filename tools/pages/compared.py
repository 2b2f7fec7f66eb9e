"""Texts that agree up to rounding."""

from __future__ import annotations

import re

__all__ = ["apart", "apart_as_drawn"]

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
#: Two numbers agree within this part of the greater one, or within two units of the last digit that is written.
RELATIVE = 0.02


def apart(old: str, new: str, *, numbers: bool = True) -> str:
    """The first place where two texts differ, or the empty string.

    Parameters
    ----------
    old, new
        Runs of blanks and rules are one where numbers vary, since columns are as wide as their numbers.
    numbers
        Whether numbers are compared; integers must be equal, others agree to rounding.
    """
    for line, (before, after) in enumerate(_pairs(old, new), start=1):
        if not numbers:
            before, after = (re.sub(r"\s+", " ", re.sub(r"-{3,}", "---", text)) for text in (before, after))
            # A unit belongs to its number: 900.000us may be 1.100ms another time.
            before, after = (re.sub(r"(?<=\d)(?:us|ms|s|%|b|Kb|Mb)\b|%", "", text) for text in (before, after))
        if NUMBER.sub("#", before).split() != NUMBER.sub("#", after).split():
            return f"line {line}: {before.strip()!r} became {after.strip()!r}"
        if numbers:
            for one, other in zip(NUMBER.findall(before), NUMBER.findall(after), strict=True):
                if not _close(one, other):
                    return f"line {line}: {one} became {other}"
    return ""


def apart_as_drawn(old: str, new: str) -> str:
    """The first place where two SVG files differ beyond rounding, or the empty string.

    A path is what it extends over and where its middle is: one that a computation drew has other corners when its last
    digits change. Names that are made from such numbers do not count.
    """
    return apart(_outlined(old), _outlined(new))


def _outlined(drawing: str) -> str:
    drawing = re.sub(r"(?<=[\"#])[mpCc][0-9a-f]{9,}[\w]*", "name", drawing)
    return re.sub(r'\bd="([^"]*)"', lambda match: f'd="{_outline(match[1])}"', drawing)


def _outline(path: str) -> str:
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", path)]
    sides = [numbers[side::2] for side in (0, 1)]
    return " ".join(
        f"{value:.0f}.0" for side in sides if side for value in (min(side), max(side), sum(side) / len(side))
    )


def _pairs(old: str, new: str) -> list[tuple[str, str]]:
    first, second = old.splitlines(), new.splitlines()
    length = max(len(first), len(second))
    pad = lambda lines: lines + [""] * (length - len(lines))
    return list(zip(pad(first), pad(second), strict=True))


def _close(one: str, other: str) -> bool:
    if one == other:
        return True
    if not ({".", "e", "E"} & set(one) and {".", "e", "E"} & set(other)):
        return False
    digits = max(len(re.split("[eE]", text.partition(".")[2])[0]) for text in (one, other))
    first, second = float(one), float(other)
    unit = 2.5 * 10.0**-digits if "e" not in (one + other).lower() else 0.0
    return abs(first - second) <= max(RELATIVE * max(abs(first), abs(second)), unit)
