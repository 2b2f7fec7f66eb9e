"""How the tangent of a result follows from the tangents of the arguments: the forward half of a derivative.

A derivative's formulas say what a cotangent becomes (`mt_autograd.rules`). Most tangents follow from them, or from the
operator itself, and ``forward=`` says how, for the rest it gives the formula:

================  ===================================================================================================
``"linear"``      the operator is linear in all its differentiable arguments together: it is applied to their tangents
                  (zeros for those without). Views are so without being told.
``"multilinear"`` it is linear in each of them: the sum over the arguments of the operator with one tangent in its place
``"elementwise"`` each element of the result depends on one element of each argument: for real numbers the Jacobian is
                  diagonal, so that the formulas apply to tangents as they do to gradients. Operators that are declared
                  elementwise are so without being told; of complex numbers they are transposed.
``"transposed"``  a formula is linear in the cotangent, and its transpose is the product with the Jacobian: it is
                  carried out on a probe, recorded, and differentiated. This serves any operator, at about the cost of
                  two formulas; it is the default for all others.
``"parts"``       the operator's composite is carried out instead, each part with a tangent of its own
a dict            argument -> ``f(t, ...)``, what its tangent adds to the result's
a function        ``f(self_t, other_t, ..., self, ...)`` for all arguments: tangents, None where there is none
================  ===================================================================================================

Functions draw on the same names as formulas of cotangents do (arguments, ``result``, ``<argument>_spec`` and so on),
all seen below the level. They return a tangent, None for zero, or a tuple of these, one for each result; shapes are
broadcast, and dtypes cast, to the result's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import is_grad_enabled
from mt_core.dispatch.registry import Overload, find_overload
from mt_core.schema import Schema
from mt_core.tensor import Tensor
from mt_core.tensor_types import tensors_in

from .api import grad as gradients_of
from .modes import recording
from .recording import DIFFERENTIABLE
from .rules import Function, Rule

__all__ = ["TangentRule", "tangent_rule"]

Args = Sequence[Any]
#: Position of an argument -> its tangent, or for a list the tangents and None.
Tangents = dict[int, Any]


class TangentRule:
    """The tangents of an operator's results.

    Attributes
    ----------
    positions : tuple of int
        Schema positions of the arguments whose tangents count.
    reads_first : bool
        Whether the first argument's value is asked for, which an in-place operator is about to overwrite.
    may_alias : bool
        Whether the tangent of a result may lie on the memory of another tangent: of views alone.
    """

    reads_first = True
    may_alias = False

    def __init__(self, rule: Rule, overload: Overload) -> None:
        self.overload = overload
        self.schema = overload.schema
        names = rule.joint or tuple(rule.formulas)
        self.positions = tuple(i for i, a in enumerate(self.schema.arguments) if a.name in names)
        self.chosen = rule.differentiable_outputs

    def __call__(self, args: Args, results: Args, tangents: Tangents) -> Sequence[Any]:
        """One tangent, or None for zero, per result."""
        raise NotImplementedError

    def has_tangent(self, output_nr: int, result: Any) -> bool:
        """Whether a result is differentiable at all."""
        if result is None or result._dtype not in DIFFERENTIABLE:
            return False
        return self.chosen is None or bool(self.chosen[output_nr])


class Linear(TangentRule):
    """The operator itself on tangents; `as_view` for views, whose tangents are views of tangents."""

    reads_first = False

    def __init__(self, rule: Rule, overload: Overload, as_view: bool) -> None:
        super().__init__(rule, overload)
        self.may_alias = as_view

    def __call__(self, args: Args, results: Args, tangents: Tangents) -> Sequence[Any]:
        given = list(args)
        for i in self.positions:
            given[i] = _tangents_or_zeros(args[i], tangents.get(i))
        return _as_results(self.overload.call(*given))


def _tangents_or_zeros(value: Any, tangent: Any) -> Any:
    if isinstance(value, (list, tuple)):
        tangent = tangent or [None] * len(value)
        return [_tangents_or_zeros(v, t) for v, t in zip(value, tangent, strict=True)]
    if tangent is not None or value is None:
        return tangent
    return ops.zeros_like(value) if isinstance(value, Tensor) else 0


class Multilinear(TangentRule):
    """A product: one factor after the other is exchanged for its tangent."""

    def __call__(self, args: Args, results: Args, tangents: Tangents) -> Sequence[Any]:
        total: Any = None
        for i, tangent in tangents.items():
            given = list(args)
            given[i] = _tangents_or_zeros(args[i], tangent)
            total = _added(total, self.overload.call(*given))
        return (total,)


class Transposed(TangentRule):
    """The transpose of the formulas for cotangents."""

    def __init__(self, rule: Rule, overload: Overload) -> None:
        super().__init__(rule, overload)
        self.joint = bool(rule.joint)
        arguments = self.schema.arguments
        functions = [rule.formulas[""]] if self.joint else [rule.formulas[arguments[i].name] for i in self.positions]
        words = {"grad", "grads", "mask"} if self.joint else {"grad", "grads"}  # else an argument may be called so
        self.formulas = [_Formula(function, self.schema, words) for function in functions]
        self.reads_first = any(0 in formula.arguments for formula in self.formulas)

    def __call__(self, args: Args, results: Args, tangents: Tangents) -> Sequence[Any]:
        again = is_grad_enabled()
        with recording():
            probes = [self._probe(nr, result, len(results)) for nr, result in enumerate(results)]
            pairs = [pair for pair in self._pulled_back(args, results, tangents, probes) if pair[0].requires_grad]
        sources = [probe for probe in probes if probe is not None]
        if not pairs:
            return [None] * len(results)
        values, directions = zip(*pairs, strict=True)
        found = iter(gradients_of(values, sources, directions, create_graph=again, allow_unused=True))  # type: ignore[arg-type]
        return [None if probe is None else next(found) for probe in probes]

    def _probe(self, output_nr: int, result: Any, count: int) -> Any:
        """A cotangent of a result; None where it has none, or is one of several and was not computed.

        Which it is makes no difference; of zeros no formula says that a result does not determine them.
        """
        if not self.has_tangent(output_nr, result) or count > 1 and not result.numel():
            return None
        return ops.zeros_like(result)._set_requires_grad()

    def _pulled_back(
        self, args: Args, results: Args, tangents: Tangents, probes: list[Any]
    ) -> Sequence[tuple[Any, Any]]:
        """Of each argument with a tangent what the probes become, and the tangent in the same shape and dtype."""
        first = ops.zeros_like(results[0]) if probes[0] is None else probes[0]
        words = {"grad": first, "grads": tuple(probes), "mask": [i in tangents for i in self.positions]}
        if self.joint:
            values = self.formulas[0](words, args, results)
        else:
            values = [
                formula(words, args, results) if i in tangents else None
                for i, formula in zip(self.positions, self.formulas, strict=True)
            ]
        pairs: list[tuple[Any, Any]] = []
        for i, value in zip(self.positions, values, strict=True):
            if i not in tangents or value is None:
                continue
            if isinstance(tangents[i], list):
                pairs += [(v, t) for v, t in zip(value, tangents[i], strict=True) if v is not None and t is not None]
            else:
                pairs.append((value, tangents[i]))
        return [(value, _matching(tangent, value)) for value, tangent in pairs]


def _matching(tangent: Any, value: Any) -> Any:
    """A tangent as what a formula's gradient is multiplied with, which may still be broadcast, or of another dtype."""
    if tangent._dtype is not value._dtype:
        if tangent._dtype.is_complex and not value._dtype.is_complex:
            tangent = tangent.real
        tangent = tangent.to(value._dtype)
    return tangent.expand(value.shape) if tangent.shape != value.shape else tangent


