"""What the compiler says before jax is asked for; the rest is in `compiled`, which needs jax."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

import mindtorch as torch
from mindtorch import doctor
from mt_core.plugins.discovery import entry_points_of
from mt_core.plugins.probe import probe

REFUSED = [
    ({"mode": "max-autotune"}, RuntimeError, "Unrecognized mode=max-autotune"),
    ({"options": {"tiles": 4}}, RuntimeError, "Unexpected optimization option tiles"),
    ({"options": {"rng": "xorshift"}}, RuntimeError, "Unexpected value of option rng: 'xorshift'"),
]


@pytest.mark.parametrize("backend", ["xla", "openxla"])
@pytest.mark.parametrize("settings, error, text", REFUSED)
def test_settings_that_are_not_served_are_refused(backend, settings, error, text):
    compiled = torch.compile(lambda x: x + 1, backend=backend, **settings)
    with pytest.raises(error, match=text):
        compiled(torch.ones(2))


def test_it_is_a_backend_of_compile():
    assert {"xla", "openxla"} <= set(torch._dynamo.list_backends())


def test_without_jax_the_call_says_so_and_nothing_is_loaded_before():
    program = """
import sys
sys.modules["jax"] = None
import mindtorch as torch
compiled = torch.compile(lambda x: x + 1, backend="xla")
assert "mt_xla.program" not in sys.modules
try:
    compiled(torch.ones(2))
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "jax" in run.stdout, run.stderr


def test_doctor_says_what_jax_sees_or_how_it_is_installed():
    points = [point for point in entry_points_of("mindtorch.compilers") if point.name == "xla"]
    outcomes = {point: probe(point, 60) for point in points}
    (finding,) = [doctor._finding(point, outcome) for point, outcome in outcomes.items()]
    assert finding.sound
    if importlib.util.find_spec("jax") is None:
        assert list(finding.lines())[1].split() == ["jax:", "not", "here:", "pip", "install", "jax"]
    else:
        text = "\n".join(finding.lines())
        assert " cpu: " in text
        for remedy in ("cuda", "tpu"):
            assert f"{remedy}: jax sees none: pip install 'jax[{remedy}" in text or f"{remedy}: 1 device" in text
