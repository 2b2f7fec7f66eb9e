"""``python -m tools.surface.make_snapshot [--check] [REGEX]``, with PyTorch: its public names, and one call of each.

A line for each name: its kind and, of what can be called, the expression and its outcome; of a value, the value. Calls
are those of ``calls.txt``, else the first that PyTorch carries out of those that are made up from signatures.
"""

from __future__ import annotations

import argparse
import re
import warnings
from typing import Any

from .calling import first_that_works, outcome_of
from .describing import differ
from .inventing import inventions
from .names import CLASSES, INSTANCES, MODULES, kind_of, public_names, resolve
from .snapshot import SNAPSHOT, read, write, written_calls

#: What tells of memory or of the time, though it may be the same twice.
_LEFT_OPEN = re.compile(r"[._](empty|empty_permuted|empty_strided|data_ptr|timer)$")


def entry_of(torch: Any, path: str, name: str, written: dict[str, str]) -> list[Any]:
    """Kind, expression and outcome of a name."""
    value, whole = getattr(resolve(torch, path), name), f"{path}.{name}"
    instance = INSTANCES.get(path)
    kind = kind_of(value)
    if kind == "module":
        return [kind]
    if whole in written:
        expression = written[whole]
        first = outcome_of(torch, expression)
    elif kind == "value":
        expression = whole if instance is None else f"{instance}.{name}"
        first = outcome_of(torch, expression)
    else:
        found = first_that_works(torch, list(inventions(torch, whole, value, instance)))
        if found is None:
            return [kind]
        expression, first = found
    second = outcome_of(torch, expression)
    if _LEFT_OPEN.search(whole):
        first = {"gives": "varies"}
    if "gives" in first and ("gives" not in second or differ(first["gives"], second["gives"])):
        first = {"gives": "varies"}
    if "raises" in first:
        first.pop("says")
    return [kind, expression, first]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="?", default="", metavar="REGEX", help="only names that it finds")
    parser.add_argument("--check", action="store_true", help="compare with what is stored, and write nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import torch  # here, so that --help needs no PyTorch

    written = written_calls()
    stored = read() if SNAPSHOT.is_file() and SNAPSHOT.stat().st_size else {}
    made: dict[str, dict[str, list[Any]]] = {}
    for path in (*MODULES, *CLASSES):
        before = stored.get(path, {})
        made[path] = {}
        for name in public_names(path, resolve(torch, path)):
            is_asked = re.search(options.names, f"{path}.{name}") or name not in before
            made[path][name] = entry_of(torch, path, name, written) if is_asked else before[name]
        print(path, len(made[path]), sum(len(entry) > 1 for entry in made[path].values()), flush=True)
    if options.check:
        apart = [
            f"{path}.{name}" for path in made for name in made[path] if _apart(made[path][name], stored[path].get(name))
        ]
        print(*(f"differs: {name}" for name in apart), sep="\n")
        return bool(apart)
    write(made)
    return 0


def _apart(made: list[Any], stored: list[Any] | None) -> bool:
    if stored is None or made[:2] != stored[:2]:
        return True
    return len(made) > 2 and differ(made[2], stored[2])


if __name__ == "__main__":
    raise SystemExit(main())
