"""What random draws refuse: probabilities, weights and rates that are none."""

from __future__ import annotations

from typing import NoReturn

__all__ = [
    "refuse_infinite_rate", "refuse_negative_rate", "refuse_no_weights", "refuse_probability", "refuse_weight",
    "refuse_weight_sum", "refuse_weights",
]  # fmt: skip


def refuse_probability() -> NoReturn:
    """`bernoulli_`: a probability outside of 0 .. 1."""
    raise RuntimeError(
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If "
        "so, please report an enhancement request to PyTorch.)"
    )


def refuse_no_weights() -> NoReturn:
    """`multinomial` without replacement: no weight at all."""
    raise RuntimeError("aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.")


def refuse_weights() -> NoReturn:
    """`multinomial` without replacement: a weight that is negative or not finite."""
    raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")


def refuse_weight(weight: float) -> NoReturn:
    """`multinomial` with replacement: the first weight that is negative or not finite."""
    # A NaN fails the first of PyTorch's checks, which is for negative numbers.
    what = "= infinity or NaN" if weight > 0 else "< 0"
    raise RuntimeError(f"invalid multinomial distribution (encountering probability entry {what})")


def refuse_weight_sum() -> NoReturn:
    """`multinomial`: weights of which none is positive."""
    raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def refuse_negative_rate() -> NoReturn:
    """`poisson`: a rate that is negative or NaN."""
    raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")


def refuse_infinite_rate() -> NoReturn:
    """`poisson`: an infinite rate."""
    raise RuntimeError("invalid Poisson rate, expected rate to be finite")
