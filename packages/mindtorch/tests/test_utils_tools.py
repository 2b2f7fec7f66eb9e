"""``torch._utils`` and small tools of ``torch.utils``: tensors as one and back, devices, hooks, modules of names."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mindtorch as torch
from mindtorch import _utils

SHAPES = st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=5)


@given(SHAPES)
def test_flattened_tensors_come_back(shapes: list[list[int]]) -> None:
    tensors = [torch.randn(shape) for shape in shapes]
    flat = _utils._flatten_dense_tensors(tensors)
    assert flat.shape == (sum(tensor.numel() for tensor in tensors),)
    back = _utils._unflatten_dense_tensors(flat, tensors)
    assert all(torch.equal(a, b) for a, b in zip(back, tensors, strict=True))
    flat.zero_()
    assert not any(tensor.any() for tensor in back), "they are views"


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from([torch.float32, torch.int64])), max_size=12))
def test_taken_tensors_are_all_there_by_type_and_in_order(asked: list[tuple[int, torch.dtype]]) -> None:
    tensors = [torch.full((n,), i, dtype=d) for i, (n, d) in enumerate(asked)]
    lists = list(_utils._take_tensors(tensors, 40))
    for held in lists:
        assert len({tensor.dtype for tensor in held}) == 1
        assert len(held) == 1 or sum(tensor.numel() * tensor.element_size() for tensor in held) <= 40
    taken = [tensor for held in lists for tensor in held]
    back = _utils._reorder_tensors_as(taken, tensors)
    assert all(a is b for a, b in zip(back, tensors, strict=True))


def test_numbers_of_devices() -> None:
    assert _utils._get_device_index("cuda:1") == 1
    assert _utils._get_device_index(3) == 3
    assert _utils._get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        _utils._get_device_index("cpu")
    with pytest.raises(ValueError, match="Expected a torch.device with a specified index or an integer, but got:None"):
        _utils._get_device_index(None)
    with pytest.raises(RuntimeError, match="'foo' does not have a corresponding module"):
        _utils._get_device_module("foo")
    assert _utils._get_device_module("cuda") is torch.cuda


def test_names() -> None:
    assert _utils._import_dotted_name("mindtorch.nn.Linear") is torch.nn.Linear
    with pytest.raises(RuntimeError, match="dummy base class Stream"):
        _utils._dummy_type("Stream")()

    class Counted:
        n = 3

        @_utils.classproperty
        def twice(cls) -> int:
            return 2 * cls.n

    assert Counted.twice == Counted().twice == 6


def test_the_warning_of_hooks_that_pickling_loses_names_the_line_that_pickles(run_python: Any) -> None:
    """In a process of its own: functions that are asked before calls, once they are there, stand between."""
    printed = run_python("""
        import pickle, warnings
        import mindtorch as torch
        x = torch.ones(2, requires_grad=True)
        x.register_hook(abs)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            pickle.dumps(x)
        print([(warning.filename, warning.lineno) for warning in told])
    """)
    assert printed.strip() == "[('<string>', 8)]"


def test_hooks_that_pickling_loses_are_warned_of_unless_that_is_meant() -> None:
    def doubled(gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2

    x = torch.ones(2, requires_grad=True)
    torch.utils.hooks.warn_if_has_hooks(torch.ones(2))
    torch.utils.hooks.warn_if_has_hooks(x)
    x.register_hook(doubled)
    for tells in (torch.utils.hooks.warn_if_has_hooks, pickle.dumps):
        with pytest.warns(UserWarning, match="backward hook .*doubled.* will not be serialized") as told:
            tells(x)
        assert len(told) == 1
        assert tells is pickle.dumps or told[0].filename == __file__
    assert torch.utils.hooks.unserializable_hook(doubled) is doubled
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.utils.hooks.warn_if_has_hooks(x)
        pickle.dumps(x)


def test_the_module_of_a_name_is_set() -> None:
    def named() -> None: ...

    torch.utils.set_module(named, "elsewhere")
    assert named.__module__ == "elsewhere"
    with pytest.raises(TypeError, match="The mod argument should be a string"):
        torch.utils.set_module(named, 3)  # type: ignore[arg-type]


def test_devices_of_dlpack_have_names() -> None:
    kinds = torch.utils.dlpack.DLDeviceType
    kind, index = torch.ones(2).__dlpack_device__()
    assert kind is kinds.kDLCPU and index == 0
    assert (kinds.kDLCUDA, kinds.kDLMetal, kinds.kDLExtDev, kinds.kDLMAIA) == (2, 8, 12, 17) and len(kinds) == 15
