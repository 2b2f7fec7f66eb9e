"""The benchmark: what it computes from times, and that it runs where PyTorch is not installed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tools.bench import groups, in_turn, instructions, performance, performance_page, report, scaling, worker  # noqa: E402

OURS = {"4x4, no gradient/add": 3e-6, "4x4, no gradient/exp": 2e-6, "larger/import": 0.1}
THEIRS = {"4x4, no gradient/add": 1e-6, "4x4, no gradient/exp": 6e-6, "larger/import": 1.0}


def test_the_fastest_of_several_runs_counts():
    assert report.fastest([{"a": 2.0, "b": 1.0}, {"a": 1.5, "c": 3.0}]) == {"a": 1.5, "b": 1.0, "c": 3.0}


def test_ratios_and_their_geometric_mean():
    lines = report.table(OURS, THEIRS).splitlines()
    rows = {line.split("  ")[1].strip(): line.split() for line in lines if line.startswith("  ")}
    assert rows["add"][1:] == ["3.00", "1.00", "3.00", "1.35"]
    assert rows["exp"][1:] == ["2.00", "6.00", "0.33", "1.35"]
    assert rows["geometric mean"][2:] == ["1.00", "1.6"]
    assert rows["import"][1:] == ["100.00", "1000.00", "0.10", "0.2"]


def test_without_pytorch_there_are_no_ratios():
    table = report.table(OURS, {})
    assert "geometric mean" not in table
    assert report.missed(OURS, {}) == []


def test_what_is_missed_is_named():
    assert report.missed(OURS, THEIRS) == ["4x4, no gradient/add: 3.00, to be reached 1.35"]


def test_the_geometric_mean():
    assert report.geometric_mean([0.5, 2.0, 1.0]) == pytest.approx(1.0)
    assert math.isnan(report.geometric_mean([]))


def test_runs_and_prints_what_is_asked_for(tmp_path):
    output = tmp_path / "seconds.json"
    command = [sys.executable, "-m", "tools.bench", "--quick", "--only", "/add", "--json", str(output)]
    finished = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert "4x4, no gradient" in finished.stdout
    assert "tiny BERT" not in finished.stdout
    seconds = json.loads(output.read_text())["mindtorch"]
    assert sorted(name.partition("/")[2] for name in seconds) == ["add"] * 4 + ["add_scalar"] * 4
    assert all(0 < value < 1 for value in seconds.values())


@pytest.mark.parametrize("count", [2, 4, 16])
@pytest.mark.parametrize(("kind", "simulate"), [("ring", scaling.ring), ("tree", scaling.tree)])
def test_the_simulation_gives_the_formula_where_ranks_begin_together(count, kind, simulate):
    expected = scaling.formula(kind, count, 1000, 3e-6, 2e-9)
    assert simulate([0.0] * count, 1000, 3e-6, 2e-9) == pytest.approx(expected)
    assert simulate([0.0] * (count - 1) + [5.0], 1000, 3e-6, 2e-9) == pytest.approx(5.0 + expected)


def test_the_figures_of_the_simulation_are_fitted_to_two_processes():
    measured = {f"all_reduce on 2/{n} MB": 1e-5 + n * 2.0**20 * 3e-9 for n in (1, 4, 16)}
    alpha, beta = scaling.fitted({**measured, "all_reduce on 2/4 B": 1e-5, "all_reduce on 4/4 B": 1.0})
    assert (alpha, beta) == (1e-5, pytest.approx(3e-9, rel=1e-2))


def test_what_got_slower_is_named_the_worst_first():
    before = {"forward/add": 1.0, "forward/exp": 1.0, "forward/sum": 1.0, "forward/new": 0.0}
    ours = {"forward/add": 1.5, "forward/exp": 1.05, "forward/sum": 3.0}
    assert performance.slower(ours, before, 1.1) == ["forward/sum: 3.000", "forward/add: 1.500"]
    assert performance.slower(ours, ours, 1.0) == []


SECONDS = {
    "mindtorch": {"1": {"forward/add": 2.0, "forward/exp": 1.0, "growth/add/1": 5.0}, "2": {"forward/add": 1.0}},
    "torch": {"1": {"forward/add": 1.0, "forward/exp": 2.0, "growth/add/1": 1.0}, "2": {"forward/add": 2.0}},
}


def test_the_page_tells_means_the_largest_ratio_and_what_failed():
    found = in_turn.Measured(SECONDS, {"torch, threads 1, forward/mul": "no such operator"}, {})
    lines = performance_page.page(found, performance_page.about(6)).splitlines()
    assert "| forward | 1 | 2 | 1.00 | 0.9 | 2.00 (add) | 1.3 | 1 |" in lines
    assert "| forward | 2 | 1 | 0.50 | 0.9 | 0.50 (add) | 1.3 | 0 |" in lines
    assert "| add | 2.00 | 2e+06 | 0.50 | 1e+06 |" in lines
    assert "| exp | 0.50 | 1e+06 | | |" in lines
    assert "Not measured: torch, threads 1, forward/mul: no such operator" in lines
    assert not any("growth" in line.lower() for line in lines)


def test_what_is_asked_for_is_a_part_of_the_name_or_the_end_of_the_group():
    assert groups.chosen("conv", "forward", "conv, 3x3")
    assert groups.chosen("ward/conv", "backward", "conv, 3x3")
    assert not groups.chosen("back/conv", "backward", "conv, 3x3")
    assert not groups.chosen("backward/conv", "backward", "relu")


def test_two_sides_are_measured_in_turn():
    ours = in_turn.Library(sys.executable, "mindtorch")
    found = in_turn.measure({"here": ours, "there": ours}, "4x4, no gradient/gelu", 2, 0.05, machine=False)
    assert found.errors == {}
    for side in ("here", "there"):
        assert list(found.seconds[side]) == ["1"], "no process is started for other threads"
        assert list(found.seconds[side]["1"]) == ["4x4, no gradient/gelu"]
        assert 1e-8 < found.seconds[side]["1"]["4x4, no gradient/gelu"] < 1


class TwoCalls:
    """In a library's place: one call of the group works, the other does not."""

    def add(self) -> None:
        """Nothing is computed."""

    def mul(self) -> None:
        raise NotImplementedError("mul is missing")


