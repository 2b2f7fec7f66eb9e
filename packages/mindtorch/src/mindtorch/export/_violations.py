"""Whether a program lets sizes vary as was declared, and what to declare instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._dynamo.exc import UserError
from ..utils._sympy._library import sympy
from ._dims import Dim, DimHint

__all__ = ["check_declared"]

_HEAD = 'Constraints violated ({})! For more information, run with TORCH_LOGS="+dynamic".'


def check_declared(env: Any, places: list[Any], text: Callable[[Any], str]) -> None:
    """Compare what was declared of sizes with what the program has relied on.

    Raises
    ------
    torch._dynamo.exc.UserError
        Naming what does not hold, in PyTorch's words.
    ValueError
        For a size of 0 or 1 that was to vary (``Dim.DYNAMIC``).
    """
    for place in places:
        fixed = isinstance(place.said, DimHint) and place.said.name == "DYNAMIC" and place.expr.is_number
        if fixed:
            where = place.source.name.replace("L[", "inputs[").replace(".size()", ".shape")
            raise ValueError(
                "Found the following conflicts between user-specified ranges and inferred ranges from model tracing:\n"
                f"- Received user-specified dim hint Dim.DYNAMIC(min={place.said.min}, max={place.said.max}), but "
                f"export 0/1 specialized due to hint of {place.expr} for dimension {where}."
            )
    _Comparison(env, places, text).raise_found()


class _Comparison:
    def __init__(self, env: Any, places: list[Any], text: Callable[[Any], str]) -> None:
        self._env, self._places, self._text = env, places, text
        self._wrong: dict[str, None] = {}
        self._why: list[str] = []
        self._fixes: dict[str, str] = {}
        #: Symbol -> the first place of each name that is it.
        self._named: dict[str, Any] = {}
        for place in places:
            if isinstance(place.said, Dim):
                self._named.setdefault(place.said.__name__, place)

    def raise_found(self) -> None:
        self._fixed()
        self._related()
        self._narrowed()
        self._guarded()
        if self._why:
            why = "".join(f"\n  - {line}" for line in self._why)
            fixes = "".join(f"\n  {name} = {value}" for name, value in sorted(self._fixes.items()))
            suggested = f"\nSuggested fixes:{fixes}" if fixes else ""
            raise UserError(_HEAD.format(", ".join(sorted(self._wrong))) + why + suggested)

    def _shown(self, name: str) -> str:
        return f"{name} = {self._named[name].source.name}"

    def _fixed(self) -> None:
        """Sizes that have become numbers."""
        for place in self._places:
            expr = self._env.replace(place.expr)
            dynamic = isinstance(place.said, Dim) or place.said.name == "DYNAMIC"
            if not expr.is_number or not dynamic:
                continue
            named = isinstance(place.said, Dim)
            name = place.said.__name__ if named else place.source.name
            if name in self._wrong:
                continue
            self._wrong[name] = None
            self._why.append(
                f"You marked {name} as dynamic but your code specialized it to be a constant ({expr}). If you're using "
                "mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it "
                "with either Dim.STATIC or Dim.AUTO."
            )
            if named and place.said.root is place.said:
                self._fixes[name] = str(expr)

    def _related(self) -> None:
        """Sizes of different names that follow from each other."""
        known: dict[Any, str] = {}
        roots = {n: p for n, p in self._named.items() if p.said.root is p.said}
        for name, place in roots.items():
            expr = self._env.replace(place.expr)
            if expr.is_Symbol and known.setdefault(expr, name) != name:
                other = known[expr]
                self._wrong[name] = None
                self._why.append(f"The values of {self._shown(name)} and {self._shown(other)} must always be equal.")
                self._fixes[name] = other
        for name, place in roots.items():
            expr = self._env.replace(place.expr)
            names = sorted({known[s] for s in expr.free_symbols if s in known})
            if expr.is_Symbol or expr.is_number:
                continue
            if len(names) == len(expr.free_symbols) == 1:
                (symbol,) = expr.free_symbols
                (other,) = names
                said = str(expr.xreplace({symbol: sympy.Symbol(other, integer=True)}))
                self._why.append(
                    f"The values of {self._shown(name)} must always be related to the values of {self._shown(other)} "
                    f"by {name} = {said}."
                )
                self._fixes[name] = said
            else:
                self._why.append(
                    f"Not all values of {self._shown(name)} in the specified range satisfy the generated guard "
                    f"{place.source.name} == {self._text(expr)}"
                )
            self._wrong[name] = None

    def _narrowed(self) -> None:
        """Ranges that the program has narrowed."""
        for name, place in self._named.items():
            expr = self._env.replace(place.expr)
            if expr.is_number:
                continue
            declared, found = place.said, self._env.bound_sympy(expr)
            low, high = max(declared.min, 2), declared.max
            upper = sympy.oo if high >= 2**63 - 1 else high
            if low >= found.lower and upper <= found.upper or not expr.is_Symbol:
                continue
            lower = "" if found.lower <= 2 else f"min={found.lower}"
            bound = "" if found.upper.is_infinite else f"max={found.upper}"
            where = place.source.name
            limit = "IntInfinity()" if found.upper.is_infinite else found.upper
            self._wrong[name] = None
            self._why.append(
                f"Not all values of {self._shown(name)} in the specified range{_range(declared)} satisfy the generated "
                f"guard {found.lower} <= {where} and {where} <= {limit}"
            )
            if declared.root is declared:
                said = ", ".join([repr(name), *filter(None, (lower, bound))])
                self._fixes.setdefault(name, f"Dim({said})")

    def _guarded(self) -> None:
        """Other relations that the program relied on, of one size that has a name."""
        by_symbol: dict[Any, str] = {}
        for name, place in self._named.items():
            expr = self._env.replace(place.expr)
            if len(expr.free_symbols) == 1:
                by_symbol.setdefault(next(iter(expr.free_symbols)), name)
        for guard in self._env.get_nontrivial_guards():
            symbols = list(guard.free_symbols)
            if len(symbols) == 1 and symbols[0] in by_symbol:
                name = by_symbol[symbols[0]]
                said = self._named[name].said
                self._wrong[name] = None
                self._why.append(
                    f"Not all values of {self._shown(name)} in the specified range{_range(said)} satisfy the generated "
                    f"guard {self._text(guard)}."
                )


def _range(dim: Any) -> str:
    """The range that was declared, as far as it is narrower than any."""
    name = dim.__name__
    bounded = dim.max < 2**63 - 1
    if dim.min > 2:
        return f" {dim.min} <= {name} <= {dim.max}" if bounded else f" {dim.min} <= {name}"
    return f" {name} <= {dim.max}" if bounded else ""
