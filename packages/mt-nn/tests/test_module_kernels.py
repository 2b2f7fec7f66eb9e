"""A kernel that somebody else registers is entered by the modules whose forward pass takes its operator."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mt_core.autograd_state import no_grad
from mt_core.dispatch.dispatcher import effective_keys
from mt_core.dispatch.registry import OVERLOADS, forget_all, register_kernel, unregister_kernel
from mt_core.keys import CPU
from mt_core.random import manual_seed

from .test_modules import LINES, SCOPE


class Entered(Exception):
    """The kernel was called."""


def refuse_all(*args: Any) -> Any:
    raise Entered


@contextlib.contextmanager
def outside_kernel(name: str) -> Iterator[None]:
    kernel = register_kernel(CPU, (name,), refuse_all, half="native")
    try:
        yield
    finally:
        unregister_kernel(CPU, name, kernel)


def forward_pass(line: str) -> Callable[[], Any]:
    """What runs the module of a line of `modules.txt` on its arguments."""
    build, arguments = line.split(" | ")
    manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = eval(build, dict(SCOPE))  # noqa: S307
    inputs = eval(f"({arguments},)", dict(SCOPE))  # noqa: S307
    return lambda: module(*inputs)


def operators_of(run: Callable[[], Any]) -> list[str]:
    """The operators that are resolved on the CPU when it runs."""
    forget_all()
    run()
    return [o.name for o in OVERLOADS.values() if any(effective_keys(keys) & CPU for keys in o.cache)]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("recorded", [True, False])
def test_modules_enter_it(line: str, recorded: bool) -> None:
    """Each of the operators in turn, registered after its first use."""
    run = forward_pass(line)
    with contextlib.nullcontext() if recorded else no_grad():
        for name in operators_of(run):
            run()
            with outside_kernel(name), pytest.raises(Entered):
                run()


def test_no_module_is_left_out() -> None:
    """Of the modules that PyTorch's results are stored for, each takes an operator, the empty ones aside."""
    empty = {"nn.Identity", "nn.Dropout(0.3).eval"}
    for line in LINES:
        assert operators_of(forward_pass(line)) or any(line.startswith(f"{name}(") for name in empty), line
