"""Record in `accepted_dtypes.json` which dtypes PyTorch refuses for each operator, and in which words.

Operator -> refusal -> dtypes, for the first sample of the operator with that dtype in place of its first tensor's
(`mt_core.testing.dtypes_accepted`); ``{}`` in a refusal is PyTorch's name of the dtype, and what is not listed is
accepted. ``--check`` compares. It needs PyTorch 2.13 and the packages.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from make_samples import REFUSALS, find_operator, to_pytorch

from mt_core.dispatch.registry import Overload
from mt_core.dtypes import scalar_type_name
from mt_core.testing import oracle
from mt_core.testing.dtypes_accepted import ASKED, calls_with
from mt_core.testing.sample import declared_operators

PATH = Path(__file__).with_name("accepted_dtypes.json")


def refusal(operator: Any, overload: Overload, bound: list[Any]) -> str:
    """Type and first line of what PyTorch says; empty where it accepts."""
    arguments, given = overload.schema.arguments, [to_pytorch(value) for value in bound]
    positional = [v for a, v in zip(arguments, given, strict=True) if not a.kwarg_only]
    named = {a.name: v for a, v in zip(arguments, given, strict=True) if a.kwarg_only}
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            operator(*positional, **named)
    except REFUSALS as refused:
        return oracle.refusal_text(refused)
    return ""


def refused(overload: Overload) -> dict[str, str] | None:
    """Refusal -> the dtypes that meet it; None for what PyTorch does not have, or where no sample has a tensor."""
    operator = find_operator(overload)
    if operator is None or calls_with(overload, ASKED[0]) is None:
        return None
    found: dict[str, str] = {}
    for d in ASKED:
        said = refusal(operator, overload, calls_with(overload, d) or []).replace(scalar_type_name(d), "{}")
        if said:
            found[said] = f"{found.get(said, '')} {d.name}".strip()
    return found


def main() -> int:
    warnings.simplefilter("ignore")
    operators = [o for o in declared_operators() if o.declaration.form == "functional"]
    made = {o.name: found for o in operators if (found := refused(o)) is not None}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in sorted(made.items()))
    text = f"{{\n{lines}\n}}\n"
    if "--check" in sys.argv:
        stored = json.loads(PATH.read_text())
        different = [name for name in sorted({*stored, *made}) if stored.get(name) != made.get(name)]
        print(*(f"{name}: PyTorch accepts other dtypes, or says so otherwise" for name in different), sep="\n")
        return bool(different)
    PATH.write_text(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
