"""The tools that plant faults: what they find, and that a fault is in place where it runs."""

from __future__ import annotations

import ast
import collections

from tools.mutate.plan import AREAS, area_of, choose, files_for, operators_for
from tools.mutate.sites import Fault, describe, find_places, plant

SOURCE = '''
"""Words."""
__all__ = ["f"]


def f(x: int = 3, *, scale: float = 2.0) -> int:
    if x > 1 and not x == 7:
        print(x, scale, sep="")
    else:
        raise ValueError("not", x + 1)
    return g(x + scale, -x)
'''


def faults() -> list[Fault]:
    return [describe("f.py", SOURCE, place.place, place.kind) for place in find_places(SOURCE)]


def result(tree: ast.Module, x: int) -> object:
    names = {"g": lambda a, b: (a, b), "print": lambda *words, sep=" ": None}
    exec(compile(tree, "planted", "exec"), names)  # noqa: S102 - the snippet above
    try:
        return names["f"](x)
    except ValueError as refusal:
        return type(refusal)


def test_every_fault_changes_the_module_and_compiles() -> None:
    found = faults()
    plain = ast.unparse(ast.parse(SOURCE))
    for fault in found:
        assert ast.unparse(plant(SOURCE, fault.place, fault.kind)) != plain
        compile(plant(SOURCE, fault.place, fault.kind), "planted", "exec")
    kinds = {"operator", "comparison", "sign", "constant", "condition", "statement", "arguments", "keyword"}
    assert {fault.kind for fault in found} == kinds


def test_words_and_annotations_are_left_alone() -> None:
    assert not any("not" in fault.before and fault.kind == "constant" for fault in faults())
    assert not any(fault.before == "x + 1" for fault in faults())


def test_most_faults_show() -> None:
    found = faults()
    plain = [result(ast.parse(SOURCE), x) for x in (1, 2, 7, 9)]
    seen = [f for f in found if [result(plant(SOURCE, f.place, f.kind), x) for x in (1, 2, 7, 9)] != plain]
    assert len(seen) > len(found) / 2


def test_the_choice_is_the_seed_s() -> None:
    first, second = choose(12, 3), choose(12, 3)
    assert first == second and first != choose(12, 4)
    assert collections.Counter(map(area_of, first)) == dict.fromkeys(AREAS, 3)


def test_a_family_s_fault_is_shown_to_its_operators() -> None:
    fault = next(f for f in choose(200, 0) if f.path.endswith("kernels/sort.py"))
    assert operators_for(fault, [("sort", "sort"), ("mm", "matmul")]) == ["sort"]
    own = [path.startswith("packages/mt-backend-cpu/tests/test_") for path in files_for(fault)]
    assert own[0] and own == sorted(own, reverse=True)  # and those of programs after them
    assert "packages/mindtorch/tests/test_programs.py" in files_for(fault)
