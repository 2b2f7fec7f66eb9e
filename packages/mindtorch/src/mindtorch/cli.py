"""The command ``mindtorch``: run a program with mindtorch in PyTorch's place; tell what is installed and what not."""

from __future__ import annotations

import argparse
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from mt_core.plugins.activation import activate
from mt_core.plugins.errors import PluginError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; returns the exit status. A program that is run ends the process by its own."""
    options = _parser().parse_args(arguments)
    return options.command(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mindtorch", description="Runs PyTorch programs without PyTorch.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser(
        "run",
        help="run a program, with mindtorch for PyTorch",
        usage="mindtorch run [--device DEVICE | --nproc N] [--max-restarts N] [-m] PROGRAM [ARGUMENT ...]",
    )
    run.add_argument("--device", metavar="DEVICE", help="the program's default device: xla, cuda:1")
    run.add_argument("--nproc", type=int, metavar="N", help="run it on N processes, as `torchrun --standalone` does")
    run.add_argument("--max-restarts", type=int, metavar="N", default=0, help="with --nproc: how often to start anew")
    run.add_argument("-m", dest="is_module", action="store_true", help="PROGRAM is a module, as for `python -m`")
    run.add_argument("program", metavar="PROGRAM", help="a Python file, or a folder or archive with a __main__.py")
    run.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="passed on to the program")
    run.set_defaults(command=_run)

    doctor = commands.add_parser(
        "doctor", help="devices, backends and libraries; for what is missing, why and what to do"
    )
    doctor.set_defaults(command=_doctor)

    info = commands.add_parser("info", help="versions of everything that takes part; which operators a device has")
    info.add_argument(
        "--operators", metavar="DEVICE", nargs="?", const="", help="operators of a device type, by default of all here"
    )
    info.add_argument("--json", action="store_true", help="print JSON")
    info.set_defaults(command=_info)
    return parser


def _run(options: argparse.Namespace) -> int:
    from .stand_in import install_as_torch  # lazy: each command loads what it needs

    install_as_torch()
    if options.nproc is not None:
        if options.device is not None:
            print("mindtorch run: --device is for one process, not with --nproc", file=sys.stderr)
            return 2
        return _run_many(options)
    activate()  # after that: an extension may say `import torch`
    if options.device is not None:
        from . import set_default_device  # lazy: few programs are moved

        set_default_device(options.device)
    sys.argv = [options.program, *options.arguments]
    if options.is_module:
        sys.path.insert(0, "")
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        return 0
    if not Path(options.program).exists():
        print(f"mindtorch run: there is no file {options.program!r}", file=sys.stderr)
        return 2
    sys.path.insert(0, str(Path(options.program).resolve().parent))
    runpy.run_path(options.program, run_name="__main__")
    return 0


def _run_many(options: argparse.Namespace) -> int:
    from .distributed.run import main as launch  # lazy: only programs of several processes need it

    module = ["--module"] if options.is_module else []
    settings = ["--standalone", f"--nproc-per-node={options.nproc}", f"--max-restarts={options.max_restarts}"]
    launch([*settings, *module, options.program, *options.arguments])
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import examine  # lazy: each command loads what it needs

    report = examine()
    print(report.text)
    return 0 if report.healthy else 1


def _info(options: argparse.Namespace) -> int:
    if options.operators is not None:
        return _operators(options.operators, options.json)
    from .doctor import versions  # lazy: only this command needs it

    found = versions()
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    width = max(map(len, found))
    for name, version in found.items():
        print(f"{name:{width}}  {version}")
    return 0


def _operators(device: str, as_json: bool) -> int:
    from .info import operators_as_json, operators_as_text, usable_devices  # lazy: only this command needs it

    activate()  # extensions add operators and kernels
    try:
        devices = [device] if device else usable_devices()
        print(operators_as_json(devices) if as_json else operators_as_text(devices))
    except PluginError as error:
        print(f"mindtorch info: {error}", file=sys.stderr)
        return 2
    return 0
