"""Calls of the native library's functions with arguments that do not fit: ``fuzz_native.py [--seeds 0:20000]``.

Functions that kernels call are recorded while the exam's samples run, whichever they are. Then one argument or two of
a recorded call are altered: other strides, shapes, element types, byte orders, nothing in them, sizes whose products
do not fit, numbers without measure. Each call must return or raise; what lies around arrays and between their elements
must stay as it was. Where a call ends the process, ``--show`` says which: the seed is printed before.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import os
import resource
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

Recorded = dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]]

#: Recorded calls of each function.
KEPT = 12
#: Functions that set what holds for the whole process, and what executors are made by.
APART = {"set_num_threads", "num_threads", "use_level", "level", "levels", "use_bfloat16"}
NUMBERS = (-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1)
ERRORS = (TypeError, ValueError, IndexError, OverflowError, MemoryError, RuntimeError, NotImplementedError)
MEMORY = 6 << 30


def recording() -> tuple[Recorded, Any]:
    """The recorded calls, and the library whose functions are wrapped, before the backend takes them."""
    from mt_core.dispatch.registry import registering_own  # the library is wrapped between two imports

    library = importlib.import_module("mt_backend_cpu._native")
    found: Recorded = {}
    wrapped = types.ModuleType("mt_backend_cpu._native")
    wrapped.__file__ = library.__file__
    for name, value in vars(library).items():
        plain = isinstance(value, types.BuiltinFunctionType) and name not in APART
        setattr(wrapped, name, _recorder(name, value, found) if plain else value)
    sys.modules["mt_backend_cpu._native"] = wrapped
    with registering_own():
        importlib.import_module("mt_backend_cpu.native")
    return found, library


def _recorder(name: str, function: Any, found: Recorded) -> Any:
    calls = found.setdefault(name, [])

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(calls) < KEPT and not any(isinstance(a, types.FunctionType) for a in args):
            calls.append((tuple(_kept(a) for a in args), {k: _kept(v) for k, v in kwargs.items()}))
        return function(*args, **kwargs)

    call.__module__ = "mt_backend_cpu._native"
    return call


def _kept(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def run_samples() -> None:
    """Run samples of all operators that the library has kernels of, small ones and large ones."""
    from native_calls import Call, large_calls, native_operators, run, small_calls  # after the library is wrapped

    for name in native_operators():
        for number, call in enumerate(small_calls(name)):
            if number < KEPT:
                with contextlib.suppress(*ERRORS):  # samples of what is refused
                    run(Call(*call))
        call = next(large_calls(name), None)
        if call is not None:
            run(call)


class Guarded:
    """An array within memory of its own, whose other bytes must stay as they are."""

    def __init__(self, generator: np.random.Generator, like: np.ndarray, altered: bool) -> None:
        shape = list(like.shape)
        kind = like.dtype
        change = generator.integers(0, 9) if altered else -1
        if change == 0 and shape:
            shape[generator.integers(0, len(shape))] = int(generator.choice([0, 1, 2, 5, 17]))
        elif change == 1:
            shape.insert(int(generator.integers(0, len(shape) + 1)), int(generator.choice([0, 1, 3])))
        elif change == 2 and shape:
            shape.pop(int(generator.integers(0, len(shape))))
        elif change == 3:
            kind = np.dtype(generator.choice(["f4", "f8", "i8", "i4", "u1", "?", "c8", "f2", ">f4", ">i8", "O"]))
        elif change == 4 and shape:  # nothing in it, and sizes whose products fit in no number
            shape = [0, *(int(n) for n in generator.choice([2**31, 2**40, 2**62], len(shape) - 1))]
            if np.prod([float(max(n, 1)) for n in shape]) * kind.itemsize > 2**62:
                shape[1:] = [2**20] * (len(shape) - 1)
                shape = shape[:3]
        self.change, self.kind = change, kind
        size = int(np.prod(shape)) if 0 not in shape else 0
        steps = [1] * len(shape)
        if change == 5:
            steps = [int(s) for s in generator.choice([-3, -2, -1, 1, 2], len(shape))]
        if kind.hasobject:
            self.memory = np.zeros(1, np.uint8)
            self.array = np.full(shape if size else [0], None, object)
            self.before = self.memory.copy()
            self.inside = np.zeros(1, bool)
            return
        spread = [abs(s) * n for s, n in zip(steps, shape, strict=True)] if size else shape
        room = int(np.prod(spread)) if size else 0
        odd = 1 if change == 6 and kind.itemsize > 1 else 0  # not aligned
        self.memory = generator.integers(0, 256, room * kind.itemsize + 256 + odd, np.uint8)
        whole = (
            self.memory[128 : 128 + room * kind.itemsize] if not odd else self.memory[129 : 129 + room * kind.itemsize]
        )
        array = np.ndarray(spread, kind, whole) if size else np.ndarray(shape, kind, self.memory[128:])
        array = array[tuple(slice(None, None, s) for s in steps)] if size and shape else array
        if change == 7 and array.ndim > 1:
            array = array.transpose(generator.permutation(array.ndim))
        marks = np.zeros(len(self.memory), bool)
        if size:
            flat = np.lib.stride_tricks.as_strided(
                np.ndarray(1, "?", marks, array.__array_interface__["data"][0] - self.memory.ctypes.data),
                (*array.shape, kind.itemsize), (*array.strides, 1),
            )  # fmt: skip
            flat[...] = True
            if array.dtype == like.dtype:
                array[...] = np.resize(like, array.shape)
            elif kind.kind in "b":
                array[...] = generator.integers(0, 2, array.shape)
        if change == 8:
            array.flags.writeable = False
        self.inside, self.array, self.before = marks, array, self.memory.copy()

    def harmed(self) -> bool:
        """Whether bytes that are no elements' were written, or any of what must not be."""
        outside = ~self.inside if self.array.flags.writeable else np.ones_like(self.inside)
        return bool((self.memory != self.before)[outside].any())


