"""``python -m torch.distributed.run``: `torchrun`, which mt-distributed brings."""

from typing import Any

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def _launch() -> Any:
    from mt_distributed import launch  # an extra: this module can be imported without it

    return launch


def get_args_parser() -> Any:
    """The parser of ``torchrun``'s command line."""
    return _launch().get_args_parser()


def parse_args(args: Any) -> Any:
    """The options of a command line."""
    return _launch().parse_args(args)


def run(args: Any) -> None:
    """Start what a parsed command line asks for, and wait for it."""
    _launch().run(args)


def main(args: Any = None) -> None:
    """Run a command line; a failure ends the process with status 1."""
    _launch().main(args)


if __name__ == "__main__":
    main()
