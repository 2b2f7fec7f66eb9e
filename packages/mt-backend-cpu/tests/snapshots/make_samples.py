"""Record in `samples/` what PyTorch gives for every sample of every operator: the oracle of the CPU's exam.

``make_samples.py [FAMILY ...]`` writes the files, one per operator family; with ``--check`` it compares what they hold,
to the exam's tolerances. An operator that PyTorch does not have is left out; the exam's gaps say so.

``index`` is a JSON object: operator -> its samples, each with the words and a fingerprint of its arguments, the
refusal or the layouts of what the call returned and wrote, the places of its values in ``elements``, and what differs
when the inputs have gaps in memory.
"""

from __future__ import annotations

import io
import json
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mt_core.devices import device as mt_device
from mt_core.dispatch.registry import Overload
from mt_core.dtypes import dtype as mt_dtype
from mt_core.random import Generator as MtGenerator
from mt_core.tensor import Tensor
from mt_core.testing import oracle
from mt_core.testing.arguments import Arguments, samples_on
from mt_core.testing.oracle import Outcome, Value, fingerprint, layout_of, values_of, with_rounding
from mt_core.testing.sample import Sample, constants_of, declared_operators, has_values, hidden_writes, public_results

FOLDER = Path(__file__).with_name("samples")
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError)


#: Overloads of other names in PyTorch; there, the plain one has fewer arguments.
OTHER_OVERLOADS = {"range": "step"}


# Arguments


def to_pytorch(value: Any) -> Any:
    if isinstance(value, Tensor):
        return tensor_to_pytorch(value)
    if isinstance(value, (list, tuple)):
        return [to_pytorch(item) for item in value]
    if isinstance(value, mt_device):
        return torch.device("cpu")
    if isinstance(value, MtGenerator):
        return torch.default_generator
    if isinstance(value, mt_dtype) or type(value).__module__.startswith("mt_core"):
        return getattr(torch, str(value).removeprefix("torch."))
    return value


