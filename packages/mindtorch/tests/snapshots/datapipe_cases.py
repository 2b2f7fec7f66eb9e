"""What pipes of ``torch.utils.data`` do: what the expressions of ``datapipe_calls.txt`` give or raise."""

from __future__ import annotations

import functools
import os
import pickle
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["CALLS", "answer"]

CALLS = [
    line
    for line in Path(__file__).with_name("datapipe_calls.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def two(a: Any, b: Any) -> Any:
    return (a, b)


def required(a: Any, *, k: Any) -> Any:
    return a


def optional(a: Any, *, k: Any = 1) -> Any:
    return a


def v(*a: Any) -> Any:
    return a


def stale(pipe: Any) -> Any:
    """The next of an iterator after another has begun."""
    first = iter(pipe)
    next(first)
    next(iter(pipe))
    return next(first)


def forked(pipe: Any, early: bool) -> Any:
    """An iterator of one copy of a stream after another of it has begun."""
    a, b = pipe.fork(2)
    first = iter(a)
    next(first)
    if not early:
        list(b)
    second = iter(a)
    return next(second), next(first)


def files(ask: Callable[[], Any]) -> Any:
    """An answer in a folder of three files."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            os.makedirs("a/b")
            for path in ("a/1.txt", "a/b/2.txt", "a/c.py"):
                Path(path).write_text(path)
            return ask()
        finally:
            os.chdir(before)


def _words(torch: Any) -> dict[str, Any]:
    data, pipes = torch.utils.data, torch.utils.data.datapipes

    class OfIterators(data.IterDataPipe):
        def __iter__(self) -> Any:
            return iter([1, 2])

    class OfItself(data.IterDataPipe):
        def __init__(self) -> None:
            self.n = 0

        def __iter__(self) -> Any:
            self.n = 0
            return self

        def __next__(self) -> int:
            self.n += 1
            if self.n > 3:
                raise StopIteration
            return self.n

    def registered(name: str) -> Any:
        class Plus(data.IterDataPipe):
            def __init__(self, source: Any, number: int) -> None:
                self.source, self.number = source, number

            def __iter__(self) -> Any:
                for value in self.source:
                    yield value + self.number

        data.functional_datapipe(name)(Plus)
        return lambda pipe, number: getattr(pipe, name)(number)

    def forbidden() -> Any:
        @data.non_deterministic
        class Drawn(data.IterDataPipe):
            pass

        with data.guaranteed_datapipes_determinism():
            return Drawn()

    def epochs(pipe: Any, **options: Any) -> Any:
        loader = data.DataLoader(pipe, batch_size=4, **options)
        found = [[batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in loader] for _ in range(2)]
        return found, torch.rand(1).item()

    return {
        "torch": torch, "dp": pipes, "W": pipes.iter.IterableWrapper, "x": pipes.iter.IterableWrapper([1, 2, 3]),
        "functools": functools, "pickle": pickle, "two": two, "required": required, "optional": optional, "v": v,
        "stale": stale, "forked": forked, "files": files, "OfIterators": OfIterators, "OfItself": OfItself,
        "registered": registered, "forbidden": forbidden, "epochs": epochs, "graph": data.graph,
        "a2": two, **{name: getattr(data, name) for name in ("DataChunk", "DataLoader", "RandomSampler")},
        **{name: getattr(pipes.iter, name) for name in pipes.iter.__all__},
        **{name: getattr(data.graph_settings, name) for name in data.graph_settings.__all__},
    }  # fmt: skip


def answer(torch: Any, call: str) -> str:
    """What a call gives or raises, as text."""
    torch.manual_seed(0)
    words = _words(torch)
    words["s"] = words["x"].sharding_filter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(eval(call, words))  # noqa: S307 - our own expressions
        except Exception as error:  # noqa: BLE001 - its words are the answer
            return f"{type(error).__name__}: {error}"