class Elementwise(TangentRule):
    """Real numbers: the formulas on tangents; complex ones: `otherwise`."""

    def __init__(self, rule: Rule, overload: Overload, otherwise: Transposed) -> None:
        super().__init__(rule, overload)
        self.otherwise = otherwise
        self.reads_first = otherwise.reads_first

    def __call__(self, args: Args, results: Args, tangents: Tangents) -> Sequence[Any]:
        if self.otherwise.joint or len(results) > 1 or any(t._dtype.is_complex for t in tensors_in((args, results))):
            return self.otherwise(args, results, tangents)
        total: Any = None
        for i, formula in zip(self.positions, self.otherwise.formulas, strict=True):
            if i in tangents:
                tangent = _as_gradient(tangents[i], results[0])
                total = _added(total, formula({"grad": tangent, "grads": (tangent,)}, args, results))
        return (total,)


def _as_gradient(tangent: Any, result: Any) -> Any:
    """A tangent in the result's shape and dtype, in which formulas expect a gradient."""
    tangent = tangent if tangent._dtype is result._dtype else tangent.to(result._dtype)
    return tangent if tangent.shape == result.shape else tangent.expand(result.shape)


class PerArgument(TangentRule):
    """A sum of what the tangent of each argument adds."""

    def __init__(self, rule: Rule, overload: Overload, formulas: dict[str, Function], as_view: bool) -> None:
        super().__init__(rule, overload)
        names = [a.name for a in self.schema.arguments]
        self.formulas = {names.index(name): _Formula(f, self.schema, {"t"}) for name, f in formulas.items()}
        self.reads_first = any(0 in formula.arguments for formula in self.formulas.values())
        self.may_alias = as_view

    def __call__(self, args: Args, results: Args, tangents: Tangents) -> Sequence[Any]:
        totals: list[Any] = [None] * len(results)
        for i, tangent in tangents.items():
            for nr, part in enumerate(_as_results(self.formulas[i]({"t": tangent}, args, results))):
                totals[nr] = _added(totals[nr], part)
        return totals


