"""``torchrun``: the processes of a program, started on one machine or several, watched, and started anew."""

from .agent import Agent as Agent
from .agent import Failure as Failure
from .options import get_args_parser as get_args_parser
from .options import main as main
from .options import parse_args as parse_args
from .options import run as run

__all__ = ["Agent", "Failure", "get_args_parser", "main", "parse_args", "run"]
