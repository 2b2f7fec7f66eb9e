"""The stand-in refuses what CuPy refuses, and gives the numbers that CuPy gives where NumPy gives others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FAKE = Path(__file__).parent / "fake"
REFUSED = {
    "np.add(x, np.ones(3))": "no operand is NumPy's",
    "x + np.ones(3)": "no operand is NumPy's",
    "np.asarray(x)": "no conversion to the host but by get",
    "cp.errstate": "a name that CuPy lacks",
    "cp.lib.stride_tricks.as_strided(x, (1,), (4,), writeable=False)": "a keyword that CuPy lacks",
    "cp.maximum.reduce(x)": "a method of ufuncs that CuPy has not written",
    "cp.logical_not(x.astype('F'))": "no loop",
    "x.flags.writeable": "arrays of a device are always writable",
    "x[np.array([0, 1])]": "no index is NumPy's",
    "cp.add.at(x.astype('b'), cp.asarray([0]), x.astype('b'))": "no atomics",
}
GIVEN = {
    "x[cp.asarray([4, -5])].tolist() == [1.0, 1.0]": "indices wrap",
    "isinstance(x.sum(), cp.ndarray)": "results without dimensions stay arrays",
    "cp.asarray([1.0, float('nan'), float('nan')]).argmax().item() == 2": "any NaN is found",
    "(fake_cupy.COUNTS.clear(), bool(x[0] > 0), fake_cupy.COUNTS['sync'])[-1] == 1": "a truth value waits",
}


def evaluated(expression: str) -> str:
    program = (
        f"import sys; sys.path.insert(0, {str(FAKE)!r})\nimport fake_cupy, numpy as np\ncp = fake_cupy.install()\n"
        f"x = cp.arange(3, dtype='f')\ntry:\n    print(bool({expression}))\n"
        "except (TypeError, AttributeError, NotImplementedError) as error:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("expression", REFUSED)
def test_refuses(expression: str) -> None:
    assert evaluated(expression) == "refused", REFUSED[expression]


@pytest.mark.parametrize("expression", GIVEN)
def test_gives(expression: str) -> None:
    assert evaluated(expression) == "True", GIVEN[expression]