class OfAll(TangentRule):
    """One function of all tangents."""

    def __init__(self, rule: Rule, overload: Overload, function: Function) -> None:
        super().__init__(rule, overload)
        self.words = {f"{a.name}_t": i for i, a in enumerate(self.schema.arguments) if a.is_tensor}
        self.formula = _Formula(function, self.schema, set(self.words))
        self.reads_first = 0 in self.formula.arguments

    def __call__(self, args: Args, results: Args, tangents: Tangents) -> Sequence[Any]:
        words = {word: tangents.get(i) for word, i in self.words.items()}
        return _as_results(self.formula(words, args, results))


def _as_results(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _added(total: Any, part: Any) -> Any:
    if total is None or part is None:
        return part if total is None else total
    return total + part


class _Formula:
    """A function whose parameters name what it is given.

    Attributes
    ----------
    arguments : set of int
        Positions of the arguments whose values it asks for.
    """

    def __init__(self, function: Function, schema: Schema, words: set[str]) -> None:
        self.function = function
        index = {argument.name: i for i, argument in enumerate(schema.arguments)}
        self._sources = [_source(name, index, words, str(schema)) for name in inspect.signature(function).parameters]
        self.arguments = {key for kind, key in self._sources if kind is _argument}

    def __call__(self, words: dict[str, Any], args: Args, results: Args) -> Any:
        return self.function(*[kind(key, words, args, results) for kind, key in self._sources])


def _word(key: Any, words: dict[str, Any], args: Args, results: Args) -> Any:
    return words[key]


def _argument(key: Any, words: dict[str, Any], args: Args, results: Args) -> Any:
    return tuple(args[key]) if isinstance(args[key], list) else args[key]


def _result(key: Any, words: dict[str, Any], args: Args, results: Args) -> Any:
    return results[key]


def _layout(key: Any, words: dict[str, Any], args: Args, results: Args) -> Any:
    """The tensor itself, where a formula asks for its layout alone."""
    return args[key]


def _offset(key: Any, words: dict[str, Any], args: Args, results: Args) -> Any:
    return args[key].storage_offset()


def _device(key: Any, words: dict[str, Any], args: Args, results: Args) -> Any:
    return args[key].device


_SUFFIXES = {"_spec": _layout, "_offset": _offset, "_device": _device}


def _source(name: str, index: dict[str, int], words: set[str], schema: str) -> tuple[Callable[..., Any], Any]:
    if name in words:
        return _word, name
    if name in index:
        return _argument, index[name]
    for suffix, kind in _SUFFIXES.items():
        if name.endswith(suffix) and name[: -len(suffix)] in index:
            return kind, index[name[: -len(suffix)]]
    if name.startswith("result") and (name == "result" or name[6:].isdecimal()):
        return _result, int(name[6:] or 0)
    raise ValueError(f"a formula for tangents asks for '{name}', which {schema} does not have")


def tangent_rule(rule: Rule, overload: Overload) -> TangentRule:
    """What computes the tangents of an operator that has a rule; of an in-place one, by its functional form."""
    functional = overload.declaration.functional
    plain = overload if functional is None else find_overload(functional)
    forward, is_view = rule.forward, any(r.alias is not None and not r.writes for r in plain.schema.returns)
    if isinstance(forward, dict):
        return PerArgument(rule, plain, forward, is_view)
    if forward is not None and not isinstance(forward, str):
        return OfAll(rule, plain, forward)
    if forward == "linear" or forward is None and is_view:
        return Linear(rule, plain, is_view)
    if forward == "multilinear":
        return Multilinear(rule, plain)
    transposed = Transposed(rule, plain)
    if forward == "elementwise" or forward is None and plain.declaration.kind == "elementwise":
        return Elementwise(rule, plain, transposed)
    if forward not in (None, "transposed"):
        raise ValueError(f"the derivative of {rule.name} is given forward={forward!r}, which says nothing")
    return transposed