def test_what_raises_is_told_with_its_words(monkeypatch):
    made = {"add": TwoCalls().add, "mul": TwoCalls().mul}
    monkeypatch.setitem(groups.GROUPS, "two", groups.Group(lambda torch: made, 1, (1,), None, 0))
    side = worker.Side(None)
    assert side.answer(["make", "two"]) == ["add", "mul"]
    assert 0 < side.answer(["time", "add", 1]) < 1
    assert side.answer(["time", "mul", 1]) == {"error": "NotImplementedError: mul is missing"}
    assert "KeyError" in side.answer(["make", "three"])["error"]


def test_the_least_time_of_batches_counts():
    calls = []
    assert worker.least(lambda: calls.append(1), 7, 0.001) < 0.001
    assert len(calls) % 7 == 0


def test_counts_of_instructions_are_those_between_two_marks(tmp_path):
    for number, counted in enumerate((900, 40, 17, 600), 1):
        (tmp_path / f"counted.{number}").write_text(f"version: 1\npart: {number}\nsummary: {counted}\n")
    assert instructions._put_together([["a/x", 4], ["a/y", 1]], tmp_path) == {"a/x": 10.0, "a/y": 600.0}
    with pytest.raises(RuntimeError, match="wrote 4 counts of 1 calls"):
        instructions._put_together([["a/x", 4]], tmp_path)


@pytest.mark.parametrize("group", [name for name in groups.GROUPS if name != "growth"])
def test_every_group_is_made_and_a_call_of_it_runs(group):
    torch = pytest.importorskip("mindtorch")
    made = groups.GROUPS[group].make(torch)
    assert len(made) >= 8
    next(iter(made.values()))()
