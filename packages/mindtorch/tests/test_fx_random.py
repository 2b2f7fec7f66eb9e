"""Random modules traced: their graphs read as PyTorch's, and compute what the modules do in every form."""

from __future__ import annotations

import copy
import io
import json
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch import fx
from mt_core import pytree

SNAPSHOTS = Path(__file__).parent / "snapshots"
sys.path.insert(0, str(SNAPSHOTS))

import fx_random  # noqa: E402 - found beside the snapshot

STORED = json.loads((SNAPSHOTS / "fx_random.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", range(fx_random.COUNT))
def test_what_is_printed_is_what_pytorch_prints(seed):
    assert fx_random.digests(torch, seed) == STORED[str(seed)]


def _saved(traced):
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def _without_dead_code(traced):
    traced.graph.eliminate_dead_code()
    traced.recompile()
    return traced


FORMS = {
    "itself": lambda traced, seed: traced,
    "interpreted": lambda traced, seed: lambda *inputs: fx.Interpreter(traced).run(*inputs),
    "transformed": lambda traced, seed: fx.Transformer(traced).transform(),
    "traced again": lambda traced, seed: fx.symbolic_trace(traced),
    "pickled": lambda traced, seed: pickle.loads(pickle.dumps(traced)),
    "saved": lambda traced, seed: _saved(traced),
    "copied": lambda traced, seed: copy.deepcopy(traced),
    "split": lambda traced, seed: fx_random.split(torch, traced, seed),
    "pickled parts": lambda traced, seed: pickle.loads(pickle.dumps(fx_random.split(torch, traced, seed))),
    "without dead code": lambda traced, seed: _without_dead_code(traced),
    "scripted": lambda traced, seed: torch.jit._script.as_script(traced),
}


def _leaves(result):
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def _same(found, expected):
    mine, theirs = _leaves(found), _leaves(expected)
    return len(mine) == len(theirs) and all(
        torch.equal(a, b) or a.isnan().any() and torch.equal(a.nan_to_num(), b.nan_to_num())
        for a, b in zip(mine, theirs, strict=True)
    )


@pytest.mark.parametrize("seed", range(0, fx_random.COUNT, 3))
def test_graphs_compute_what_the_module_does_in_every_form(seed):
    module = fx_random.drawn(torch, seed)
    inputs = torch.randn(3, 4), torch.randn(3, 4)
    expected = module(*inputs)
    traced = fx.symbolic_trace(module)
    traced.graph.lint()
    wrong = [name for name, form in FORMS.items() if not _same(form(traced, seed)(*inputs), expected)]
    assert wrong == []


def test_one_graph_runs_in_many_threads():
    module = fx_random.drawn(torch, 5)
    traced = fx.symbolic_trace(module)
    inputs = [(torch.randn(3, 4), torch.randn(3, 4)) for _ in range(32)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda given: traced(*given), inputs))
        stepped = list(pool.map(lambda given: fx.Interpreter(traced).run(*given), inputs))
    for given, one, other in zip(inputs, found, stepped, strict=True):
        assert _same(one, module(*given))
        assert _same(other, module(*given))
