"""A backend of immutable buffers, and one that shows the contract's attributes only, take the exam in part.

Both have every kernel; `./dev exam` takes an exam whole.
"""

from __future__ import annotations

from typing import Any

import pytest

import mt_core
from mt_core.plugins.discovery import register_backend
from mt_core.testing import BackendExam
from mt_core.testing.boxed_backend import BoxedBackend
from mt_core.testing.strict_backend import StrictArray, StrictBackend, names_of_contract

BOXED, STRICT = BoxedBackend(), StrictBackend()
register_backend(BOXED)
register_backend(STRICT)
#: One operator in so many is examined by default.
SHARE = 40


class Share(BackendExam):
    """Every so manieth operator; which ones differs from check to check."""

    def pytest_generate_tests(self, metafunc: Any) -> None:
        super().pytest_generate_tests(metafunc)
        metafunc._calls[:] = [
            call
            for number, call in enumerate(metafunc._calls)
            if (number + len(metafunc.function.__name__)) % SHARE == 0 or len(metafunc._calls) < SHARE
        ]


class TestBoxedBackend(Share):
    device_type = "boxed"


class TestStrictBackend(Share):
    device_type = "strict"

    def _check(self, *args: Any) -> None:
        StrictArray.asked.clear()
        vars(STRICT)["asked"].clear()
        super()._check(*args)
        assert not StrictArray.asked and not vars(STRICT)["asked"]


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

    StrictArray.asked.clear()
    vars(STRICT)["asked"].clear()
    assert use(device) == use("cpu")
    assert not StrictArray.asked and not vars(STRICT)["asked"]


def test_the_contract_describes_what_it_lists() -> None:
    from mt_core.plugins import protocols

    _, of_backend = names_of_contract()
    text = protocols.Backend.__doc__ or ""
    for name in of_backend:
        assert (
            hasattr(protocols.Backend, name) or name in protocols.Backend.__annotations__ or f"\n    {name} : " in text
        )
