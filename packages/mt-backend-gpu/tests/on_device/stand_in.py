"""A pytest plugin (``-p stand_in``): `fake_cupy` is CuPy in this process."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fake"))

import fake_cupy

fake_cupy.install()
