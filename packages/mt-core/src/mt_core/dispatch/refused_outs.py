"""What ``out=`` forms do to their outputs where a kernel refuses a dtype.

PyTorch makes the outputs ready (their dtypes are checked, and they get the results' shapes) before it chooses a kernel.
Here the refusal of a kernel's dtype comes with the description of the call, before anything is written; so the outputs
are made ready when it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..keys import AUTOGRAD
from ..promotion import KEEP, result_type_of
from ..spec import Spec
from ..state import excluding
from .elementwise import Elementwise
from .registry import SHAPE_RULES, Overload, load_family
from .writing import check_castable, check_exact, resize_out

__all__ = ["check_of_outs", "ready_before_refusal", "words_of"]

Callee = Callable[..., Any]
#: What says that no kernel is written for a dtype; other refusals come before outputs are made ready.
_OF_KERNELS = "not implemented for"
#: (position, output, dtype of its result, first argument) -> nothing; raises for outputs that cannot be written to.
CheckOut = Callable[[int, Any, Any, Any], None]


def ready_before_refusal(overload: Overload, functional: Overload, backend: Any, run: Callee) -> Callee:
    """An ``out=`` form that has its outputs ready when its kernel refuses the call."""
    describe = _describer(functional, backend)
    if describe is None or overload.declaration.out_dtype is not None:  # which has the output's dtype described
        return run
    arguments = overload.schema.arguments
    outs = [i for i, a in enumerate(arguments) if a.writes]
    rest = [i for i, a in enumerate(arguments) if not a.writes]
    check_out = check_of_outs(overload) or _castable

    def guarded(*args: Any) -> Any:
        try:
            return run(*args)
        except NotImplementedError as refusal:
            if _OF_KERNELS not in str(refusal):
                raise
            with excluding(AUTOGRAD):
                made = describe(*[args[i] for i in rest])
            specs = (made,) if isinstance(made, Spec) else made or ()
            pairs = [(i, args[i], spec) for i, spec in zip(outs, specs, strict=False) if spec is not None]
            for i, out, spec in pairs:
                check_out(i, out, spec.dtype, args[0])
            for _, out, spec in pairs:
                resize_out(out, spec.shape)
            raise

    return guarded


def check_of_outs(overload: Overload) -> CheckOut | None:
    """What a declaration asks of ``out`` arguments beside that the result can be cast to them. None for nothing."""
    facts, arguments = overload.declaration, overload.schema.arguments
    exact, also, asks = facts.exact_out, facts.out_takes, facts.out_check
    if exact:
        outs = [i for i, a in enumerate(arguments) if a.writes]
        words = dict(zip(outs, words_of(exact, len(outs)), strict=True))
        return lambda at, out, result, first: check_exact(out, result, words[at], also, arguments[at].name)
    if asks is None:
        return None
    names = {i: a.name for i, a in enumerate(arguments) if a.writes}
    return lambda at, out, result, first: asks.require(names[at], result, out._dtype, first)


def words_of(exact: str | tuple[str, ...], count: int) -> Sequence[str]:
    """What `Declaration.exact_out` says of each of so many results."""
    return exact if isinstance(exact, tuple) else [exact] * count


def _castable(at: int, out: Any, result: Any, first: Any) -> None:
    check_castable(result, out._dtype)


def _describer(functional: Overload, backend: Any) -> Callee | None:
    """Shapes and dtypes of an operator's results, no dtype refused; None where a rule does not tell them."""
    if functional.declaration.kind == "elementwise":
        return _elementwise(Elementwise(functional, [], None, backend, 0))
    load_family("mt_core.shape_rules", functional.family)
    return SHAPE_RULES.get(functional.name)


def _elementwise(operator: Elementwise) -> Callee:
    def describe(*args: Any) -> Spec:
        operands = [args[i] for i in operator.promoting]
        common = operands[0]._dtype if operator.promotion is KEEP else result_type_of(operands)
        shape, _ = operator.layout(args)
        return Spec(shape, operator.dtypes(args, common)[1])

    return describe
