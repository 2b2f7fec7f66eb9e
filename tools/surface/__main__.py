"""``python -m tools.surface [REGEX] [--show]``: look for PyTorch's public names, and make one call of each.

Writes ``docs/names.md`` when all names are looked at. Fails where fewer are there, or work, than is asked.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import multiprocessing
import pkgutil
import re
import sys
import types
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .calling import Outcome, outcome_of
from .describing import differ
from .names import INSTANCES, kind_of, resolve
from .page import page
from .snapshot import read
from .values import words

PAGE = Path(__file__).parents[2] / "docs" / "names.md"
#: Per cent.
RESOLVED, WORKING = 97.0, 90.0
JOBS = 4
CALLED = ("function", "class")


@dataclass(frozen=True)
class Finding:
    """What became of a name.

    Attributes
    ----------
    state
        ``absent``; ``there`` (a module, or nothing that PyTorch could be asked); ``works``; ``refused`` (says that it
        is not supported); ``differs``.
    why
        What is refused, or how it differs.
    """

    path: str
    name: str
    kind: str
    state: str
    why: str = ""

    @property
    def whole(self) -> str:
        return f"{self.path}.{self.name}"


def find(torch: types.ModuleType, path: str, name: str, entry: list) -> Finding:
    """Look a name up, and make the call that PyTorch was asked for."""
    kind = entry[0]
    try:
        value = resolve(torch, f"{path}.{name}")
    except AttributeError:
        if path not in INSTANCES or "raises" in outcome_of(torch, f"{INSTANCES[path]}.{name}"):
            return Finding(path, name, kind, "absent")
        value = None
    except ImportError as error:
        return Finding(path, name, kind, "absent", str(error))
    except NotImplementedError as error:
        return Finding(path, name, kind, "refused", str(error))
    if value is not None and path not in INSTANCES and (kind in CALLED) != (kind_of(value) in CALLED):
        return Finding(path, name, kind, "differs", f"is a {kind_of(value)}, and a {kind} in PyTorch")
    if len(entry) < 3:
        return Finding(path, name, kind, "there")
    state, why = judged(outcome_of(torch, entry[1]), entry[2])
    return Finding(path, name, kind, state, why)


def judged(found: Outcome, stored: Outcome) -> tuple[str, str]:
    """``works``, ``refused`` or ``differs``, and why."""
    if found.get("raises") == "NotImplementedError" and stored.get("raises") != "NotImplementedError":
        return "refused", found["says"]
    if "gives" in stored and "gives" in found:
        if stored["gives"] == "varies" or not differ(found["gives"], stored["gives"]):
            return "works", ""
        return "differs", f"gives {found['gives']}, in PyTorch {stored['gives']}"
    if found.get("raises") is not None and found["raises"] == stored.get("raises"):
        return "works", ""
    said = {key: value for key, value in found.items() if key != "gives"} or "gives a value"
    return "differs", f"{said}, in PyTorch {stored if 'gives' not in stored else 'gives a value'}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev surface", description=__doc__)
    parser.add_argument("names", nargs="?", default="", metavar="REGEX", help="only names that it finds")
    parser.add_argument("--show", action="store_true", help="also tell what differs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import mindtorch

    mindtorch.install_as_torch()
    torch = sys.modules["torch"]
    snapshot = read()
    warm_up(torch, snapshot)
    asked = [
        (torch, path, name, entry)
        for path, names in snapshot.items()
        for name, entry in names.items()
        if re.search(options.names, f"{path}.{name}")
    ]
    findings = looked_for(asked)
    if options.show:
        for finding in findings:
            if finding.state not in ("works", "there"):
                call = snapshot[finding.path][finding.name][1:2]
                print(f"{finding.state}: {finding.whole}: {call} {finding.why}")
    resolved, working = shares(findings)
    states = Counter(finding.state for finding in findings)
    print(f"{len(findings)} names, {resolved:.1f} % are there; {working:.1f} % of the calls work; {dict(states)}")
    if not options.names:
        PAGE.write_text(page(findings), encoding="utf-8")
    return bool(not options.names and (resolved < RESOLVED or working < WORKING))


_asked: list[tuple[Any, ...]] = []


def looked_for(asked: list[tuple[Any, ...]]) -> list[Finding]:
    """What becomes of each name, by a few processes that share what is loaded."""
    _asked[:] = asked
    with multiprocessing.get_context("fork").Pool(JOBS) as pool:
        return pool.map(_look, range(len(asked)), chunksize=16)


def _look(place: int) -> Finding:
    return find(*_asked[place])


def warm_up(torch: types.ModuleType, paths: Iterable[str]) -> None:
    """Load what every call would load in its own process."""
    for path in paths:
        with contextlib.suppress(AttributeError, ImportError):  # `find` says of each name what is absent
            resolve(torch, path)
    for package in ("mt_backend_cpu", "mt_autograd", "mt_core.shape_rules", "mt_core.decomp"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(module.name)
    for expression in ("f(3, 3) @ f(3, 3)", "torch.nn.functional.relu(g(3)).sum().backward()", "f(3, 3).to_sparse()"):
        eval(expression, words(torch))  # noqa: S307 - our own expressions


def shares(findings: list[Finding]) -> tuple[float, float]:
    """How many of the names are there, and how many of the calls give what PyTorch's give, in per cent."""
    there = sum(finding.state != "absent" for finding in findings)
    called = [f for f in findings if f.kind in CALLED and f.state != "there"]
    return 100 * there / max(1, len(findings)), 100 * sum(f.state == "works" for f in called) / max(1, len(called))


if __name__ == "__main__":
    raise SystemExit(main())
