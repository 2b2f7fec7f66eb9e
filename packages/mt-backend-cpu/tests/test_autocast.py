"""Every operator under autocast: the dtypes that PyTorch's gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mt_core import dtypes, no_grad
from mt_core.dispatch.registry import Resolver, find_overload
from mt_core.layers.autocast import set_enabled
from mt_core.tensor import Tensor
from mt_core.testing.arguments import Arguments
from mt_core.testing.under_autocast import KINDS, retyped, sample_in_float32

RECORDED = json.loads(Path(__file__).with_name("snapshots").joinpath("autocast.json").read_text())
#: What of an operator is another dtype here, and why.
OTHERWISE = {
    name: "the pseudo-inverse is one kernel here, and no product of a decomposition in a half type"
    for name in RECORDED
    if name.startswith("linalg_pinv")
}


@pytest.fixture
def on_cpu() -> Iterator[Any]:
    yield lambda enabled: set_enabled("cpu", enabled)
    set_enabled("cpu", False)


def outcome(name: str, kind: str) -> Any:
    overload = find_overload(name)
    sample = sample_in_float32(overload)
    assert sample is not None
    wanted = [getattr(dtypes, word) for word in KINDS[kind]]
    given = tuple(retyped(Arguments(overload, sample).bound, Tensor, dtypes.float32, wanted))
    try:
        with no_grad():
            result = overload.cache[Resolver.call_keys_of(overload, given)](*given)
    except Exception as error:  # noqa: BLE001 - a refusal is what is looked for
        return type(error).__name__
    return [str(x.dtype).removeprefix("torch.") if isinstance(x, Tensor) else type(x).__name__ for x in leaves(result)]


def leaves(result: Any) -> list[Any]:
    return [leaf for item in result for leaf in leaves(item)] if isinstance(result, (list, tuple)) else [result]


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in OTHERWISE])
def test_results_have_pytorchs_dtypes(name: str, on_cpu: Any) -> None:
    """Of calls that are alike without autocast, in dtypes or in being refused."""
    for kind, (plain, cast) in RECORDED[name].items():
        on_cpu(False)
        if alike(outcome(name, kind), plain):
            on_cpu(True)
            assert alike(outcome(name, kind), cast), kind


def alike(found: Any, recorded: Any) -> bool:
    return found == recorded or isinstance(found, str) and isinstance(recorded, str)


def test_what_differs_still_does(on_cpu: Any) -> None:
    on_cpu(True)
    for name in OTHERWISE:
        assert outcome(name, "float32") != RECORDED[name]["float32"][1]
