"""Writing a snapshot, or comparing with the stored one: what the `make_*.py` scripts beside this file share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch


def write_or_check(path: Path, arrays: Mapping[str, np.ndarray], tolerances: Mapping[str, float]) -> None:
    """Store the arrays, or with `--check` on the command line compare them with those stored.

    Parameters
    ----------
    tolerances
        For each array the largest absolute difference allowed.

    Raises
    ------
    SystemExit
        An array differs by more than that, in its shape or in its values.
    """
    parser = argparse.ArgumentParser(description=f"Write {path.name}.")
    parser.add_argument("--check", action="store_true", help="compare with the stored snapshot and write nothing")
    if parser.parse_args().check:
        check(path, arrays, tolerances)
    else:
        np.savez_compressed(path, **arrays)
        print(f"wrote {path.name} with torch {torch.__version__}")


def check(path: Path, arrays: Mapping[str, np.ndarray], tolerances: Mapping[str, float]) -> None:
    """Compare with a stored snapshot; report every array before failing."""
    print(f"{path.name}, torch {torch.__version__}")
    with np.load(path) as stored:
        failed = [name for name in stored.files if not agrees(name, arrays[name], stored[name], tolerances[name])]
    if failed:
        raise SystemExit(f"{path.name}: {', '.join(failed)} differ from PyTorch's by more than is allowed")


def agrees(name: str, computed: np.ndarray, stored: np.ndarray, tolerance: float) -> bool:
    """Print how far an array is from the stored one, and say whether that is near enough."""
    if computed.shape != stored.shape:
        print(f"  {name}: shape {computed.shape}, stored {stored.shape}")
        return False
    difference = np.abs(computed - stored).max()
    print(f"  {name}: largest difference {difference:.2e}, allowed {tolerance:.0e}")
    return bool(difference <= tolerance)
