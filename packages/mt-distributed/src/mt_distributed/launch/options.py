"""The command line of ``torchrun``."""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Sequence

from .agent import Agent, Failure, Job
from .logs import Logs, ranks_of, streams_of

__all__ = ["get_args_parser", "main", "parse_args", "run"]

#: Options of PyTorch's that are refused by name, and what their absence means here.
_REFUSED = {
    "logs_specs": "--log-dir, --redirects, --tee and --local-ranks-filter say where what ranks write goes",
    "numa_binding": "processes are not bound to processors",
    "event_log_handler": "there are no events to handle",
}


def _both(name: str) -> tuple[str, str]:
    """An option with dashes and with underscores."""
    return f"--{name}", f"--{name.replace('-', '_')}"


def _from(name: str, default: str | None) -> str | None:
    """A default that a variable ``PET_...`` may give."""
    return os.environ.get(f"PET_{name}", default)


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of ``torchrun``'s command line: PyTorch's names and defaults."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Starts and watches the processes of a program.")
    add = parser.add_argument
    add(*_both("nnodes"), default=_from("NNODES", "1:1"), help="how many machines: N, or MIN:MAX, which come and go")
    add(*_both("nproc-per-node"), default=_from("NPROC_PER_NODE", "1"), help="processes on each: N, auto, cpu or gpu")
    add(*_both("rdzv-backend"), default=_from("RDZV_BACKEND", "static"), help="c10d or static")
    add(*_both("rdzv-endpoint"), default=_from("RDZV_ENDPOINT", ""), help="HOST:PORT where machines find one another")
    add(*_both("rdzv-id"), default=_from("RDZV_ID", "none"), help="what the machines of one program say alike")
    add(
        *_both("rdzv-conf"),
        default=_from("RDZV_CONF", ""),
        help="KEY=VALUE,...: seconds: join_timeout, last_call_timeout",
    )
    add("--standalone", action="store_true", help="one machine, at a free port")
    add(*_both("max-restarts"), type=int, default=int(_from("MAX_RESTARTS", "0") or 0), help="how often to start anew")
    add(*_both("monitor-interval"), type=float, default=0.1, help="seconds between looks at the processes")
    add(*_both("start-method"), default="spawn", choices=["spawn", "fork", "forkserver"])
    add("--role", default="default", help="what ROLE_NAME says")
    add("-m", "--module", action="store_true", help="the program is a module, as for `python -m`")
    add(*_both("no-python"), action="store_true", help="the program is started as it is, without python")
    add(*_both("run-path"), action="store_true", help="run the program in the launcher's Python by its path")
    add(*_both("log-dir"), default=_from("LOG_DIR", None), help="where files with what ranks write are made")
    add("-r", "--redirects", default=_from("REDIRECTS", "0"), help="to files: 1 stdout, 2 stderr, 3 both; or 0:1,1:3")
    add("-t", "--tee", default=_from("TEE", "0"), help="to files and the terminal, as --redirects")
    add(*_both("local-ranks-filter"), default=_from("LOCAL_RANKS_FILTER", ""), help="0,1: whose lines are shown")
    add(*_both("node-rank"), type=int, default=int(_from("NODE_RANK", "0") or 0), help="which machine this is (static)")
    add(*_both("master-addr"), default=_from("MASTER_ADDR", "127.0.0.1"), help="the first machine (static)")
    add(*_both("master-port"), type=int, default=int(_from("MASTER_PORT", "29500") or 0), help="its port (static)")
    add(*_both("local-addr"), default=None, help="this machine's address for the others")
    add(*_both("logs-specs"), default=None)
    add(*_both("numa-binding"), default=None)
    add(*_both("event-log-handler"), default="null")
    add(*_both("use-env"), action="store_true", help=argparse.SUPPRESS)
    add("training_script", help="the program")
    add("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The options of a command line."""
    return get_args_parser().parse_args(args)


def _refuse(options: argparse.Namespace) -> None:
    defaults = get_args_parser()
    for name, reason in _REFUSED.items():
        if getattr(options, name, None) not in (None, defaults.get_default(name)):
            raise NotImplementedError(f"torchrun --{name.replace('_', '-')} is not supported by mindtorch: {reason}")
    if options.run_path:
        raise NotImplementedError("torchrun --run-path is not supported by mindtorch: name the program alone")


def _machines(text: str) -> tuple[int, int]:
    """The least and the most number of machines."""
    numbers = str(text).split(":")
    if len(numbers) > 2:
        raise RuntimeError(f'nnodes={text} is not in "MIN:MAX" format')
    least, most = int(numbers[0]), int(numbers[-1])
    if not 0 < least <= most:
        raise AssertionError(f"min_nodes must be > 0 and <= max_nodes, got min_nodes={least}, max_nodes={most}")
    return least, most


def _processes(text: str) -> int:
    if text in ("auto", "cpu"):
        return os.cpu_count() or 1
    if text == "gpu":
        raise ValueError("Cuda is not available.")
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"Unsupported nproc_per_node value: {text}") from None


