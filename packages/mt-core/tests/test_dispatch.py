"""Key sets, the kernel cache, and what happens where nothing is registered."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import mt_core
from mt_core.dispatch import registry
from mt_core.dispatch.registry import KernelCache, find_overload, register_interceptor, register_kernel
from mt_core.keys import AUTOGRAD, BACKENDS, CPU, META, NAMES, WIDTH, describe
from mt_core.state import effective_keys, excluding, including, intern_mode, mode_triple, tls


def test_device_beats_cpu_and_layers_beat_devices() -> None:
    assert CPU == min(BACKENDS)
    assert max(BACKENDS) < AUTOGRAD < 1 << WIDTH
    assert len(NAMES) == len({*NAMES.values()})


def test_describe_lists_highest_first() -> None:
    assert describe(AUTOGRAD | CPU) == "AUTOGRAD | CPU"
    assert describe(0) == "(none)"


def test_modes_add_and_remove_keys() -> None:
    call_keys = intern_mode(META, AUTOGRAD) | CPU | AUTOGRAD
    assert effective_keys(call_keys) == META | CPU
    assert mode_triple(call_keys) == (META, AUTOGRAD, 0)
    assert intern_mode(META, AUTOGRAD) == intern_mode(META, AUTOGRAD)
    assert intern_mode(0, 0) == 0


def test_switches_nest_and_end() -> None:
    before = tls.mode
    with including(META), excluding(AUTOGRAD):
        assert mode_triple(tls.mode)[:2] == (META, AUTOGRAD)
    assert tls.mode == before


def test_switches_belong_to_their_thread() -> None:
    seen = []
    with excluding(AUTOGRAD):
        thread = threading.Thread(target=lambda: seen.append(tls.mode))
        thread.start()
        thread.join()
    assert seen == [0]


def test_a_call_resolves_once() -> None:
    overload = find_overload("add.Tensor")
    x = mt_core.ones(2, 3)
    mt_core.add(x, x)
    entries, callee = dict(overload.cache), overload.cache[x._keys]
    mt_core.add(x, x)
    assert dict(overload.cache) == entries and overload.cache[x._keys] is callee


def test_registration_drops_what_was_resolved() -> None:
    overload = find_overload("neg")
    x = mt_core.ones(2)
    mt_core.neg(x)
    assert len(overload.cache) > 0
    register_interceptor(CPU, "neg", lambda call_keys: lambda self: "handled")
    try:
        assert mt_core.neg(x) == "handled"
    finally:
        register_interceptor(CPU, "neg", None)
    assert mt_core.neg(x).tolist() == [-1, -1]


def test_a_handler_may_leave_an_operator_alone() -> None:
    register_interceptor(CPU, "neg", lambda call_keys: None)
    try:
        assert mt_core.neg(mt_core.ones(1)).item() == -1
    finally:
        register_interceptor(CPU, "neg", None)


def test_missing_kernel_names_operator_keys_and_what_there_is() -> None:
    from mt_core.dispatch import registry

    mt_core.erf(mt_core.ones(1))
    saved = registry.KERNELS[CPU].pop("erf")
    find_overload("erf").cache.clear()
    try:
        with pytest.raises(
            NotImplementedError,
            match=r"could not find kernel for op aten::erf with keys CPU\. It is registered for: (?!.*CPU)",
        ):
            mt_core.erf(mt_core.ones(1))
    finally:
        registry.KERNELS[CPU]["erf"] = saved
        find_overload("erf").cache.clear()


def test_kernels_are_replaced_by_later_ones() -> None:
    from mt_core.dispatch import registry

    mt_core.erf(mt_core.ones(1))
    saved = registry.KERNELS[CPU]["erf"]
    register_kernel(CPU, ("erf",), lambda x: np.full_like(x, 7))
    try:
        assert mt_core.erf(mt_core.ones(1)).item() == 7
    finally:
        registry.KERNELS[CPU]["erf"] = saved
        find_overload("erf").cache.clear()


def test_kernels_leave_no_trace_in_floating_point_state() -> None:
    before = np.geterr()
    with np.errstate(all="raise"):
        assert mt_core.tensor([1.0]).div(0).item() == float("inf")
        assert mt_core.tensor([-1.0]).log().isnan().item()
        assert set(np.geterr().values()) == {"raise"}
    assert np.geterr() == before


def test_overloads_are_called_by_schema_names() -> None:
    x = mt_core.ones(2)
    assert find_overload("add.Tensor")(self=x, other=x, alpha=3).tolist() == [4, 4]
    with pytest.raises(KeyError, match="unknown operator no_such"):
        find_overload("no_such")


def test_the_cache_is_a_plain_dict_lookup() -> None:
    assert KernelCache.__getitem__ is dict.__getitem__


def test_tensors_on_two_devices() -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        mt_core.ones(2) + mt_core.ones(2, device="meta")


def test_a_room_that_is_loaded_is_not_looked_into_again(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.load_family("mt_core.shape_rules", "reduction")
    monkeypatch.setattr(registry, "family_modules", lambda package, family: pytest.fail("looked into again"))
    registry.load_family("mt_core.shape_rules", "reduction")


def test_interceptors_are_asked_for_while_another_thread_enters_some() -> None:
    key, is_over = -5, threading.Event()  # no tensor has this key
    table = registry.INTERCEPTORS.setdefault(key, {})

    def enter() -> None:
        number = 0
        while not is_over.is_set():
            number += 1
            table[f"test::{number % 100}"] = None  # type: ignore[assignment]
            table.pop(f"test::{(number + 50) % 100}", None)

    thread, interval = threading.Thread(target=enter), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        assert not any(registry.overrides_built_in(key) for _ in range(20_000))
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(interval)
        del registry.INTERCEPTORS[key]
