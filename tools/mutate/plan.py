"""Which faults are planted, and which tests look at them."""

from __future__ import annotations

import collections
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from .sites import Fault, describe, find_places

__all__ = ["AREAS", "area_of", "choose", "files_for", "operators_for"]

ROOT = Path(__file__).parents[2]

#: Area -> the folder of its modules.
AREAS = {
    "kernels": "packages/mt-backend-cpu/src/mt_backend_cpu/kernels",
    "rules": "packages/mt-core/src/mt_core/shape_rules",
    "derivatives": "packages/mt-autograd/src/mt_autograd/derivatives",
    "executors": "packages/mt-core/src/mt_core/dispatch",
}
#: Tests that look at nothing that faults here could change, or that the exam repeats.
LEFT_OUT = (
    *("exam", "altered", "doctor", "weights_only", "documents", "random_expressions", "import", "schema"),
    *("process", "cli", "hub", "remedies", "stand_in", "naming", "bench", "demo", "endurance", "mutate"),
)
#: Folders whose tests look at an area, beside the exam.
TESTS = {
    "kernels": ["packages/mt-backend-cpu/tests"],
    "rules": ["packages/mt-core/tests"],
    "derivatives": ["packages/mt-autograd/tests"],
    "executors": ["packages/mt-core/tests", "packages/mt-autograd/tests"],
}
#: Folders of tests that run whole programs: they look at what got past all others.
PROGRAMS = ["packages/mindtorch/tests", "tests-integration", "packages/mt-nn/tests"]
FAMILIES = (
    "creation elementwise comparison reduction view indexing matmul linalg conv pool norm activation loss sort random "
    "fft special attention recurrent foreach quantized fake_quantized"
).split()
#: How many in a hundred operators look at faults of no family.
SPREAD = 12


def choose(count: int, seed: int) -> list[Fault]:
    """`count` faults at random, as many in each area, mixed.

    A fault is drawn by its text, not by its line: a change elsewhere leaves the choice as it is.
    """
    drawn = []
    for nr, folder in enumerate(AREAS.values()):
        found = sorted(place for path in sorted((ROOT / folder).glob("*.py")) for place in _lots(path, seed))
        drawn += found[: count * (nr + 1) // len(AREAS) - count * nr // len(AREAS)]
    return [
        describe(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), place, kind)
        for _, path, place, kind in sorted(drawn)
    ]


def _lots(path: Path, seed: int) -> Iterator[tuple[str, Path, int, str]]:
    """A module's places with the lot that each draws; like places of one function are told apart by their order."""
    seen: collections.Counter[tuple[str, ...]] = collections.Counter()
    for place, *told_by in find_places(path.read_text(encoding="utf-8")):
        words = (path.name, *told_by)
        seen[words] += 1
        yield hashlib.sha256(f"{seed} {words} {seen[words]}".encode()).hexdigest(), path, place, told_by[0]


def area_of(fault: Fault) -> str:
    """The area that a fault is planted in."""
    return next(area for area, folder in AREAS.items() if fault.path.startswith(folder))


def family_of(path: str) -> str | None:
    """The operator family that a module is named after; None for what serves all."""
    stem = Path(path).stem
    return next((f for f in FAMILIES if stem == f or stem.startswith(f"{f}_")), None)


def operators_for(fault: Fault, operators: Iterable[tuple[str, str]]) -> list[str]:
    """Of all operators (name, family), those that the exam asks about a fault."""
    family = None if area_of(fault) == "executors" else family_of(fault.path)
    if family is None:
        return [name for name, _ in operators if zlib.crc32(name.encode()) % 100 < SPREAD]
    return [name for name, of in operators if of == family]


def files_for(fault: Fault) -> list[str]:
    """The test files that look at a fault: those of its area, then those of programs.

    Files that are named after a family are left to that family.
    """
    area = area_of(fault)
    family = None if area == "executors" else family_of(fault.path)
    words = {Path(fault.path).stem, fault.function.rpartition(".")[2]}
    return [
        str(path.relative_to(ROOT))
        for folders in (TESTS[area], PROGRAMS)
        for path in _nearest_first([path for path in _test_files(folders) if _looks_at(path, family)], words)
    ]


def _test_files(folders: list[str]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).glob("test_*.py"))


def _nearest_first(files: list[Path], words: set[str]) -> list[Path]:
    """Files in the order of how often each mentions a module or function."""
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    return sorted(files, key=lambda path: -sum(texts[path].count(word) for word in words))


def _looks_at(path: Path, family: str | None) -> bool:
    if any(word in path.stem for word in LEFT_OUT):
        return False
    named_after = family_of(path.stem.removeprefix("test_").removeprefix("derivatives_"))
    return named_after is None or family is None or named_after == family
