"""Names in ``torch.special`` of operators that also have others."""

from __future__ import annotations

from . import (
    activation,
    activation_softmax,
    elementwise_rounding,
    elementwise_transcendental,
    reduction,
    special,
    special_bessel,
)
from .special import family

__all__: list[str] = []

#: Declared first: what the names stand for.
_TARGETS = (
    activation,
    activation_softmax,
    elementwise_rounding,
    elementwise_transcendental,
    reduction,
    special,
    special_bessel,
)

family.alias("special_xlogy", "xlogy.Tensor", inplace=False, out=True, namespace="torch.special", python_name="xlogy",
          variants="function")  # fmt: skip
for _name, _target in {
    "digamma": "digamma", "psi": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "exp2": "exp2", "expit": "sigmoid",
    "expm1": "expm1", "gammainc": "igamma", "gammaincc": "igammac", "gammaln": "lgamma", "i0": "i0", "log1p": "log1p",
    "logit": "logit", "multigammaln": "mvlgamma", "polygamma": "polygamma", "sinc": "sinc",
    "logsumexp": "logsumexp",
}.items():  # fmt: skip
    family.alias(
        f"special_{_name}", _target, inplace=False, namespace="torch.special", python_name=_name, variants="function"
    )
for _overload, _target in (("self_scalar", "Scalar_Self"), ("other_scalar", "Scalar_Other")):
    family.alias(f"special_xlogy.{_overload}", f"xlogy.{_target}", inplace=False, out=f"{_overload}_out", namespace="torch.special",
              python_name="xlogy", variants="function")  # fmt: skip
family.composite("special_round(Tensor self, *, int decimals=0) -> Tensor", namespace="torch.special", python_name="round",
              variants="function", out=True,
              doc="Second name of `round`.")  # fmt: skip
family.composite("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", namespace="torch.special",
              python_name="softmax", variants="function",
              doc="Second name of `softmax`.")  # fmt: skip
family.composite("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", namespace="torch.special",
              python_name="log_softmax", variants="function",
              doc="Second name of `log_softmax`.")  # fmt: skip
