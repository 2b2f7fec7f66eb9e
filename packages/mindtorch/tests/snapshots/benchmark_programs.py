"""Measurements with given times, and what ``torch.utils.benchmark`` tells of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

#: (statement, setup, names) of tasks.
TASKS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("x + 1", "pass", {}),
    ("x + 1", "import os", {"label": "L"}),
    ("x", "a = 1\nb = 2", {"label": "L", "sub_label": "S", "description": "D", "env": "E", "num_threads": 4}),
    ("x\ny", "", {"sub_label": "S"}),
)
TIMES = (
    [1e-4] * 10,
    [1e-4],
    [1e-4, 2e-4, 3e-4, 1.1e-4, 1.2e-4],
    [1e-4, 1.05e-4, 1.2e-4, 1.3e-4, 1.01e-4, 1.02e-4, 0.99e-4],
    [2.0, 2.1, 2.2],
)
#: Tables: of each cell the median in seconds, the names, and whether the times vary.
_SPREAD = {"a": 1e-4, "b": 1.005e-4, "c": 1.02e-4, "d": 1.09e-4, "e": 1.9e-4, "f": 2.05e-4, "g": 4.9e-4, "h": 5.2e-4}
TABLES: tuple[list[tuple[float, dict[str, Any], bool]], ...] = (
    [(1e-6, {}, False)],
    [(1e-6, {"description": "x"}, False), (2e-3, {"description": "y"}, False), (3e-6, {"num_threads": 4}, False)],
    [(1e-6, {"label": "A"}, False), (2e-6, {"label": None}, False)],
    [(1e-6, {"env": "e1"}, False), (2e-6, {"env": "e2"}, False), (2e-6, {"env": "e2", "sub_label": "Q"}, False)],
    [(1e-3, {}, True), (1e-3, {"sub_label": "long label"}, False), (1.2e-3, {"description": "long name"}, False)],
    [(time, {"sub_label": name}, False) for name, time in _SPREAD.items()],
)


def _measured(b: Any, median: float, names: dict[str, Any], varies: bool) -> Any:
    names = {"label": "L", "sub_label": "S", "description": "D", **names}
    factors = (1, 5, 9, 2) if varies else (1.0, 1.01, 1.02, 1.03, 1.04)
    return b.Measurement(10, [10 * median * factor for factor in factors], b.TaskSpec("f(x)", "pass", **names))


def answers(torch: Any, b: Any) -> Iterator[str]:
    """What is told of all of these, and random inputs of one seed."""
    for stmt, setup, names in TASKS:
        task = b.TaskSpec(stmt, setup, **names)
        yield f"{task.title}|{task.setup_str()}|{task.summarize()}"
        for times in TIMES:
            m = b.Measurement(100, times, task)
            yield re.sub(r"<.*>", "", repr(m))
            facts = (m.median, m.iqr)
            yield f"{facts} {m.significant_figures} {m.has_warnings} {m.title} {m.env} {m.as_row_name}"
    for table in TABLES:
        for how in (
            (),
            ("trim_significant_figures",),
            ("colorize",),
            ("highlight_warnings", "trim_significant_figures"),
        ):
            compare = b.Compare([_measured(b, *cell) for cell in table])
            for name in how:
                getattr(compare, name)()
            yield str(compare)
        compare.colorize(rowwise=True)
        yield str(compare)
    yield str([(b.select_unit(t), b.trim_sigfig(t, 2)) for t in (4.5e-7, 1e-6, 0.002, 0.9, 5.0, 1234.567)])
    yield from _inputs(torch, b)


def _inputs(torch: Any, b: Any) -> Iterator[str]:
    number, tensor = b.FuzzedParameter, b.FuzzedTensor
    fuzzer = b.Fuzzer(
        [number("k0", 4, 64, "loguniform"), [number("k1", 4, 64, "uniform"), number("s", 1, 4, "uniform")],
         number("u", 0.0, 1.0, "uniform"), number("d", 1, 2, "uniform", strict=True)],
        [tensor("x", ("k0", "k1"), steps=("s", 1), min_elements=10, max_elements=2000),
         [tensor("y", ("k0", 3), dim_parameter="d", dtype=torch.int32), tensor("z", ("s", "k0"), dtype=torch.int16)]],
        constraints=[lambda params: params["k0"] != params["k1"]], seed=7,
    )  # fmt: skip
    for tensors, facts, params in fuzzer.take(4):
        yield str({name: [list(t.shape), list(t.stride()), int(t[:1].sum() * 8)] for name, t in tensors.items()})
        yield str({name: [of["numel"], list(map(int, of["order"])), of["dtype"]] for name, of in facts.items()})
        yield str({name: float(value) for name, value in params.items()})
    yield str(fuzzer.rejection_rate)
