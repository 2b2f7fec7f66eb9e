"""What a one-line program gives, in words that are equal for PyTorch and mindtorch: values, layout, gradient, error.

A program is written on one line, its statements separated by ``;;`` where blocks need lines of their own; its last
expression is its result. It sees `torch`, `F`, `nn`, `np`, `inf` and `nan`.
"""

from __future__ import annotations

import ast
import contextlib
import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def outcome(torch: Any, program: str, within: Callable[[], Any] = contextlib.nullcontext) -> list[Any]:
    """[what the program gives or raises, the warnings it gives], deterministic.

    A program that fails may leave what it has entered switched on. So each runs in a thread of its own, inside of
    `within`, and what is the whole process's is put back.
    """
    found: list[Any] = []

    def run() -> None:
        with within():
            found.extend(_outcome_here(torch, program))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    _put_back(torch)
    return found


def _put_back(torch: Any) -> None:
    """Switch off what a program may have left on for the whole process."""
    forward_ad = torch.autograd.forward_ad
    while forward_ad._current_level >= 0:
        forward_ad.exit_dual_level()
    torch.autograd.set_detect_anomaly(False)
    torch.set_warn_always(False)


def _outcome_here(torch: Any, program: str) -> list[Any]:
    names = {
        "torch": torch,
        "F": torch.nn.functional,
        "nn": torch.nn,
        "np": np,
        "inf": float("inf"),
        "nan": float("nan"),
    }
    torch.manual_seed(0)
    # What is warned of once in a process is warned of in each program.
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = described(torch, _result(program, names))
        except Exception as error:  # noqa: BLE001  (every error is an answer, which is compared)
            result = f"{type(error).__name__}: {_first_line(str(error))}"
    return [result, [f"{w.category.__name__}: {_first_line(str(w.message))}" for w in caught]]


def _first_line(text: str) -> str:
    """The text up to a line break or a remark about PyTorch's sources."""
    return re.sub(r" ?\(Triggered internally.*", "", text.partition("\n")[0])


def _result(program: str, names: dict[str, Any]) -> Any:
    lines = program.replace(" ;; ", "\n")
    tree = ast.parse(lines)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), program
    exec(compile(tree, "<program>", "exec"), names)  # noqa: S102  (the programs are those of this folder)
    return eval(compile(ast.Expression(last.value), "<program>", "eval"), names)  # noqa: S307


def described(torch: Any, value: Any) -> str:
    """A value in words: of a tensor its elements, dtype, shape, strides, offset, version, class and derivative."""
    if isinstance(value, torch.Tensor):
        return _tensor(torch, value)
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}[{', '.join(described(torch, item) for item in value)}]"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _tensor(torch: Any, value: Any) -> str:
    facts = [_elements(torch, value), repr(value.dtype), tuple(value.shape), tuple(value.stride())]
    if not value.is_inference():
        facts += [f"version {value._version}"]
    facts += [type(value).__name__] + ["view"] * value._is_view() + ["requires grad"] * value.requires_grad
    if value.grad_fn is not None:
        facts.append(value.grad_fn.name())
    return f"<{' '.join(str(fact) for fact in facts)}>"


def _elements(torch: Any, value: Any) -> str:
    if value.device.type != "cpu":
        return value.device.type
    plain = value.detach().resolve_conj().resolve_neg()
    wide = plain.to(torch.complex128 if value.is_complex() else torch.float64)
    return str([f"{number:.5g}" for number in wide.reshape(-1).tolist()]).replace("'", "")
