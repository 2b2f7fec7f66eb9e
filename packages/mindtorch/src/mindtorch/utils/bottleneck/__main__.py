"""The command: runs a script twice, under cProfile and under ``torch.autograd.profiler``, and prints both summaries."""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from ...doctor import versions
from ...profiler.autograd_profiler import profile

__all__ = ["main"]

_ROWS = 15
_RULE = "-" * 80


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a script with its arguments, and print where its time goes."""
    parser = argparse.ArgumentParser(prog="python -m torch.utils.bottleneck", description=__doc__)
    parser.add_argument("scriptfile", help="the script to run")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(arguments)
    script = str(Path(options.scriptfile).resolve())
    sys.argv = [options.scriptfile, *options.args]
    sys.path.insert(0, str(Path(script).parent))
    _section("Environment Summary", "\n".join(f"{name} {version}" for name, version in versions().items()))
    _section("cProfile output", _python_functions(script))
    _section("autograd profiler output (CPU mode)", _operators(script))
    return 0


def _section(title: str, text: str) -> None:
    print(f"{_RULE}\n  {title}\n{_RULE}\n{text}\n")


def _python_functions(script: str) -> str:
    profiler = cProfile.Profile()
    with profiler:
        runpy.run_path(script, run_name="__main__")
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(_ROWS)
    return text.getvalue()


def _operators(script: str) -> str:
    with profile() as watched:
        runpy.run_path(script, run_name="__main__")
    assert watched is not None
    return f"top {_ROWS} events sorted by cpu_time_total\n\n" + watched.table("cpu_time_total", _ROWS, 75, 50)


if __name__ == "__main__":
    sys.exit(main())
