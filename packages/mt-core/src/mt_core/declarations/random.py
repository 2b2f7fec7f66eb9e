"""Random numbers: declarations. Every stream is PyTorch's own (`mt_core.random`)."""

from __future__ import annotations

from ._declare import Family

family = Family("random")

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE = f"{_OPTIONS}, MemoryFormat? memory_format=None"
_LONG = _OPTIONS.replace("dtype=None", "dtype=long")
_GENERATOR = "Generator? generator=None"


def _filling(name: str, arguments: str, doc: str) -> None:
    """``name_(self, ...)``: overwrites a tensor with random numbers."""
    between = f"{arguments}, *, " if arguments else "*, "
    schema = f"{name}(Tensor(a!) self, {between}{_GENERATOR}) -> Tensor(a!)"
    family.plain(schema, variants="method", doc=doc)


_filling("uniform_", "float from=0, float to=1", "Uniform numbers in [from, to).")
_filling("normal_", "float mean=0, float std=1", "Normal numbers; each part of complex ones has half the variance.")
_filling("log_normal_", "float mean=1, float std=2", "Exponentials of normal numbers of that mean and deviation.")
_filling("exponential_", "float lambd=1", "Exponential numbers of rate `lambd`.")
_filling("cauchy_", "float median=0, float sigma=1", "Cauchy numbers.")
_filling("geometric_", "float p", "How many trials of probability `p` the first success takes.")
_filling("bernoulli_.Tensor", "Tensor p", "1 with the probability that `p`, broadcast, has for the element, else 0.")
_filling("bernoulli_.float", "float p=0.5", "1 with probability `p`, else 0.")
_filling("random_", "", "Integers from 0 up; as far as floating types represent every integer.")
_filling("random_.from", "int from, int? to", "Integers from `from` below `to`; None for the type's limit.")
_filling("random_.to", "int to", "Integers from 0 up to (not including) `to`.")


def _made(name: str, arguments: str, options: str, doc: str, *, low: bool = False) -> None:
    """A factory, with and without a generator; `low` marks the overload that also takes a lower bound."""
    prefix = "low_" if low else ""
    plain = f"{name}.low" if low else name
    family.factory(f"{name}.{prefix}generator({arguments}, *, Generator? generator, {options}) -> Tensor",
                out=f"{prefix}generator_out", doc=doc)  # fmt: skip
    family.factory(f"{plain}({arguments}, *, {options}) -> Tensor", out=f"{prefix}out", doc=doc)


def _like(name: str, arguments: str, suffix: tuple[str, str], doc: str) -> None:
    """A tensor of another's shape, dtype, layout and device; `suffix`: overload names with and without generator."""
    seeded, plain = suffix
    arguments = f"Tensor self, {arguments}*"
    family.factory(f"{name}.{seeded}({arguments}, Generator? generator, {_LIKE}) -> Tensor", doc=doc)
    family.factory(f"{name}{plain}({arguments}, {_LIKE}) -> Tensor", doc=doc)


_made("rand", "int[] size", _OPTIONS, "Uniform numbers in [0, 1).")
_made("randn", "int[] size", _OPTIONS, "Normal numbers of mean 0 and variance 1.")
_made("randint", "int high, int[] size", _LONG, "Integers from 0 up to (not including) `high`.")
_made("randint", "int low, int high, int[] size", _LONG, "Integers from `low` up to (not including) `high`.", low=True)
_made("randperm", "int n", _LONG, "The integers from 0 to n - 1 in random order.")
_like("rand_like", "", ("generator", ""), "Uniform numbers in [0, 1).")
_like("randn_like", "", ("generator", ""), "Normal numbers of mean 0 and variance 1.")
_like("randint_like", "int high, ", ("generator", ""), "Integers from 0 up to (not including) `high`.")
_like("randint_like", "Tensor high, ", ("Tensor_generator", ".Tensor"), "Integers from 0 up to (not including) `high`.")
_like("randint_like", "int low, int high, ", ("low_generator_dtype", ".low_dtype"),
      "Integers from `low` up to (not including) `high`.")  # fmt: skip

_NORMAL = "Normal numbers of the given means and standard deviations, which broadcast."
for _arguments, _name in (
    ("Tensor mean, Tensor std", "Tensor_Tensor"),
    ("Tensor mean, float std=1", "Tensor_float"),
    ("float mean, Tensor std", "float_Tensor"),
):
    family.composite(f"normal.{_name}({_arguments}, *, {_GENERATOR}) -> Tensor", variants="function", out=f"{_name}_out",
                  doc=_NORMAL)  # fmt: skip
family.factory(f"normal.float_float(float mean, float std, int[] size, *, {_GENERATOR}, {_OPTIONS}) -> Tensor",
            out="float_float_out", doc=_NORMAL)  # fmt: skip

family.composite(f"bernoulli(Tensor self, *, {_GENERATOR}) -> Tensor", out=True,
              doc="1 with the probability that the tensor has for the element, else 0.")  # fmt: skip
family.composite(f"bernoulli.p(Tensor self, float p, *, {_GENERATOR}) -> Tensor",
              doc="1 with probability `p`, else 0, in the shape and dtype of the tensor.")  # fmt: skip
family.plain(f"multinomial(Tensor self, int num_samples, bool replacement=False, *, {_GENERATOR}) -> Tensor", out=True,
          doc="Indices of columns, drawn for each row with the row's weights. Shape (rows, num_samples).")  # fmt: skip
family.plain(f"poisson(Tensor self, {_GENERATOR}) -> Tensor", variants="function",
          doc="Poisson numbers, one for each rate.")  # fmt: skip
family.plain(f"binomial(Tensor count, Tensor prob, {_GENERATOR}) -> Tensor", variants="function",
          doc="How many of `count` trials of probability `prob` succeed; the two broadcast.")  # fmt: skip

family.plain(f"_standard_gamma(Tensor self, {_GENERATOR}) -> Tensor", variants="function",
          doc="Gamma numbers of rate 1, one for each shape parameter.")  # fmt: skip
family.plain(f"_sample_dirichlet(Tensor self, {_GENERATOR}) -> Tensor", variants="function",
          doc="Points of the simplex, one for each row of concentrations: gamma numbers over their sum.")  # fmt: skip
family.plain("_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", variants="function",
          doc="How much gamma numbers `output` of shape parameters `self` grow with these, each at its quantile.")  # fmt: skip
family.plain("_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", variants="function",
          doc="How much a beta number `x` of parameters alpha and total - alpha grows with alpha at its quantile, "
              "over 1 - x.")  # fmt: skip

_DROPOUT = {
    "dropout": "Elements become 0 with probability `p`; the others grow by 1 / (1 - p).",
    "feature_dropout": "Dropout of whole channels: dimensions 0 and 1 of the input are drawn, the rest follows.",
    "alpha_dropout": "Dropout that keeps mean and variance of self-normalizing networks (Klambauer et al., 2017).",
    "feature_alpha_dropout": "Alpha dropout of whole channels.",
}
for _name, _doc in _DROPOUT.items():
    family.composite(f"{_name}(Tensor input, float p, bool train) -> Tensor", variants="function", doc=_doc)
    family.composite(f"{_name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", variants="function",
                  doc=_doc)  # fmt: skip
family.composite("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", variants="function",
              doc="Dropout, and the mask of the elements that stayed.")  # fmt: skip
family.composite("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", variants="",
              doc="The gradient of `native_dropout`.")  # fmt: skip