def tensor_to_pytorch(tensor: Tensor) -> torch.Tensor:
    """The same elements in the same layout; what lies between them is zero."""
    host = np.ascontiguousarray(oracle.host_elements(tensor))
    dtype = getattr(torch, str(tensor.dtype).removeprefix("torch."))
    packed = torch.frombuffer(bytearray(host.tobytes()), dtype=dtype) if host.size else torch.zeros(0, dtype=dtype)
    shape, strides = tuple(tensor.shape), tensor.stride()
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if host.size else 0
    # A block with gaps reaches to the end of its last gap, as the sample's own does.
    memory = torch.zeros(max(extent, tensor.untyped_storage().nbytes() // max(tensor.itemsize, 1)), dtype=dtype)
    view = memory.as_strided(shape, strides, tensor.storage_offset())
    view.copy_(packed.reshape(shape))
    return view


def find_operator(overload: Overload) -> Any:
    """PyTorch's operator of that name and overload, or None."""
    packet = getattr(torch.ops.aten, overload.schema.name, None)
    name = OTHER_OVERLOADS.get(overload.name, overload.schema.overload or "default")
    return getattr(packet, name) if packet is not None and name in packet.overloads() else None


# Results


def dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def elements(tensor: torch.Tensor) -> np.ndarray:
    packed = torch.empty(tensor.numel(), dtype=tensor.dtype)
    packed.copy_(tensor.resolve_conj().resolve_neg().reshape(-1))
    raw = packed.view(torch.uint8).numpy().tobytes()
    return np.frombuffer(raw, oracle._numpy_dtype(dtype_name(tensor))).reshape(tuple(tensor.shape))


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in leaves(item)]
    return [result]


def layout(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return layout_of(leaf.shape, dtype_name(leaf), leaf.stride())
    return type(leaf).__name__ if isinstance(leaf, (bool, int, float, complex)) else str(leaf)


def run(operator: Any, overload: Overload, sample: Sample, *, precise: bool = False) -> Outcome:
    given = [to_pytorch(v) for v in Arguments(overload, sample).bound]
    if precise:
        given = [in_double(v) for v in given]
    arguments = overload.schema.arguments
    positional = [v for a, v in zip(arguments, given, strict=True) if not a.kwarg_only]
    named = {a.name: v for a, v in zip(arguments, given, strict=True) if a.kwarg_only}
    if overload.declaration.form == "out":
        # Those of PyTorch's factories have no options: here they have those that Python functions take.
        known = {a.name for a in operator._schema.arguments}
        named = {name: v for name, v in named.items() if name in known}
    torch.manual_seed(0)
    try:
        with torch.no_grad():
            result = operator(*positional, **named)
    except REFUSALS as refusal:
        return Outcome(refusal=oracle.refusal_text(refusal))
    hidden = hidden_writes(overload.name)
    written = [v for a, v in zip(arguments, given, strict=True) if a.writes or a.name in hidden]
    found = [*public_results(overload.name, leaves(result)), *leaves(written)]
    layouts = tuple(layout(leaf) for leaf in found)
    if not has_values(overload.name):
        return Outcome(layouts=layouts)
    pairs = [(elements(t), dtype_name(t)) if isinstance(t, torch.Tensor) else oracle._number(t) for t in found]
    hosts = [elements(v) if isinstance(v, torch.Tensor) else v for v in given]
    return Outcome(layouts=layouts, values=tuple(values_of(overload.name, hosts, pairs)))


def in_double(value: Any) -> Any:
    """A dtype argument as double precision; tensors are made so."""
    return torch.float64 if value in (torch.float32, torch.float16, torch.bfloat16) else value


# Files


def outcomes(operator: Any, overload: Overload) -> Iterator[tuple[Sample, Outcome, Outcome, list[bool] | None]]:
    """Per sample: what PyTorch gives, and what it gives for inputs with gaps in memory."""
    variants = [list(samples_on(overload, "cpu", strided=s, precise=p)) for s, p in ((0, 0), (1, 0), (0, 1))]
    for plain, strided, precise in zip(*variants, strict=True):
        found = run(operator, overload, plain)
        with_gaps = run(operator, overload, strided)._replace(values=())
        if not found.refusal:
            found = with_rounding(found, run(operator, overload, precise, precise=True))
        yield plain, found, with_gaps, recorded(operator, overload, precise)


def recorded(operator: Any, overload: Overload, sample: Sample) -> list[bool] | None:
    """Which tensors that PyTorch returns require grad; None where it refuses."""
    constant = constants_of(overload.name)
    arguments = overload.schema.arguments
    bound = Arguments(overload, sample).bound
    given = [in_double(to_pytorch(v)) for v in bound]
    given = [v if a.name in constant else requiring_grad(v) for a, v in zip(arguments, given, strict=True)]
    writes = [a.writes or a.name in hidden_writes(overload.name) for a in arguments]
    given = [v.clone() if w and isinstance(v, torch.Tensor) else v for v, w in zip(given, writes, strict=True)]
    positional = [v for a, v in zip(arguments, given, strict=True) if not a.kwarg_only]
    named = {a.name: v for a, v in zip(arguments, given, strict=True) if a.kwarg_only}
    torch.manual_seed(0)
    try:
        result = operator(*positional, **named)
    except REFUSALS:
        return None
    return [t.requires_grad for t in public_results(overload.name, leaves(result)) if isinstance(t, torch.Tensor)]


def requiring_grad(value: Any) -> Any:
    if isinstance(value, list):
        return [requiring_grad(v) for v in value]
    floating = isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
    return value.detach().requires_grad_() if floating else value


def record(overloads: list[Overload]) -> tuple[dict[str, Any], bytes]:
    index: dict[str, Any] = {}
    memory = io.BytesIO()
    for overload in overloads:
        operator = find_operator(overload)
        if operator is not None:
            index[overload.name] = [entry(memory, overload, *found) for found in outcomes(operator, overload)]
    return index, memory.getvalue()


def entry(
    memory: io.BytesIO,
    overload: Overload,
    sample: Sample,
    found: Outcome,
    strided: Outcome,
    flags: list[bool] | None,
) -> dict[str, Any]:
    inputs = oracle.inputs_of(Arguments(overload, sample))
    made: dict[str, Any] = {"sample": repr(sample), "inputs": fingerprint(inputs), **said(found)}
    if found.values:
        made["values"] = [store(memory, value) for value in found.values]
    if said(strided) != said(found):
        made["strided"] = said(strided)
    made["recorded"] = flags
    return made


def said(found: Outcome) -> dict[str, Any]:
    return {"refusal": found.refusal} if found.refusal else {"layouts": list(found.layouts)}


def store(memory: io.BytesIO, value: Value) -> list[Any]:
    """Where the elements begin, their shape, their dtype, and how far float64 is from them."""
    start = memory.tell()
    array = np.ascontiguousarray(value.elements)
    memory.write(array.tobytes())
    memory.write(bytes(-array.nbytes % 16))
    # Rounded up: the bound still holds.
    return [start, list(value.elements.shape), value.dtype, float(f"{value.rounding * 1.01:.3g}")]


def families() -> dict[str, list[Overload]]:
    found: dict[str, list[Overload]] = {}
    for overload in declared_operators():
        if overload.declaration.form == "functional":
            found.setdefault(overload.family, []).append(overload)
    chosen = [a for a in sys.argv[1:] if not a.startswith("-")]
    return {name: found[name] for name in chosen or sorted(found)}


def compare(path: Path, index: dict[str, Any], memory: bytes) -> list[str]:
    """What the stored file says otherwise than PyTorch does now."""
    stored = oracle.read_family(path)
    if sorted(stored) != sorted(index):
        return [f"{path.name} is of other operators"]
    differences = []
    for name, entries in index.items():
        for now, before in zip(entries, stored[name], strict=False):
            values = tuple(oracle._stored_value(memory, *place) for place in now.get("values", ()))
            try:
                oracle.assert_agrees(
                    Outcome(now.get("refusal", ""), tuple(now.get("layouts", ())), values),
                    Outcome(before.get("refusal", ""), tuple(before.get("layouts", ())), tuple(before["values"])),
                    f"{name}{now['sample']}",
                )
            except AssertionError as difference:
                differences.append(str(difference))
        said_now = [
            [e["sample"], e.get("strided", {k: e[k] for k in ("refusal", "layouts") if k in e})] for e in entries
        ]
        if json.dumps(said_now) != json.dumps([[e["sample"], e["strided"]] for e in stored[name]]):
            differences.append(f"{name} has other samples, or other layouts")
    return differences


def spoken(entry: dict[str, Any]) -> list[Any]:
    """A sample's words, and what is said of it with gaps in memory."""
    return [
        entry["sample"],
        entry["recorded"],
        entry.get("strided") or {k: entry[k] for k in ("refusal", "layouts") if k in entry},
    ]


def main() -> int:
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    status = 0
    for family, overloads in families().items():
        index, memory = record(overloads)
        path = FOLDER / f"{family}.npz"
        if "--check" in sys.argv:
            for difference in compare(path, index, memory):
                print(difference)
                status = 1
        else:
            text = json.dumps(index, separators=(",", ":")).encode()
            np.savez_compressed(path, index=np.frombuffer(text, np.uint8), elements=np.frombuffer(memory, np.uint8))
            print(f"{path.name}: {len(index)} operators, {math.ceil(path.stat().st_size / 1024)} KiB")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
