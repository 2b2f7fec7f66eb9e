"""Which faults are planted, and which tests look at what."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable
from pathlib import Path

from .sites import Fault, describe, find_places

__all__ = ["AREAS", "choose", "operators_for", "files_for"]

ROOT = Path(__file__).parents[2]

#: Area -> the folder of its modules.
AREAS = {
    "kernels": "packages/mt-backend-cpu/src/mt_backend_cpu/kernels",
    "rules": "packages/mt-core/src/mt_core/shape_rules",
    "derivatives": "packages/mt-autograd/src/mt_autograd/derivatives",
    "executors": "packages/mt-core/src/mt_core/dispatch",
}
#: Tests of an area, beside the exam; of them, those that are named after a family are left to that family.
TESTS = {
    "kernels": ["mt-backend-cpu"],
    "rules": ["mt-core"],
    "derivatives": ["mt-autograd"],
    "executors": ["mt-core", "mt-autograd"],
}
#: Tests that take long, or look at nothing that faults here could change.
LEFT_OUT = (
    "exam", "plugins", "doctor", "printing", "serialization", "weights_only", "documents", "device_runtime",
    "random_expressions", "lifetimes", "import", "schema",
)  # fmt: skip
FAMILIES = (
    "creation elementwise comparison reduction view indexing matmul linalg conv pool norm activation loss sort random "
    "fft special attention recurrent foreach"
).split()
#: Families that the tests of ``torch.nn`` look at.
NETWORK = ("activation", "attention", "conv", "loss", "norm", "pool", "recurrent", "view")
#: How many in a hundred operators look at faults of no family.
SPREAD = 12


def choose(count: int, seed: int) -> list[Fault]:
    """`count` faults at random, as many in each area."""
    chosen: list[Fault] = []
    numbers = random.Random(seed)
    for nr, folder in enumerate(AREAS.values()):
        sources = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).glob("*.py"))}
        found = [(path, *place) for path, source in sources.items() for place in find_places(source)]
        wanted = count * (nr + 1) // len(AREAS) - len(chosen)
        for path, place, kind in numbers.sample(found, min(wanted, len(found))):
            chosen.append(describe(str(path.relative_to(ROOT)), sources[path], place, kind))
    return chosen


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
    """The test files that look at a fault, beside the exam."""
    area = area_of(fault)
    family = None if area == "executors" else family_of(fault.path)
    files = [
        path for package in TESTS[area] for path in sorted((ROOT / "packages" / package / "tests").glob("test_*.py"))
    ]
    return [str(path.relative_to(ROOT)) for path in files if _looks_at(path, family)]


def _looks_at(path: Path, family: str | None) -> bool:
    topic = path.stem.removeprefix("test_")
    if any(word in topic for word in LEFT_OUT):
        return False
    named_after = family_of(topic.removeprefix("derivatives_"))
    return named_after is None or family is None or named_after == family
