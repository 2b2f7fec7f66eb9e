"""Questions to ``torch.distributions``: the script that records PyTorch's answers asks them, and so does the test.

Answers are tensors as lists, texts, and errors by class and text. Seeds are set before each draw, and a number is drawn
after it, so that the streams are compared as well.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["answers"]

Answers = dict[str, Any]


def answers(torch: Any, distributions: Any) -> dict[str, Answers]:
    """All answers, by distribution, transform or constraint, then by question."""
    cases = _Cases(torch, distributions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {name: cases.of_distribution(make, given) for name, make, given in cases.distributions()}
        made["divergences"] = cases.of_divergences()
        for index, transform in enumerate(cases.transforms()):
            made[f"transform {index}"] = cases.of_transform(transform)
            made[f"transform {index}, inverted"] = cases.of_transform(transform.inv)
        for index, constraint in enumerate(cases.constraints()):
            made[f"constraint {index}"] = cases.of_constraint(constraint)
    return made


class _Cases:
    def __init__(self, torch: Any, distributions: Any) -> None:
        self.torch, self.d = torch, distributions

    # What is asked

    def given(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Classes with arguments, as lists (tensors), numbers, or tensors."""
        torch = self.torch
        matrix = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]])
        small = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
        shares, log_shares = [[0.1, 0.2, 3.0], [0.0, 1.0, 1.0]], [0.1, 0.2, 3.0]
        yield "Bernoulli", {"probs": [0.0, 0.3, 0.5, 0.9, 1.0]}
        yield "Bernoulli", {"logits": [[0.3, -2.0]]}
        yield "Bernoulli", {"probs": 0.3}
        yield "Beta", {"concentration1": [0.3, 2.0, 5.0], "concentration0": [[1.0], [0.5]]}
        yield "Beta", {"concentration1": 2.0, "concentration0": 0.7}
        yield "Binomial", {"total_count": 5, "probs": [0.0, 0.3, 0.5, 1.0]}
        yield "Binomial", {"total_count": [3, 30, 4], "logits": [0.3, -2.0, 1.0]}
        yield "Categorical", {"probs": shares}
        yield "Categorical", {"logits": log_shares}
        yield "Chi2", {"df": [0.4, 1.0, 7.0]}
        yield "ContinuousBernoulli", {"probs": [0.1, 0.4995, 0.5, 0.9]}
        yield "ContinuousBernoulli", {"logits": [0.1, -3.0, 2.0]}
        yield "Dirichlet", {"concentration": [[0.3, 2.0, 5.0], [0.2, 0.3, 0.4]]}
        yield "Exponential", {"rate": [0.3, 2.0]}
        yield "Exponential", {"rate": 3.0}
        yield "FisherSnedecor", {"df1": [1.0, 3.0, 9.0], "df2": [1.0, 5.0, 9.0]}
        yield "Gamma", {"concentration": [0.3, 1.0, 7.0], "rate": [1.0, 0.5, 3.0]}
        yield "Gamma", {"concentration": 0.5, "rate": 2.0}
        yield "GeneralizedPareto", {"loc": [0.0, 1.0, 2.0], "scale": [1.0, 2.0, 0.5], "concentration": [0.3, -0.4, 0.0]}
        yield "Geometric", {"probs": [0.3, 1.0, 0.9]}
        yield "Geometric", {"logits": [0.3, -1.0]}
        for name in ("Cauchy", "Gumbel", "Laplace", "LogNormal", "Normal"):
            yield name, {"loc": [0.3, 1.0], "scale": [[1.0], [0.3]]}
            yield name, {"loc": 0.0, "scale": 2.0}
        yield "Normal", {"loc": torch.tensor([0.0, 1.0]).double(), "scale": torch.tensor([1.0, 0.3]).double()}
        yield "LogisticNormal", {"loc": [[0.0, 1.0]], "scale": [1.0, 0.3]}
        yield "HalfCauchy", {"scale": [1.0, 2.0]}
        yield "HalfNormal", {"scale": [1.0, 2.0]}
        yield "InverseGamma", {"concentration": [0.3, 1.5, 7.0], "rate": [1.0, 0.5, 3.0]}
        yield "Kumaraswamy", {"concentration1": [0.3, 2.0, 5.0], "concentration0": [[1.0], [0.5], [3.0]]}
        yield "LKJCholesky", {"dim": 3, "concentration": [0.5, 1.0, 4.0]}
        yield "LKJCholesky", {"dim": 2, "concentration": 1.5}
        yield (
            "LowRankMultivariateNormal",
            {
                "loc": [[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]],
                "cov_factor": [[1.0, 0.5], [0.2, -1.0], [0.0, 0.3]],
                "cov_diag": [1.0, 2.0, 0.5],
            },
        )
        yield "Multinomial", {"total_count": 6, "probs": shares}
        yield "Multinomial", {"total_count": 3, "logits": log_shares}
        yield "MultivariateNormal", {"loc": [1.0, 0.0, 2.0], "covariance_matrix": matrix}
        yield "MultivariateNormal", {"loc": [[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]], "precision_matrix": matrix}
        yield (
            "MultivariateNormal",
            {"loc": [1.0, 0.0], "scale_tril": [[[2.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 3.0]]]},
        )
        yield "NegativeBinomial", {"total_count": [3.0, 10.0], "probs": [0.3, 0.8]}
        yield "NegativeBinomial", {"total_count": 4, "logits": [0.3, -1.0]}
        yield "OneHotCategorical", {"probs": shares}
        yield "OneHotCategoricalStraightThrough", {"logits": log_shares}
        yield "Pareto", {"scale": [1.0, 2.0, 0.5], "alpha": [0.5, 1.5, 4.0]}
        yield "Poisson", {"rate": [0.0, 0.3, 3.0, 30.0]}
        yield "RelaxedBernoulli", {"temperature": [0.5], "probs": [0.1, 0.5, 0.9]}
        yield "RelaxedOneHotCategorical", {"temperature": torch.tensor(0.5), "logits": log_shares}
        yield "StudentT", {"df": [0.5, 1.5, 3.0], "loc": [0.0, 1.0, 2.0], "scale": [1.0, 2.0, 3.0]}
        yield "Uniform", {"low": [0.0, 1.0], "high": [1.0, 4.0]}
        yield "Uniform", {"low": -1.0, "high": 2.0}
        yield "VonMises", {"loc": [0.0, 1.0], "concentration": [0.3, 20.0]}
        yield "VonMises", {"loc": [0.5], "concentration": [1e-6]}
        yield "Weibull", {"scale": [1.0, 2.0], "concentration": [0.7, 3.0]}
        yield "Wishart", {"df": [3.0, 5.0], "covariance_matrix": matrix}
        yield "Wishart", {"df": 4.0, "precision_matrix": small}

    def distributions(self) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
        """Name, maker, arguments that are tensors."""
        torch, d = self.torch, self.d
        for index, (name, given) in enumerate(self.given()):
            arguments = {k: torch.tensor(v) if isinstance(v, list) else v for k, v in given.items()}
            yield f"{name} {index}", getattr(d, name), arguments
        normal, t = d.Normal, torch.tensor
        yield "Independent", lambda: d.Independent(normal(torch.zeros(3, 2), torch.ones(2)), 1), {}
        yield (
            "Mixture",
            lambda: d.MixtureSameFamily(d.Categorical(t([0.2, 0.8])), normal(t([0.0, 3.0]), t([1.0, 2.0]))),
            {},
        )
        yield (
            "Mixture of vectors",
            lambda: d.MixtureSameFamily(
                d.Categorical(t([[0.2, 0.8], [0.5, 0.5]])),
                d.Independent(normal(torch.arange(12.0).view(2, 2, 3), torch.ones(3)), 1),
            ),
            {},
        )
        yield (
            "Transformed",
            lambda: d.TransformedDistribution(
                normal(t([0.0, 1.0]), 1.0), [d.TanhTransform(cache_size=1), d.AffineTransform(1.0, -2.0)]
            ),
            {},
        )
        yield (
            "Transformed to matrices",
            lambda: d.TransformedDistribution(normal(torch.zeros(3), 1.0), d.CorrCholeskyTransform()),
            {},
        )

    def transforms(self) -> list[Any]:
        d, t = self.d, self.torch.tensor
        return [
            d.AbsTransform(),
            d.AffineTransform(1.0, 2.0),
            d.AffineTransform(t([1.0, 2.0, 3.0]), t(-2.0)),
            d.AffineTransform(0.0, 2.0, 1),
            d.ExpTransform(),
            d.PowerTransform(t(2.0)),
            d.SigmoidTransform(),
            d.SoftplusTransform(),
            d.TanhTransform(),
            d.SoftmaxTransform(),
            d.StickBreakingTransform(),
            d.LowerCholeskyTransform(),
            d.PositiveDefiniteTransform(),
            d.CorrCholeskyTransform(),
            d.ReshapeTransform((3,), (3, 1)),
            d.ComposeTransform([d.StickBreakingTransform(), d.AffineTransform(1.0, 2.0)]),
            d.IndependentTransform(d.ExpTransform(), 1),
            d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=-1, lengths=[1, 2]),
            d.StackTransform([d.ExpTransform(), d.TanhTransform(), d.SigmoidTransform()], dim=-1),
            d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)),
            d.identity_transform,
        ]

    def constraints(self) -> list[Any]:
        c = self.d.constraints
        return [
            c.boolean,
            c.real,
            c.positive,
            c.nonnegative,
            c.unit_interval,
            c.simplex,
            c.lower_cholesky,
            c.corr_cholesky,
            c.positive_definite,
            c.positive_semidefinite,
            c.real_vector,
            c.interval(-1.0, 2.0),
            c.half_open_interval(0.0, 1.0),
            c.less_than(1.0),
            c.integer_interval(0, 3),
            c.one_hot,
            c.square,
            c.symmetric,
            c.lower_triangular,
            c.multinomial(3),
            c.cat([c.real, c.positive], -1, [1, 2]),
            c.stack([c.real, c.positive, c.real], -1),
            c.dependent,
            c.nonnegative_integer,
        ]

    # Asking

    def of_distribution(self, make: Callable[..., Any], given: dict[str, Any]) -> Answers:
        torch, ask = self.torch, self._ask
        d = make(**given)
        made: Answers = {
            "repr": ask(lambda: repr(d)),
            "shapes": ask(lambda: [tuple(d.batch_shape), tuple(d.event_shape), d.has_rsample, d.has_enumerate_support]),
            "support": ask(lambda: [repr(d.support), repr(d.arg_constraints)]),
        }
        for name in ("mean", "variance", "stddev", "mode"):
            made[name] = ask(lambda name=name: getattr(d, name))
        made["entropy"] = ask(lambda: d.entropy())
        for shape in ((), (2, 3)):
            torch.manual_seed(len(shape))
            made[f"sample {shape}"] = ask(lambda shape=shape: [d.sample(shape), torch.rand(1)])
            made[f"rsample {shape}"] = ask(lambda shape=shape: [d.rsample(torch.Size(shape)), torch.rand(1)])
        torch.manual_seed(0)
        value = d.sample((4,))
        quantiles = torch.linspace(0.05, 0.95, 4).view(4, *[1] * len(d.batch_shape)).expand(4, *d.batch_shape)
        made["log_prob"] = ask(lambda: d.log_prob(value))
        made["log_prob of others"] = ask(lambda: d.log_prob(value * 0 - 7.5))
        made["log_prob of another shape"] = ask(lambda: d.log_prob(torch.ones(7, 9)))
        made["cdf"] = ask(lambda: d.cdf(value))
        made["icdf"] = ask(lambda: d.icdf(quantiles))
        made["enumerate_support"] = ask(lambda: [d.enumerate_support(), d.enumerate_support(expand=False)])
        made["expand"] = ask(lambda: self._expanded(d, value))
        if given:
            made.update(self._gradients(type(d), given, value))
        return made

    def _expanded(self, d: Any, value: Any) -> list[Any]:
        expanded = d.expand((2, *d.batch_shape))
        self.torch.manual_seed(3)
        return [repr(expanded), tuple(expanded.batch_shape), expanded.sample(), expanded.log_prob(value[:2])]

    def _gradients(self, cls: type, given: dict[str, Any], value: Any) -> Answers:
        torch = self.torch

        def gradients(of: Callable[[Any], Any]) -> Any:
            tracked = {
                k: v.clone().requires_grad_()
                for k, v in given.items()
                if isinstance(v, torch.Tensor) and v.is_floating_point()
            }
            if not tracked:
                return []
            torch.manual_seed(1)
            out = of(cls(**{**given, **tracked}, validate_args=False)).sum()
            return torch.autograd.grad(out, list(tracked.values()), allow_unused=True)

        return {
            "gradient of log_prob": self._ask(lambda: gradients(lambda d: d.log_prob(value))),
            "gradient of entropy": self._ask(lambda: gradients(lambda d: d.entropy())),
            "gradient of rsample": self._ask(lambda: gradients(lambda d: d.rsample((2,)) ** 2)),
        }

    def of_divergences(self) -> Answers:
        """Of the first distribution of each class from each other."""
        by_class: dict[str, Any] = {}
        for name, make, given in self.distributions():
            by_class.setdefault(name.partition(" ")[0], make(**given))
        made: Answers = {}
        for p_name, p in by_class.items():
            for q_name, q in by_class.items():
                answer = self._ask(lambda p=p, q=q: self.d.kl_divergence(p, q))
                if answer[0] != "error":
                    made[f"{p_name} {q_name}"] = answer
        return made

    def of_transform(self, f: Any) -> Answers:
        ask = self._ask
        made = {
            name: ask(lambda name=name: repr(getattr(f, name)))
            for name in ("bijective", "sign", "event_dim", "domain", "codomain")
        }
        made["repr"] = ask(lambda: repr(f))
        for index, x in enumerate(self._values()[:3]):
            made[f"call {index}"] = ask(lambda x=x: [f(x), f.inv(f(x))])
            made[f"log_abs_det_jacobian {index}"] = ask(lambda x=x: f.log_abs_det_jacobian(x, f(x)))
            made[f"shapes {index}"] = ask(
                lambda x=x: [tuple(f.forward_shape(x.shape)), tuple(f.inverse_shape(x.shape))]
            )
        made["equal"] = ask(lambda: [f == other for other in self.transforms()])
        return made

    def of_constraint(self, c: Any) -> Answers:
        ask = self._ask
        made = {f"check {index}": ask(lambda x=x: c.check(x)) for index, x in enumerate(self._values())}
        made["repr"] = ask(lambda: repr(c))
        made["dims"] = ask(lambda: [c.is_discrete, c.event_dim])
        made["biject_to"] = ask(lambda: repr(self.d.biject_to(c)))
        made["transform_to"] = ask(lambda: repr(self.d.transform_to(c)))
        return made

    def _values(self) -> list[Any]:
        t = self.torch.tensor
        return [
            t([0.2, 0.5, 0.3]),
            t([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.4, 0.3, 0.2]]),
            t(0.4),
            self.torch.eye(3),
            t([math.nan, -1.0, 2.0]),
            t([0, 1, 2]),
        ]

    # Writing down

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return self._written(question())
        except (
            AssertionError,
            AttributeError,
            IndexError,
            NotImplementedError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            return ["error", type(error).__name__, str(error)]

    def _written(self, value: Any) -> Any:
        if isinstance(value, self.torch.Tensor):
            numbers = [
                v if not isinstance(v, float) or math.isfinite(v) else str(v)
                for v in value.detach().reshape(-1).tolist()
            ]
            return [str(value.dtype), list(value.shape), value.requires_grad, numbers]
        if isinstance(value, (list, tuple)):
            return [self._written(v) for v in value]
        return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)