def _other(generator: np.random.Generator, value: Any) -> Any:
    """Another value in the place of one that is no array."""
    if isinstance(value, (bool, np.bool_)):
        return [True, False, 2, None][generator.integers(0, 4)]
    if isinstance(value, (int, np.integer)):
        return NUMBERS[generator.integers(0, len(NUMBERS))]
    if isinstance(value, float):
        return [0.0, -1.0, float("inf"), float("nan"), 1e308, 1e-320, "1"][generator.integers(0, 7)]
    if isinstance(value, (list, tuple)) and len(value):
        changed = list(value)
        place = int(generator.integers(0, len(changed)))
        if generator.random() < 0.3:
            changed.pop(place)
        elif not isinstance(changed[place], np.ndarray):
            changed[place] = _other(generator, changed[place])
        return type(value)(changed)
    return [None, 0, 1.5, "none", (), np.float32][generator.integers(0, 6)]


def altered_call(seed: int, calls: Recorded, library: Any) -> str:
    """Make one altered call and look at what became of it; its outcome in a word.

    Raises
    ------
    AssertionError
        Where memory was written that is no argument's.
    """
    generator = np.random.default_rng(seed)
    names = sorted(name for name, of in calls.items() if of)
    name = names[int(generator.integers(0, len(names)))]
    args, kwargs = calls[name][int(generator.integers(0, len(calls[name])))]
    places = set(generator.integers(0, len(args), int(generator.integers(1, 3))).tolist()) if args else set()
    guarded: list[Guarded] = []

    def given(value: Any, altered: bool) -> Any:
        if isinstance(value, np.ndarray):
            guarded.append(Guarded(generator, value, altered))
            return guarded[-1].array
        if isinstance(value, (list, tuple)) and any(isinstance(item, np.ndarray) for item in value):
            return type(value)([given(item, altered and generator.random() < 0.5) for item in value])
        if altered and type(value).__name__ != "PyCapsule":
            return _other(generator, value)
        return value

    changed = [given(value, place in places) for place, value in enumerate(args)]
    named = {key: given(value, generator.random() < 0.2) for key, value in kwargs.items()}
    library.set_num_threads(int(generator.integers(1, 4)))
    try:
        getattr(library, name)(*changed, **named)
        outcome = "returned"
    except ERRORS as error:
        outcome = type(error).__name__
    for one in guarded:
        assert not one.harmed(), f"seed {seed}: {name} wrote beside its arguments (change {one.change})"
    return f"{name}: {outcome}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:20000")
    parser.add_argument("--show", action="store_true", help="print each seed before its call, to see which ends it all")
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    first, last = map(int, options.seeds.split(":"))
    calls, library = recording()
    run_samples()
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # it maps more than there is
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    outcomes: dict[str, int] = {}
    for seed in range(first, last):
        if options.show:
            print(seed, flush=True)
        told = altered_call(seed, calls, library)
        outcomes[told] = outcomes.get(told, 0) + 1
    used = {told.partition(":")[0] for told in outcomes}
    returned = sum(count for told, count in outcomes.items() if told.endswith("returned"))
    print(f"{last - first} calls of {len(used)} functions; {returned} returned")
    silent = sorted(name for name, of in calls.items() if not of)
    print("never called by samples:", *(silent or ["none"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
