"""``torch.utils.benchmark`` tells of measurements what PyTorch tells, and times statements."""

from __future__ import annotations

import doctest
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch
from mindtorch.utils import benchmark

HERE = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(HERE))

from benchmark_programs import answers  # noqa: E402


def test_what_is_told_of_measurements_is_what_pytorch_tells() -> None:
    told = list(answers(mindtorch, benchmark))
    assert told == json.loads((HERE / "benchmark.json").read_text(encoding="utf-8"))
    assert len(told) > 80


def counted(**options: Any) -> tuple[benchmark.Timer, list[int]]:
    """A timer of a statement that counts its runs, by a clock that goes on by a second for each reading and run."""
    runs: list[int] = [0, 0]

    def clock() -> float:
        runs[1] += 1
        return float(runs[0] + runs[1])

    return benchmark.Timer("runs[0] += 1", globals={"runs": runs}, timer=clock, **options), runs


def test_a_time_is_of_the_runs_between_two_readings_of_the_clock() -> None:
    timed, runs = counted(label="L")
    measurement = timed.timeit(300)
    assert measurement.raw_times == [301.0] and measurement.number_per_run == 300
    assert runs[0] == 303, "a hundredth of the runs comes first, to warm up"
    assert measurement.task_spec.stmt == "runs[0] += 1" and measurement.title == "L"


def test_blocks_are_measured_until_the_time_is_over() -> None:
    timed, _ = counted()
    seen: list[tuple[int, float]] = []
    measurement = timed.blocked_autorange(lambda number, time: seen.append((number, time)), min_run_time=1e6)
    assert sum(measurement.raw_times) >= 1e6 > sum(measurement.raw_times[:-1])
    assert measurement.raw_times[0] == measurement.number_per_run + 1 >= 1e4, "a block hides what the clock costs"
    assert seen == [(measurement.number_per_run, time) for time in measurement.raw_times]


def test_measurements_go_on_until_they_agree_or_for_as_long_as_they_may() -> None:
    timed, _ = counted()
    agreeing = timed.adaptive_autorange(min_run_time=0.01)
    assert len(agreeing.raw_times) == 4 and agreeing.meets_confidence()
    ticks = iter(range(10**9))
    uneven = benchmark.Timer("1", timer=lambda: float(next(ticks) ** 2)).adaptive_autorange(max_run_time=5e3)
    assert sum(uneven.raw_times[:-1]) <= 5e3 < sum(uneven.raw_times) and not uneven.meets_confidence()


def test_statements_see_torch_and_their_globals_which_stay_as_they_are() -> None:
    names = {"x": mindtorch.ones(2)}
    assert benchmark.Timer("  y = torch.add(x, 1)\n  y", "z = 1", globals=names).timeit(1).median > 0
    assert list(names) == ["x"]


def test_threads_are_those_asked_for_while_it_runs() -> None:
    seen: list[int] = []
    before = mindtorch.get_num_threads()
    benchmark.Timer("seen.append(torch.get_num_threads())", globals={"seen": seen}, num_threads=1).timeit(1)
    assert set(seen) == {1} and mindtorch.get_num_threads() == before


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: benchmark.Timer(len), ValueError, "Currently only a `str` stmt is supported."),
        (lambda: benchmark.Timer("1", global_setup="x"), ValueError, "global_setup is C++ only, got `x`"),
        (lambda: benchmark.Timer("1", language="rust"), ValueError, "Invalid language `rust`."),
        (lambda: benchmark.Timer("1", language="cpp"), NotImplementedError, "compiles C"),
        (lambda: benchmark.Timer("1").collect_callgrind(), NotImplementedError, "collect_callgrind"),
        (lambda: benchmark.Timer("1").repeat(), NotImplementedError, "See `Timer.blocked_autorange.`"),
        (lambda: benchmark.Compare([1]), ValueError, "Expected an instance of `Measurement`"),
        (lambda: benchmark.FuzzedParameter("a", 1, 2, "normal"), AssertionError, "Unknown distribution: normal"),
        (lambda: benchmark.FuzzedParameter("a", distribution={1: 0.5}), AssertionError, "not normalized"),
        (lambda: benchmark.FuzzedTensor("a", (1,), cuda=True), NotImplementedError, "cuda"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


def test_choices_and_aliases_are_drawn_by_their_probabilities() -> None:
    number, alias = benchmark.FuzzedParameter, benchmark.ParameterAlias
    drawn = number("k", distribution={"a": 0.75, alias("n"): 0.25})
    fuzzer = benchmark.Fuzzer([drawn, number("n", 5, 5, "uniform")], [], seed=1)
    values = [params["k"] for _, _, params in fuzzer.take(400)]
    assert set(values) == {"a", 5} and 250 < values.count("a") < 350
    circle = benchmark.Fuzzer(
        [number("a", distribution={alias("b"): 1.0}), number("b", distribution={alias("a"): 1.0})], []
    )
    with pytest.raises(ValueError, match="cycle"):
        next(circle.take(1))


def test_the_page_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "benchmark.md"
    blocks = re.findall(r"^```pycon\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    assert doctest.DocTestRunner().run(examples).failed == 0 and len(examples.examples) > 5
