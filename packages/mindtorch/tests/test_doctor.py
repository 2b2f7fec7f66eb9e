"""What the doctor makes of plugins that others wrote: each is named, and none takes the doctor with it."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from mindtorch import doctor
from mt_core.plugins import discovery
from mt_core.plugins.discovery import entry_points_of
from mt_core.plugins.entry_points import EntryPoint
from mt_core.plugins.probe import Outcome, probe

LOADS = {
    "hangs": "import time; time.sleep(1000)",
    "spawns": "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(1000)'])",
    "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "exits": "import sys; print('no licence'); sys.exit(7)",
    "leaves": "import os; print('no licence', flush=True); os._exit(7)",
    "raises": "raise OSError('libtoy.so: cannot open shared object file')",
    "works": "import atexit, time; atexit.register(time.sleep, 1000); register = backend = lambda: None",
}


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An extension whose module has the given text, found on the path."""

    def make(name: str, text: str) -> EntryPoint:
        (tmp_path / f"plugin_{name}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return EntryPoint("mindtorch.extensions", name, f"plugin_{name}:register", "toy-dist")

    return make


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("hangs", "loading it takes longer than 2 seconds. Repair or uninstall toy-dist"),
        ("spawns", "loading it takes longer than 2 seconds. Repair or uninstall toy-dist"),
        ("crashes", "loading it crashed: SIGSEGV"),
        ("exits", "failed to load: SystemExit: 7"),
        ("leaves", "loading it ended the process with status 7, after printing 'no licence'. Repair or uninstall"),
        ("raises", "failed to load: OSError: libtoy.so: cannot open shared object file. Repair or uninstall toy-dist"),
    ],
)
def test_a_plugin_that_fails_is_told(plugin, name, error):
    assert error in probe(plugin(name, LOADS[name]), seconds=2).error


def test_a_plugin_that_works(plugin):
    assert probe(plugin("works", LOADS["works"])) == Outcome("")


def test_what_a_plugin_starts_ends_with_it(plugin, tmp_path):
    mark = tmp_path / "mark"
    child = f"import time; time.sleep(5); open({str(mark)!r}, 'w')"
    text = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    probe(plugin("spawns", text), seconds=1)
    time.sleep(5)
    assert not mark.exists()


def test_a_backend_that_cannot_describe_itself(plugin):
    point = plugin(
        "toy",
        "class Backend:\n    contract, device_type = 1, 'toy'\n    def diagnose(self): raise OSError('no driver')\n"
        "    def __getattr__(self, name): return lambda *args: 1\nfrom mt_core.plugins.protocols import CONTRACT\n"
        "Backend.contract = CONTRACT\nregister = Backend()\n",
    )._replace(group="mindtorch.backends")
    assert "cannot describe its devices: OSError: no driver" in probe(point).error


@pytest.fixture
def installed(monkeypatch):
    """Backends, and what came of loading them."""

    def install(**outcomes: Outcome) -> None:
        points = {name: [EntryPoint("mindtorch.backends", name, "m:b", f"{name}-dist")] for name in outcomes}
        everything = {"mindtorch.backends": points}
        monkeypatch.setattr(discovery, "_entry_points", lambda group: everything.get(group, {}))
        monkeypatch.setattr(discovery, "_loaded", {})
        monkeypatch.setattr(doctor, "probe", lambda point: outcomes[point.name])
        monkeypatch.setattr(doctor, "_layers", list)

    return install


def test_counts_and_details_are_told(installed):
    installed(cpu=Outcome("", 1), toy=Outcome("", 2, (("driver", "too old"),)))
    report = doctor.examine()
    assert report.healthy
    assert "1 device\n" in report.text
    assert "toy-dist not installed, 2 devices\n" in report.text
    assert "driver: too old" in report.text


def test_a_backend_that_fails_makes_it_unhealthy(installed):
    installed(cpu=Outcome("", 1), toy=Outcome("ImportError: no driver"))
    report = doctor.examine()
    assert not report.healthy
    assert "toy-dist: ImportError: no driver" in report.text


def test_a_missing_accelerator_is_no_illness_but_a_missing_cpu_is(installed):
    installed(cpu=Outcome("", 1))
    assert doctor.examine().healthy
    installed(cuda=Outcome("", 1))
    report = doctor.examine()
    assert not report.healthy and "pip install packages/mt-backend-cpu" in report.text


def test_what_is_installed_here_is_probed():
    points = entry_points_of("mindtorch.backends")
    outcome = probe(next(point for point in points if point.name == "cpu"))
    assert not outcome.error and outcome.devices == 1 and ("NumPy" in dict(outcome.details))


def test_the_command_is_not_kept_by_a_plugin_that_hangs(make_distribution, run_mindtorch, monkeypatch):
    """Neither as a module nor as a script, though its package is imported first."""
    make_distribution("hanging", {"mindtorch.extensions": {"hangs": "hanging_plugin:register"}}, LOADS["hangs"])
    make_distribution("good", {"mindtorch.extensions": {"good": "good_plugin:register"}}, LOADS["works"])
    script = [sys.executable, "-c", "import sys; sys.argv[0] = 'bin/mindtorch'; from mindtorch.cli import main; main()"]
    start = time.monotonic()
    printed = run_mindtorch("doctor").stdout
    assert time.monotonic() - start < 30
    assert "hanging: loading it takes longer than 10 seconds. Repair or uninstall hanging" in printed
    assert "loaded, from good 1.0" in printed
    listed = subprocess.run([*script, "info"], capture_output=True, text=True, timeout=60, check=False)
    assert listed.returncode == 0, listed.stderr


def test_backends_that_are_not_here_are_told_with_who_is_to_bring_them():
    points = entry_points_of("mindtorch.collectives")
    lines = "\n".join(
        line for one in doctor._collectives({point: Outcome("") for point in points}) for line in one.lines()
    )
    assert "`gloo` is a name for it, Gloo itself is not used" in lines or "nothing but groups of one process" in lines
    assert "nccl            not here: it comes with the collectives of mt-backend-gpu" in lines
    assert "hccl            not here: it comes with the collectives of mt-backend-ascend" in lines
