"""`torch.utils._traceback`, and what PyTorch's modules keep below ``torch._*`` for programs that describe calls."""

from __future__ import annotations

import copyreg
import pickle
import traceback
from typing import Any

import pytest

import mindtorch as torch
from mindtorch import _prims_common
from mindtorch._prims_common import dtype_to_type
from mindtorch.utils import _traceback
from mindtorch.utils._traceback import CapturedTraceback
from mindtorch.utils.checkpoint import _infer_device_type

_SOURCE = """
def f(x):
    def g(x):
        raise RuntimeError  # here

    return g(x) + 1
"""


def _captured(**how: Any) -> CapturedTraceback:
    return CapturedTraceback.extract(**how)


def test_calls_are_captured_and_let_go() -> None:
    found = _captured()
    assert [frame.name for frame in found.summary()][-2:] == ["test_calls_are_captured_and_let_go", "_captured"]
    assert found.format()[-1].endswith("return CapturedTraceback.extract(**how)\n")
    assert [frame.name for frame in _captured(skip=1).summary()][-1] == "test_calls_are_captured_and_let_go"
    assert [lines[-1] for lines in CapturedTraceback.format_all([found, found])] == [found.format()[-1]] * 2
    assert pickle.loads(pickle.dumps(found)).format() == []
    found.cleanup()
    assert found.format() == []
    with pytest.raises(NotImplementedError, match="TorchScript"):
        _captured(script=True)


def test_lines_of_generated_programs_show() -> None:
    program: dict[str, Any] = {}
    exec(_SOURCE, {"__compile_source__": _SOURCE}, program)  # noqa: S102
    with pytest.raises(RuntimeError) as caught, _traceback.report_compile_source_on_error():
        program["f"](1)
    shown = traceback.extract_tb(caught.value.__traceback__)
    lines = [(f.name, f.lineno, f.line) for f in shown][-2:]
    assert lines == [("f", 6, "return g(x) + 1"), ("g", 4, "raise RuntimeError  # here")]
    assert _traceback.format_traceback_short(caught.value.__traceback__).endswith(":4 in g")


def test_file_names_are_shortened() -> None:
    frame = traceback.FrameSummary(torch.__file__, 3, "foo", line="x")
    assert _traceback.format_frame(frame) == "__init__.py:3 in foo"
    assert _traceback.format_frame(frame, line=True) == "x  # __init__.py:3 in foo"
    assert _traceback.shorten_filename("/tmp/a/b.py", base="/tmp/c") == "a/b.py"
    assert _traceback.shorten_filename("rel.py") == "rel.py"


def test_calls_are_rendered_without_elements() -> None:
    x = torch.zeros(3, 2, dtype=torch.float64)
    text = torch._utils.render_call(torch.sum, [x, [torch.ones(())]], {"dim": 0})
    assert text == "torch.sum(tensor([...], size=(3, 2), dtype=torch.float64), [tensor(1., size=())], dim=0)"


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [(torch.bool, bool), (torch.uint16, int), (torch.float8_e5m2, float), (torch.complex32, complex)],
)
def test_dtypes_have_numbers(dtype: torch.dtype, kind: type) -> None:
    assert dtype_to_type(dtype) is kind


def test_some_dtypes_have_no_numbers() -> None:
    for dtype in (torch.bits8, torch.qint8, torch.int4, torch.uint1):
        with pytest.raises(ValueError, match="Invalid dtype!"):
            dtype_to_type(dtype)
    with pytest.raises(AssertionError, match="Expected torch.dtype, got <class 'str'>"):
        dtype_to_type("x")


def test_real_and_complex_dtypes_correspond() -> None:
    from_real = _prims_common.corresponding_complex_dtype
    pairs = [(torch.float16, torch.complex32), (torch.float32, torch.complex64), (torch.float64, torch.complex128)]
    assert all(from_real(a) is b and _prims_common.corresponding_real_dtype(b) is a for a, b in pairs)
    assert from_real(torch.bfloat16) is torch.complex64
    for function, dtype in ((from_real, torch.complex64), (_prims_common.corresponding_real_dtype, torch.float32)):
        with pytest.raises(KeyError):
            function(dtype)


def test_functions_from_before_operators() -> None:
    from mindtorch.autograd._functions import Resize

    x = torch.arange(6.0, requires_grad=True)
    y = Resize.apply(x, (2, 3))
    assert y.shape == (2, 3) and y._base is x and y.grad_fn.name() == "ResizeBackward"
    (y * y).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 2, 4, 6, 8, 10]
    assert Resize.apply(x.detach().view(2, 3).t(), (6,)).tolist() == [0, 3, 1, 4, 2, 5]
    with pytest.raises(RuntimeError, match=r"requested resize to 4x2 \(8 elements in total\), but the given tensor"):
        Resize.apply(x, (4, 2))


def test_the_standard_basis() -> None:
    from mindtorch.autograd.functional import _construct_standard_basis_for

    x, y = torch.zeros(2), torch.zeros(1, dtype=torch.float64)
    first, second = _construct_standard_basis_for((x, y), (2, 1))
    assert (first.dtype, second.dtype) == (torch.float32, torch.float64)
    assert torch.cat([first, second.float()], 1).equal(torch.eye(3))


def test_the_device_type_of_arguments() -> None:
    assert _infer_device_type({"a": torch.ones(2, device="meta")}, torch.ones(2)) == "meta"
    assert torch._C._get_privateuse1_backend_name() == "privateuseone"


def test_what_lists_members_finds_those_that_are_there() -> None:
    x = torch.ones(2, 2)
    assert all(hasattr(x, name) for name in dir(x) if name != "imag")
    assert "__cuda_array_interface__" not in dir(x)


def test_tensors_have_no_slots_of_their_own() -> None:
    class Sub(torch.Tensor):
        __slots__ = ("own",)

    assert copyreg._slotnames(torch.Tensor) == [] and copyreg._slotnames(Sub) == ["own"]  # type: ignore[attr-defined]
