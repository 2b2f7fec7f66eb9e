"""Trying out one plugin in a process of its own: it may hang, crash or exit, and takes nobody with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from . import activation, discovery
from .entry_points import EntryPoint
from .errors import PluginError

__all__ = ["SECONDS", "Outcome", "probe"]

#: How long a plugin may take to load and to describe its devices.
SECONDS = 10.0
#: How long the interpreter and the core may take before that, on a busy machine.
_STARTING_SECONDS = 60.0
_TICK = 0.02

# The child gets our module path, not the one that its way of being started would give it.
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from mt_core.plugins.probe import main; main()"


class Outcome(NamedTuple):
    """What came of loading a plugin.

    Attributes
    ----------
    error
        Why it cannot be used, with the remedy; empty where it loaded.
    devices
        For a backend, how many devices it sees.
    details
        For a backend, and a compiler that has it, the lines of its ``diagnose()``.
    """

    error: str
    devices: int = 0
    details: tuple[tuple[str, str], ...] = ()


def probe(point: EntryPoint, seconds: float = SECONDS) -> Outcome:
    """Load an entry point in a fresh interpreter, which is ended `seconds` after it has begun with the plugin."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ending = _run([json.dumps(list(sys.path)), json.dumps(point), name], folder, seconds)
        answer = folder / "answer"
        if answer.exists():
            error, devices, details = json.loads(answer.read_text())
            return Outcome(error, devices, tuple(map(tuple, details)))
        return Outcome(f"loading it {ending}{_last_line(folder / 'output')}. Repair or uninstall {point.distribution}")


def _run(arguments: list[str], folder: Path, seconds: float) -> str:
    """Run the child to its end, or end it; says how it ended."""
    with (folder / "output").open("wb") as file:
        # A session of its own, so that what the plugin has started ends with it. A file rather than a pipe, which those
        # processes would keep open.
        process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", _PROGRAM, *arguments],
            stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
        if not _ends(process, folder / "ready", seconds):
            _end(process)
            return f"takes longer than {seconds:g} seconds"
    status = process.returncode
    return f"ended the process with status {status}" if status >= 0 else f"crashed: {signal.Signals(-status).name}"


def _ends(process: subprocess.Popen[bytes], ready: Path, seconds: float) -> bool:
    """Whether the child ends within `seconds` from when it was ready to load the plugin."""
    deadline, is_ready = time.monotonic() + _STARTING_SECONDS, False
    while process.poll() is None:
        if not is_ready and ready.exists():
            deadline, is_ready = time.monotonic() + seconds, True
        if time.monotonic() > deadline:
            return False
        time.sleep(_TICK)
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _last_line(output: Path) -> str:
    lines = output.read_text(errors="replace").strip().splitlines()
    return f", after printing {lines[-1].strip()!r}" if lines else ""


def main() -> None:
    """In the child: load the entry point that the arguments name, and write down what came of it."""
    _, _, described, name = sys.argv
    folder = Path(name)
    (folder / "ready").touch()
    outcome = _load(EntryPoint(*json.loads(described)))
    (folder / "part").write_text(json.dumps(outcome))
    (folder / "part").replace(folder / "answer")
    os._exit(0)  # what the plugin wants to do at exit is its own affair


def _load(point: EntryPoint) -> Outcome:
    activation.keep_inactive()
    try:
        plugin = discovery.load_alone(point)
        is_backend = point.group == "mindtorch.backends"
        describes = is_backend or point.group == "mindtorch.compilers" and hasattr(plugin, "diagnose")
        return _description(plugin, is_backend) if describes else Outcome("")
    except PluginError as error:
        return Outcome(str(error))


def _description(plugin: Any, counts_devices: bool) -> Outcome:
    try:
        lines = tuple((str(what), str(state)) for what, state in plugin.diagnose())
        return Outcome("", int(plugin.device_count()) if counts_devices else 0, lines)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code
        return Outcome(f"loaded, but it cannot describe its devices: {type(error).__name__}: {error}")
