"""Backends that prove the contract take the exam: one of immutable buffers, one with the contract's attributes only.

Both have every kernel. Of each family some operators are examined here, all of them by ``./dev exam boxed`` and
``./dev exam strict``.
"""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import pytest

import mt_core
from mt_core.dispatch.registry import find_overload
from mt_core.testing import BackendExam, read_gaps
from mt_core.testing.proofs import AsksNothingElse, registered_proof
from mt_core.testing.strict_backend import asked_for, forget_asked, names_of_contract

for _name in ("boxed", "strict"):
    registered_proof(_name)
#: Of an operator family, one operator in so many is examined by default, and at least one.
SHARE = 5


def share_of(operators: list[str], check: str) -> list[str]:
    """Of each family every so manieth operator; which ones differs from check to check."""
    families = collections.defaultdict(list)
    for name in operators:
        families[find_overload(name).family].append(name)
    return [name for members in families.values() for name in members[len(check) % min(SHARE, len(members)) :: SHARE]]


class Share(BackendExam):
    gaps = read_gaps(Path(__file__).with_name("proof_gaps.toml"))

    def operators(self, check: str) -> list[str]:
        return share_of(super().operators(check), check)


class TestBoxedBackend(Share):
    device_type = "boxed"


class TestStrictBackend(AsksNothingElse, Share):
    device_type = "strict"


def test_every_family_is_examined() -> None:
    found = {find_overload(name).family for name in Share().operators("test_agrees_with_reference")}
    assert found == {find_overload(name).family for name in BackendExam().operators("test_agrees_with_reference")}
    assert len(found) >= 18


def test_what_the_contract_does_not_list_is_noticed() -> None:
    class Curious:
        def _check(self, *args: Any) -> None:
            assert getattr(mt_core.ones(2, device="strict")._array, "nbytes", None) is None

    class Examined(AsksNothingElse, Curious):
        pass

    with pytest.raises(AssertionError, match=r"does not list array\.nbytes"):
        Examined()._check()


def test_writing_through_a_view_replaces_the_buffer() -> None:
    x = mt_core.arange(6, device="cpu").to("boxed").view(2, 3)
    before = x._array.box.buffer
    x.t()[1] = 7
    assert x.tolist() == [[0, 7, 2], [3, 7, 5]]
    assert x._array.box.buffer is not before and not x._array.box.buffer.flags.writeable
    x.detach().add_(1)
    assert x.tolist() == [[1, 8, 3], [4, 8, 6]] and x._version == 2


@pytest.mark.parametrize("device", ["boxed", "strict"])
def test_everyday_use(device: str) -> None:
    """Printing, reading, indexing, in place, ``out=``, storage: the same as on the CPU."""

    def use(where: str) -> list[Any]:
        x = mt_core.arange(12, dtype=mt_core.float32).to(where).view(3, 4)
        out = mt_core.empty(0, device=where)
        mt_core.add(x, x.new_ones(4), out=out)
        x[1:, ::2] = -1
        x[x < 0] *= 3
        x.t().mul_(2)
        x.unsqueeze_(0).squeeze_(0)
        twice = x.clone().resize_(2, 4)
        text = repr(x).replace(f", device='{where}:0'", "").replace(f", device='{where}'", "")
        stored = x.untyped_storage()
        return [
            text, x[0, 1].item(), x.tolist(), out.tolist(), twice.tolist(), stored.nbytes(), bool((x > 100).any()),
            x[[0, 2], 1].tolist(), x.sum(0).tolist(), (x @ x.t()).tolist(), mt_core.cat([x, x]).shape,
            x.bfloat16().add(1).tolist(), x.view(mt_core.int32).tolist(), x.storage_offset(), x[1].storage_offset(),
        ]  # fmt: skip

    forget_asked()
    assert use(device) == use("cpu")
    assert not asked_for()


def test_the_contract_describes_what_it_lists() -> None:
    from mt_core.plugins import protocols

    _, of_backend = names_of_contract()
    text = protocols.Backend.__doc__ or ""
    for name in of_backend:
        assert (
            hasattr(protocols.Backend, name) or name in protocols.Backend.__annotations__ or f"\n    {name} : " in text
        )
