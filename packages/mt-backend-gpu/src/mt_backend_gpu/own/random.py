"""Random numbers of the device's generators: the streams that PyTorch draws on CUDA, one launch each.

Permutations, multinomial, Poisson, binomial, gamma and Dirichlet numbers have no kernel: they are drawn on the host,
from a stream that the generator's seed and offset name, and are not the numbers that PyTorch draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy

from mt_core.checks.random import refuse_probability
from mt_core.dispatch.kernel import Accepts
from mt_core.dispatch.lookup import backend_for
from mt_core.dispatch.registry import KERNELS
from mt_core.keys import CPU
from mt_core.random import Generator, generator_for
from mt_core.random.distributions import exact_bounds, random_limit

from ..compiled import random as draws
from ..compiled.elementwise import copy_into, pointwise
from ..compiled.on_cupy import FLOATING, available, compiled, machine, row_major
from ..convert import cast
from ..generators import PhiloxEngine
from ..registry import enter


def engine_for(generator: Generator | None) -> PhiloxEngine:
    """What a kernel draws from: the generator that was passed, or the current device's default."""
    engine: PhiloxEngine = generator_for(generator, "cuda").engine
    return engine


def fill(self: Any, generator: Generator | None, draw: Callable[..., int]) -> None:
    """Draw into an array of any strides, in the order of its memory: ``draw(row-major array, seed, offset, words)``."""
    if not self.size:
        return
    order = sorted(range(self.ndim), key=lambda d: -self.strides[d])
    target = self.transpose(order)
    whole = target if target.flags.c_contiguous else cupy.empty(target.shape, target.dtype)
    engine_for(generator).draw(lambda seed, offset, words: draw(whole, seed, offset, words))
    if whole is not target:
        copy_into(machine(), target, whole)


def real(name: str, first: float, second: float, single: bool = False) -> Callable[[Any, int, int, int], int]:
    """What draws a distribution of real numbers."""
    return lambda out, seed, offset, words: draws.draw(
        machine(), name, out, seed, offset, first, second, device_offset=words, single=single
    )


def parts(self: Any) -> Any:
    """Complex numbers as their parts, on the same memory."""
    if self.dtype.kind != "c":
        return self
    element = numpy.dtype(f"f{self.dtype.itemsize // 2}")
    return cupy.ndarray((*self.shape, 2), element, self.data, (*self.strides, element.itemsize))


@compiled("uniform_")
def uniform(self: Any, low: float, high: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    fill(parts(self), generator, real("uniform", low, high))


@compiled("normal_")
def normal(self: Any, mean: float, std: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    fill(parts(self), generator, real("normal", mean, std / math.sqrt(2) if self.dtype.kind == "c" else std))


@compiled("log_normal_")
def log_normal(self: Any, mean: float, std: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    fill(self, generator, real("log_normal", mean, std))


@compiled("exponential_")
def exponential(self: Any, rate: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    fill(self, generator, real("exponential", rate, 0.0))


@compiled("cauchy_")
def cauchy(self: Any, median: float, sigma: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    fill(self, generator, real("cauchy", median, sigma))


@compiled("geometric_")
def geometric(self: Any, p: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    fill(self, generator, real("geometric", p, 0.0))


@compiled("bernoulli_.float")
def bernoulli(self: Any, p: float, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    fill(self, generator, real("bernoulli", p, 0.0))


@compiled("bernoulli_.Tensor")
def bernoulli_tensor(self: Any, p: Any, generator: Generator | None) -> None:
    """self (*), p broadcast to it -> (*), filled; looking at the probabilities costs a synchronization."""
    if not bool(((p >= 0) & (p <= 1)).all()):
        refuse_probability()
    if self.size:
        numbers = cupy.empty(self.shape, numpy.float64 if p.dtype == numpy.float64 else numpy.float32)
        fill(numbers, generator, real("uniform", 0.0, 1.0))
        self[...] = cast(numbers < cast(p, numbers.dtype), self.dtype)


def integers(low: int, high: int, wide: bool | None = None) -> Callable[[Any, int, int, int], int]:
    """What draws integers of [low, high)."""
    return lambda out, seed, offset, words: draws.draw_integers(
        machine(), out, seed, offset, low, high, device_offset=words, wide=wide
    )


@compiled("random_")
def random(self: Any, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    if self.size:
        fill(self, generator, integers(0, random_limit(self.dtype) + 1, self.dtype.itemsize == 8))


@compiled("random_.to")
def random_to(self: Any, high: int, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    random_from(self, 0, high, generator)


@compiled("random_.from")
def random_from(self: Any, low: int, high: int | None, generator: Generator | None) -> None:
    """self (*) -> (*), filled."""
    if high is None:
        high = random_limit(self.dtype) + 1
    fill(self, generator, integers(*exact_bounds(low, high, self.dtype)))


_SOME = Accepts(dtypes=FLOATING, also=lambda input, *rest: input._array.size > 0)


@compiled("native_dropout", accepts=_SOME)
def native_dropout(input: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """input (*) -> (*), and which elements are kept (*), of bool."""
    if train is False:
        kept = cupy.empty(input.shape, bool)
        kept.fill(True)
        return input.copy(), kept
    if p == 1:
        return cupy.zeros(input.shape, input.dtype), cupy.zeros(input.shape, bool)
    made: list[Any] = []

    def draw(seed: int, offset: int, words: int) -> int:
        out, mask, growth = draws.dropout(machine(), row_major(input), p, seed, offset, device_offset=words)
        made.extend((out, mask))
        return growth

    engine_for(None).draw(draw)
    return made[0], made[1]


@compiled("native_dropout_backward", accepts=Accepts(dtypes={"grad_output": FLOATING}))
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    """grad_output (*), mask (*) of bool -> (*)."""
    return pointwise(machine(), "mul_scaled", grad_output, mask, numbers=(scale,), common=grad_output.dtype)


def drawn_by(name: str) -> Callable[..., Any]:
    """The host's kernel of an operator: the one over NumPy's arrays, which takes generators of any engine."""
    backend_for(CPU).load("random")
    return KERNELS[CPU][name][-1].function


def on_host(name: str, generator_at: int) -> None:
    """Enter an operator whose numbers are drawn on the host."""
    function = drawn_by(name)

    def run(*args: Any) -> Any:
        given = [value.get() if isinstance(value, cupy.ndarray) else value for value in args]
        given[generator_at] = Generator.on_engine(engine_for(args[generator_at]).host_stream())
        return cupy.asarray(function(*given))

    if available():
        enter((name,), run, False, half="native" if name == "multinomial" else None)


for _name, _at in (
    ("randperm.generator", 1), ("multinomial", 3), ("poisson", 1), ("binomial", 2), ("_standard_gamma", 1),
    ("_sample_dirichlet", 1),
):  # fmt: skip
    on_host(_name, _at)


_permutation = drawn_by("randperm.generator")


@compiled("randperm")
def randperm(n: int, spec: Any) -> Any:
    """-> (n,) of int64."""
    return cupy.asarray(_permutation(n, Generator.on_engine(engine_for(None).host_stream()), spec))
