"""What operators that fill with random numbers compute, as operators of their own."""

from __future__ import annotations

from .random import _GENERATOR, family

#: The operator that fills -> (the one that makes a new tensor, arguments between).
FILLED = {
    "uniform_": ("uniform", "float from=0, float to=1"),
    "normal_": ("normal_functional", "float mean=0, float std=1"),
    "log_normal_": ("log_normal", "float mean=1, float std=2"),
    "exponential_": ("exponential", "float lambd=1"),
    "cauchy_": ("cauchy", "float median=0, float sigma=1"),
    "geometric_": ("geometric", "float p"),
    "bernoulli_.Tensor": ("bernoulli.Tensor", "Tensor p"),
    "random_": ("random", ""),
    "random_.from": ("random.from", "int from, int? to"),
    "random_.to": ("random.to", "int to"),
}

for _name, _arguments in FILLED.values():
    _between = f"{_arguments}, *, " if _arguments else "*, "
    family.composite(
        f"{_name}(Tensor self, {_between}{_GENERATOR}) -> Tensor",
        variants="",
        doc="Random numbers in the layout of self.",
    )
