"""The backends that prove the contract, and what is asked of each: the tests of the core and `./dev exam` share them.

``null``
    Two devices that allocate and record, and do not calculate.
``boxed``
    Arrays are mutable boxes around immutable buffers.
``strict``
    What the contract does not list is refused, and noted: a check fails in which the core asked for it.
``basis``
    Ten kernels, and what is written in them.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ..plugins.discovery import register_backend
from .basis_backend import BasisBackend, OfTheBasis
from .boxed_backend import BoxedBackend
from .null_backend import NullBackend
from .strict_backend import StrictBackend, asked_for, forget_asked

__all__ = ["NAMES", "AsksNothingElse", "Proof", "registered_proof"]


class AsksNothingElse:
    """Stands in front of an exam: each check asks a `StrictBackend` for nothing that the contract does not list."""

    def _check(self, *args: Any) -> None:
        forget_asked()
        super()._check(*args)  # type: ignore[misc]  # the exam's, which stands behind this class
        assert not asked_for(), f"the contract does not list {', '.join(asked_for())}"


class Proof(NamedTuple):
    """A backend, the classes that its exams have in front, and whether its results have elements."""

    backend: Any
    bases: tuple[type, ...] = ()
    calculates: bool = True


NAMES = ("null", "boxed", "strict", "basis")


@functools.cache
def registered_proof(device_type: str) -> Proof:
    """The proof of that name, with its backend registered; a process has one backend of each name."""
    made = _make(device_type)
    register_backend(made.backend)
    return made


def _make(device_type: str) -> Proof:
    if device_type == "null":
        return Proof(NullBackend(devices=2), calculates=False)
    if device_type == "boxed":
        return Proof(BoxedBackend())
    if device_type == "basis":
        return Proof(BasisBackend(), (OfTheBasis,))
    return Proof(StrictBackend(), (AsksNothingElse,))