def _seconds(conf: str) -> tuple[float, float]:
    """How long a launcher waits for enough others, and how long these then wait for more."""
    given = dict(pair.split("=", 1) for pair in conf.split(",") if "=" in pair)
    return float(given.get("join_timeout", given.get("timeout", "600"))), float(given.get("last_call_timeout", "30"))


def _command(options: argparse.Namespace) -> list[str]:
    if options.no_python:
        if options.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        return [options.training_script, *options.training_script_args]
    python = [os.environ.get("PYTHON_EXEC", sys.executable), "-u", *(["-m"] if options.module else [])]
    return [*python, options.training_script, *options.training_script_args]


def job_of(options: argparse.Namespace) -> Job:
    """What a command line asks for.

    Raises
    ------
    NotImplementedError
        For options that are not supported.
    """
    _refuse(options)
    (machines, most), endpoint = _machines(options.nnodes), options.rdzv_endpoint
    is_static = options.rdzv_backend == "static" and not options.standalone
    if options.rdzv_backend not in ("static", "c10d"):
        raise NotImplementedError(
            f"torchrun --rdzv-backend {options.rdzv_backend} is not supported by mindtorch: there are c10d and static"
        )
    machines = most if is_static else machines
    if is_static and not endpoint and most > 1:
        endpoint = f"{options.master_addr}:{options.master_port}"
    if options.standalone or (most == 1 and not endpoint):
        endpoint = ""
    if most > 1 and not endpoint:
        raise ValueError("--rdzv-endpoint HOST:PORT says where several machines find one another")
    name = options.rdzv_id if options.rdzv_id != "none" or not options.standalone else str(uuid.uuid4())
    processes = _processes(str(options.nproc_per_node))
    waiting, last_call = _seconds(options.rdzv_conf)
    return Job(
        command=_command(options),
        machines=machines,
        most=None if is_static or not endpoint else most,
        last_call=last_call,
        processes=processes,
        logs=Logs(
            streams_of(options.redirects, processes),
            streams_of(options.tee, processes),
            ranks_of(options.local_ranks_filter),
            options.log_dir,
        ),
        endpoint=endpoint,
        machine=options.node_rank if is_static and machines > 1 else None,
        name=name,
        role=options.role,
        restarts=options.max_restarts,
        interval=options.monitor_interval,
        waiting=waiting,
        address=options.local_addr,
        port=options.master_port if machines == 1 and is_static and options.master_port != 29500 else 0,
    )


def run(args: argparse.Namespace) -> None:
    """Start what a parsed command line asks for, and wait for it.

    Raises
    ------
    Failure
        When a process failed once too often.
    """
    Agent(job_of(args)).run()


def main(args: Sequence[str] | None = None) -> None:
    """Run a command line; a failure ends the process with status 1."""
    try:
        run(parse_args(args))
    except Failure as failure:
        print(failure, file=sys.stderr)
        raise SystemExit(1) from None
