"""Record in `autocast.json` what dtypes operators give under PyTorch's autocast: ``make_autocast.py [--check]``.

operator -> kind of arguments (`KINDS`) -> dtypes of the results without autocast, and with it to bfloat16; a refusal is
its type's name. Of each operator it is the first sample with float32 tensors that is asked.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from make_samples import find_operator, leaves, to_pytorch

from mt_core.testing.arguments import Arguments
from mt_core.testing.sample import declared_operators
from mt_core.testing.under_autocast import KINDS, retyped, sample_in_float32

PATH = Path(__file__).with_name("autocast.json")


def outcome(operator: Any, arguments: Any, given: list[Any], enabled: bool) -> Any:
    positional = [v for a, v in zip(arguments, given, strict=True) if not a.kwarg_only]
    named = {a.name: v for a, v in zip(arguments, given, strict=True) if a.kwarg_only}
    torch.manual_seed(0)
    try:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            found = leaves(operator(*positional, **named))
    except Exception as error:  # noqa: BLE001 - what PyTorch raises is what is recorded
        return type(error).__name__
    return [str(t.dtype).removeprefix("torch.") if isinstance(t, torch.Tensor) else type(t).__name__ for t in found]


def main() -> int:
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    for overload in declared_operators():
        operator = None if overload.schema.is_mutable else find_operator(overload)
        sample = None if operator is None else sample_in_float32(overload)
        if sample is None:
            continue
        arguments = overload.schema.arguments
        bound = [to_pytorch(v) for v in Arguments(overload, sample).bound]
        for kind, names in KINDS.items():
            given = retyped(bound, torch.Tensor, torch.float32, [getattr(torch, name) for name in names])
            both = [outcome(operator, arguments, given, enabled) for enabled in (False, True)]
            found.setdefault(overload.name, {})[kind] = both
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(kinds)}" for name, kinds in sorted(found.items()))
    if "--check" in sys.argv:
        stored = json.loads(PATH.read_text())
        different = [name for name in sorted({*stored, *found}) if stored.get(name) != found.get(name)]
        print(*(f"{name}: autocast gives another dtype" for name in different), sep="\n")
        return bool(different)
    PATH.write_text(f"{{\n{lines}\n}}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
