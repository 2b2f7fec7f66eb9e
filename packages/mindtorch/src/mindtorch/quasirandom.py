"""``torch.quasirandom``: low-discrepancy sequences."""

from __future__ import annotations

from typing import Any

import mt_core as mt
from mt_core.api import _functions as ops
from mt_core.random import Generator

__all__ = ["SobolEngine"]


class SobolEngine:
    """Sobol' sequences, of up to 21201 dimensions, scrambled or not.

    Direction numbers of Joe and Kuo (new-joe-kuo-6.21201); the first point is the origin, where nothing is scrambled.

    Parameters
    ----------
    dimension : int
        Numbers in a point.
    scramble : bool
        Owen's scrambling, by random lower triangular matrices and a random shift of bits.
    seed : int, optional
        Of the scrambling; without it, the default generator is drawn from.

    Raises
    ------
    ValueError
        Where there are no direction numbers for so many dimensions.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        cpu = mt.device("cpu")
        self.sobolstate = mt.zeros(dimension, self.MAXBIT, device=cpu, dtype=mt.long)
        ops._sobol_engine_initialize_state_(self.sobolstate, dimension)
        if scramble:
            self._scramble()
        else:
            self.shift = mt.zeros(dimension, device=cpu, dtype=mt.long)
        self.quasi = self.shift.clone(memory_format=mt.contiguous_format)
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: mt.Tensor | None = None, dtype: mt.dtype | None = None) -> mt.Tensor:
        """The next `n` points, (n, dimension), in [0, 1).

        Parameters
        ----------
        out
            Gets the points, and their shape.
        dtype
            float32 or float64; the default dtype, unless given.
        """
        if dtype is None:
            dtype = mt.get_default_dtype()
        if self.num_generated == 0:
            result = self._first_point.to(dtype)
            if n != 1:
                rest, self.quasi = self._next(n - 1, 0, dtype)
                result = mt.cat((result, rest), dim=-2)
        else:
            result, self.quasi = self._next(n, self.num_generated - 1, dtype)
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def _next(self, n: int, num_generated: int, dtype: mt.dtype) -> Any:
        return ops._sobol_engine_draw(self.quasi, n, self.sobolstate, self.dimension, num_generated, dtype=dtype)

    def draw_base2(self, m: int, out: mt.Tensor | None = None, dtype: mt.dtype | None = None) -> mt.Tensor:
        """The next ``2**m`` points, which are balanced.

        Raises
        ------
        ValueError
            Where the points drawn so far and these are not a power of 2 in number.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1) != 0:
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, "
                "please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Go back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip `n` points."""
        first = self.num_generated == 0
        steps, done = (n - 1, 0) if first else (n, self.num_generated - 1)
        ops._sobol_engine_ff_(self.quasi, steps, self.sobolstate, self.dimension, done)
        self.num_generated += n
        return self

    def _scramble(self) -> None:
        generator = None
        if self.seed is not None:
            generator = Generator()
            generator.manual_seed(self.seed)
        cpu = mt.device("cpu")
        shift = mt.randint(2, (self.dimension, self.MAXBIT), device=cpu, generator=generator)
        self.shift = mt.mv(shift, mt.pow(2, mt.arange(0, self.MAXBIT, device=cpu)))
        matrices = mt.randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), device=cpu, generator=generator).tril()
        ops._sobol_engine_scramble_(self.sobolstate, matrices, self.dimension)

    def __repr__(self) -> str:
        told = [f"dimension={self.dimension}"]
        if self.scramble:
            told.append("scramble=True")
        if self.seed is not None:
            told.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(told)})"
