"""Write `altered_differences.toml`: the altered calls whose outcome is not yet PyTorch's.

``list_altered.py [FAMILY ...]`` writes what differs now, of these families or of all; with ``--show`` it prints it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mt_core.testing.altered import Differences, StoredCalls, differences_of, has_altered_calls
from mt_core.testing.gaps import read_gaps
from mt_core.testing.sample import declared_operators

FOLDER = Path(__file__).parent
LISTED = FOLDER / "altered_differences.toml"
STORED = StoredCalls(FOLDER / "snapshots" / "altered")
MEANING = {
    "accepted": "PyTorch refuses these calls.",
    "refused": "PyTorch accepts these calls.",
    "shapes": "The results have another shape or dtype.",
    "type": "Refused with another type of error.",
    "words": "Refused in other words.",
}


def main() -> None:
    families = [a for a in sys.argv[1:] if not a.startswith("-")]
    show = "--show" in sys.argv
    known: Differences = read_gaps(LISTED) if families and not show else {}  # type: ignore[assignment]
    for overload in declared_operators():
        if not has_altered_calls(overload) or families and overload.family not in families:
            continue
        for calls in known.values():
            calls.pop(overload.name, None)
        for how, words, said in differences_of(overload, STORED):
            known.setdefault(how, {}).setdefault(overload.name, []).append(words)
            if show:
                print(f"{overload.name}, {words} ({how}): {said}")
    if not show:
        LISTED.write_text(text_of(known), encoding="utf-8")
    print({how: sum(map(len, calls.values())) for how, calls in sorted(known.items())})


def text_of(known: Differences) -> str:
    lines = [
        "# Altered calls (see mt_core.testing.altered) whose outcome differs from PyTorch's; list_altered.py writes it."
    ]
    for how in sorted(known):
        kind, _, where = how.partition(" ")
        lines += ["", f"# {MEANING[kind]}" + (" On the meta device alone." if where else ""), f'["{how}"]']
        for operator, calls in sorted(known[how].items()):
            if calls:
                lines += [f'"{operator}" = [', *(f"    {text(words)}," for words in calls), "]"]
    return "\n".join(lines) + "\n"


def text(words: str) -> str:
    return f'"{words}"' if '"' not in words else f"'{words}'"


if __name__ == "__main__":
    main()
