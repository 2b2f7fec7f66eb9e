"""Initial values, outputs and gradients of modules against PyTorch's (snapshots/make_modules.py)."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import mt_core
import mt_nn
from mt_core.random import manual_seed

SNAPSHOTS = Path(__file__).parent / "snapshots"


def load_running():
    spec = importlib.util.spec_from_file_location("mt_nn_running", SNAPSHOTS / "running.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


running = load_running()
LINES = running.lines()
STORED = np.load(SNAPSHOTS / "modules.npz")
SCOPE = {
    "nn": mt_nn,
    "rnn": mt_nn.utils.rnn,
    "randn": mt_core.randn,
    "rand": mt_core.rand,
    "randint": mt_core.randint,
    "tensor": mt_core.tensor,
}


@pytest.mark.parametrize("line", LINES)
def test_as_pytorch(line):
    prefix = f"{LINES.index(line)} "
    wanted = {name.removeprefix(prefix): STORED[name] for name in STORED.files if name.startswith(prefix)}
    found = running.run(line, SCOPE, manual_seed)
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=2e-5, atol=2e-6, err_msg=name)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions_by_themselves(dims):
    size = (4, 5, 6)[:dims]
    x = mt_core.randn(2, 4, *size, requires_grad=True)
    conv = getattr(mt_nn, f"Conv{dims}d")(4, 6, 2, stride=2, padding=1, groups=2, bias=False)
    output = conv(x)
    cotangent = mt_core.randn(*output.shape)
    output.backward(cotangent)
    options = {"stride": 2, "padding": 1, "groups": 2}
    of_input = getattr(mt_nn.grad, f"conv{dims}d_input")(x.shape, conv.weight, cotangent, **options)
    of_weight = getattr(mt_nn.grad, f"conv{dims}d_weight")(x, conv.weight.shape, cotangent, **options)
    assert mt_core.allclose(of_input, x.grad, atol=1e-5)
    assert mt_core.allclose(of_weight, conv.weight.grad, atol=1e-5)


def test_signatures_have_types_and_not_their_names() -> None:
    """Libraries that build modules from settings read them: ``inspect.signature(nn.Linear)``."""
    classes = [c for c in vars(mt_nn).values() if isinstance(c, type) and issubclass(c, mt_nn.Module)]
    classes = [c for c in classes if c.__module__.startswith(("mt_nn.modules.", "torch.nn.modules."))]
    assert len(classes) > 150
    for cls in classes:
        # `Module` and the containers name classes that are made after them.
        if cls.__init__.__globals__["__name__"] not in ("mt_nn.modules.module", "mt_nn.modules.container"):
            parameters = inspect.signature(cls).parameters.values()
            named = {p.annotation for p in parameters if isinstance(p.annotation, str)}
            assert named <= {"TransformerEncoderLayer", "TransformerDecoderLayer"}, cls  # classes made after theirs
    assert inspect.signature(mt_nn.Linear).parameters["in_features"].annotation is int
