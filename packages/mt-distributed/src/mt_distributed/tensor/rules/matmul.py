"""Products: a dimension of the result may be split, or the one that is summed over, which leaves a sum to be done."""

from __future__ import annotations

from ..placement_types import Placement, Shard
from ..strategies import Call, Strategy, rule
from ._common import SUM, R, everywhere

#: Operator -> the letters of its factors and its result.
_LETTERS = {"mm": "mk,kn->mn", "bmm": "bmk,bkn->bmn", "mv": "mk,k->m", "dot": "k,k->", "ger": "m,n->mn"}
#: Those with a summand before the factors.
_WITH_SUMMAND = {"addmm": "mm", "baddbmm": "bmm", "addmv": "mv"}


def _at(letters: str, letter: str) -> Placement:
    return Shard(letters.index(letter)) if letter in letters else R


def _splits(call: Call, name: str) -> list[Strategy]:
    factors, _, result = _LETTERS[name].partition("->")
    left, _, right = factors.partition(",")
    found = [Strategy((R,), (R, R))]
    for letter in dict.fromkeys(left + right):
        output = _at(result, letter) if letter in result else SUM
        found.append(Strategy((output,), (_at(left, letter), _at(right, letter))))
    return [*found, Strategy((SUM,), (SUM, R)), Strategy((SUM,), (R, SUM))]


@rule(*_LETTERS)
def product(call: Call) -> list[Strategy]:
    return _splits(call, call.name.partition(".")[0])


@rule(*_WITH_SUMMAND)
def summand_and_product(call: Call) -> list[Strategy]:
    found = [everywhere(call)]
    ndim = call.ndim(1)
    if call.name.startswith("addmv"):
        ndim = 1
    for strategy in _splits(call, _WITH_SUMMAND[call.name.partition(".")[0]]):
        output = strategy.outputs[0]
        if isinstance(output, Shard):
            own = output.dim - (ndim - call.ndim(0))
            summand: Placement = Shard(own) if own >= 0 and call.shape(0)[own] > 1 else R
        elif output.is_partial():
            summand = SUM
        else:
            summand = R
        found.append(Strategy(strategy.outputs, (summand, *strategy.inputs), 0))
    return found
