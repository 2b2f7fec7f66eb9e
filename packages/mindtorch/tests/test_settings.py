"""Switches at the top level, the version, and numbers in the place of symbolic ones."""

from __future__ import annotations

import pytest

import mindtorch as torch


@pytest.fixture(autouse=True)
def restored():
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    torch.set_warn_always(False)


@pytest.mark.parametrize(
    ("mode", "level", "warn_only"), [("default", 0, False), ("warn", 1, True), ("error", 2, False)]
)
def test_deterministic_modes_by_name_and_number(mode, level, warn_only):
    for given in mode, level:
        torch.set_deterministic_debug_mode(given)
        assert torch.get_deterministic_debug_mode() == level
        assert torch.are_deterministic_algorithms_enabled() == (level > 0)
        assert torch.is_deterministic_algorithms_warn_only_enabled() == warn_only


@pytest.mark.parametrize(("mode", "error"), [("loud", RuntimeError), (3, RuntimeError), (1.0, TypeError)])
def test_other_deterministic_modes_are_refused(mode, error):
    with pytest.raises(error, match="debug_mode"):
        torch.set_deterministic_debug_mode(mode)


def test_precision_of_products():
    torch.set_float32_matmul_precision("medium")
    assert torch.get_float32_matmul_precision() == "medium"
    with pytest.warns(UserWarning, match="low is not one of"):
        torch.set_float32_matmul_precision("low")
    assert torch.get_float32_matmul_precision() == "medium"


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        (torch.__version__ == "2.13.0", False),
        (torch.__version__ == "2.13.0+mindtorch", True),
        (torch.__version__ != "2.13.0+mindtorch", False),
        (torch.__version__ >= "2.2", True),
        (torch.__version__ >= (2, 13), True),
        (torch.__version__ > (2, 12, 9), True),
        (torch.__version__ < "2.13.1", True),
        (torch.__version__ < "2.13.0.dev1", False),
        (torch.__version__ > "2.13.0rc1", True),
        (torch.__version__ < "2.13.0.post1", True),
        (torch.__version__ < "not a version", True),
        ("2.9" <= torch.__version__, True),
        (torch.__version__ in {"2.13.0+mindtorch"}, True),
    ],
)
def test_the_version_compares_as_a_version(comparison, expected):
    assert comparison is expected


def test_the_version_compares_with_nothing_else():
    assert torch.__version__ != 5
    with pytest.raises(TypeError):
        torch.__version__ < 5  # noqa: B015


def test_symbolic_functions_on_numbers():
    assert torch.sym_int(3.7) == 3
    assert torch.sym_max(2, 3.5) == 3.5
    assert isinstance(torch.sym_max(4, 3.5), float)
    assert torch.sym_min(1, 2) == 1
    assert torch.sym_sum([1, 2]) == 3
    assert torch.sym_not(False) is True
    assert torch.sym_ite(True, "a", "b") == "a"


def test_types_that_stand_for_dtypes():
    values = torch.FloatTensor([1, 2])
    assert values.dtype is torch.float32
    assert isinstance(values, torch.FloatTensor)
    assert not isinstance(values, torch.LongTensor)
    assert not isinstance(values.to("meta"), torch.FloatTensor)
    assert torch.LongTensor(2, 3).shape == (2, 3)
    assert torch.LongTensor(torch.Size((2, 3))).shape == (2, 3)
    assert torch.LongTensor([1.7, 2]).tolist() == [1, 2]
    assert torch.FloatTensor().shape == (0,)
    assert repr(torch.FloatTensor) == "<class 'torch.FloatTensor'>"


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [((2.5,), {}, TypeError), (([[1], [2, 3]],), {}, ValueError), ((2,), {"device": "meta"}, RuntimeError)],
)
def test_types_that_stand_for_dtypes_refuse(arguments, options, error):
    with pytest.raises(error):
        torch.FloatTensor(*arguments, **options)


def test_predicates():
    tensor = torch.tensor([1.0])
    assert torch.is_tensor(tensor)
    assert not torch.is_tensor([1.0])
    assert torch.is_storage(tensor.untyped_storage())
    assert torch.typename(tensor) == "torch.FloatTensor"
    assert torch.typename(3) == "int"
    assert torch.typename(len) == "len"


def test_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("number", "error"), [(0, RuntimeError), (-1, RuntimeError), (1.5, TypeError), ("2", TypeError)]
)
def test_numbers_of_threads_that_make_no_sense(number, error):
    for setter in torch.set_num_threads, torch.set_num_interop_threads:
        with pytest.raises(error, match=r"set_num_(interop_)?threads expects"):
            setter(number)


def test_the_default_device():
    assert torch.get_default_device() == torch.device("cpu")
    torch.set_default_device("meta")
    try:
        assert torch.get_default_device() == torch.device("meta")
        assert torch.ones(2).device.type == "meta"
        with torch.device("cpu"):
            assert torch.ones(2).device.type == "cpu"
        assert torch.ones(2).device.type == "meta"
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device.type == "cpu"


def test_the_default_type():
    for double in torch.DoubleTensor, "torch.DoubleTensor":
        torch.set_default_tensor_type(double)
        try:
            assert torch.ones(1).dtype is torch.float64
        finally:
            torch.set_default_tensor_type(torch.FloatTensor)
    for wrong in torch.LongTensor, "torch.Nonsense", 3:
        with pytest.raises(TypeError):
            torch.set_default_tensor_type(wrong)


def test_libraries_that_are_absent_can_only_be_declined() -> None:
    torch.jit.enable_onednn_fusion(False)
    assert not torch.jit.onednn_fusion_enabled()
    with pytest.raises(NotImplementedError, match="enable_onednn_fusion is not supported"):
        torch.jit.enable_onednn_fusion(True)
    with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_OFF):
        pass
    with (
        pytest.raises(NotImplementedError, match="mkl.verbose is not supported"),
        torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON),
    ):
        pass
