"""Device ``npu`` on CANN alone, end to end, on libraries that stand in for CANN's (`fake/ascendcl.c`).

What is shown is what this side does: names, signatures, 64-bit handles, order, lifetimes. That CANN behaves as its
documentation says is not.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FAKE = Path(__file__).with_name("fake")
LIBRARIES = ("ascendcl", "nnopbase", "opapi", "kernels")
PROGRAMS = re.findall(r'^@program\("(\w+)"\)\ndef (\w+)', (FAKE / "programs.py").read_text("utf-8"), re.MULTILINE)
ENVIRONMENTS = {
    "all": {},
    "visible": {
        "ASCEND_RT_VISIBLE_DEVICES": "1,3,9",
        "ASCEND_LAUNCH_BLOCKING": "1",
        "PYTORCH_NPU_ALLOC_CONF": "max_split_size_mb:30,garbage_collection_threshold:0.5",
    },
    "graphs": {},
    "old": {"FAKE_CANN_LAUNCH": "aclrtLaunchKernelWithConfig"},
}


def _compiled(folder: Path, *options: str) -> Path:
    """A folder of CANN's, with the libraries."""
    (folder / "lib64").mkdir()
    for name in LIBRARIES:
        command = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", *options, str(FAKE / f"{name}.c")]
        subprocess.run([*command, "-o", str(folder / "lib64" / f"lib{name}.so"), "-lpthread", "-ldl"], check=True)
    return folder


class Ended:
    """What the programs of a group said, and what was left in the end."""

    def __init__(self, folder: Path, group: str) -> None:
        options = ("-DWITHOUT_HOST_ARGS",) if group == "old" else ()
        home = _compiled(folder, *options)
        self.report = folder / "report"
        environment = os.environ | ENVIRONMENTS[group] | {
            "MT_ASCEND_TARGET": "ACL", "ASCEND_HOME_PATH": str(home), "FAKE_CANN_FOLDER": str(folder),
            "FAKE_CANN_REPORT": str(self.report),
        }  # fmt: skip
        ended = subprocess.run(
            [sys.executable, str(FAKE / "programs.py"), group],
            capture_output=True,
            text=True,
            env=environment,
            timeout=300,
        )
        self.errors = ended.stderr
        self.lines = {line["name"]: line["wrong"] for line in map(json.loads, ended.stdout.splitlines())}


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    return {group: Ended(tmp_path_factory.mktemp(group), group) for group in ENVIRONMENTS}


@pytest.mark.parametrize(("group", "name"), PROGRAMS)
def test_program(groups: dict[str, Ended], group: str, name: str) -> None:
    ended = groups[group]
    assert name in ended.lines, ended.errors
    assert not ended.lines[name], ended.lines[name]


@pytest.mark.parametrize("group", ENVIRONMENTS)
def test_nothing_is_left_in_the_end(groups: dict[str, Ended], group: str) -> None:
    """Memory, streams, events and descriptors were given back when the process ended, and nobody was in the way."""
    assert groups[group].report.read_text() == "finalized\n", groups[group].errors
