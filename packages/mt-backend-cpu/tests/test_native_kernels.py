"""Kernels in C: compiled here, entered through the C interface, and refused where they do not fit."""

from __future__ import annotations

import ctypes
import doctest
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import mt_core as mt
from mt_core.devices import backend_key
from mt_core.dispatch.kernel import Kernel
from mt_core.dispatch.lookup import kernels_of
from mt_core.dispatch.registry import KERNELS, OVERLOADS, find_overload
from mt_core.plugins.errors import PluginError
from mt_core.plugins.native import ABI, NativeKernel, header_folder, load_native
from mt_core.plugins.native_abi import DLDataType, DLTensor

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
SOURCE = Path(__file__).with_name("native_kernels.c")


def compiled(source: Path, folder: Path, *options: str) -> Path:
    library = folder / f"{source.stem}{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}"
    command = [COMPILER, "-shared", "-fPIC", "-O1", f"-I{header_folder()}", *options, str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(
        SOURCE, tmp_path_factory.mktemp("native"), "-Wall", "-Werror", "-Wno-unused-parameter", "-std=c11", "-lm"
    )


@pytest.fixture
def load(library: Path) -> Iterator[Callable[..., list[str]]]:
    """`load_native` of the library, for one test."""
    table = KERNELS.setdefault(backend_key("cpu"), {})
    touched: dict[str, list[Kernel]] = {}

    def load(**kernels: NativeKernel) -> list[str]:
        named = {
            ".".join(part for part in name.rpartition("__")[::2] if part): kernel for name, kernel in kernels.items()
        }
        for name in named:
            touched.setdefault(name, kernels_of(find_overload(name), backend_key("cpu")))
        return load_native(library, named)

    yield load
    for name, before in touched.items():
        table[name] = before
    forget()


def forget() -> None:
    """Forms of an operator that were made from its former kernel must go too."""
    for overload in OVERLOADS.values():
        overload.cache.clear()


def count(library: Path, which: int) -> int:
    function = ctypes.CDLL(str(library)).toy_count
    function.restype = ctypes.c_int64
    return function(which)


ADD = NativeKernel("toy_add_f32", dtypes=("float32",))
ROW_SUM = NativeKernel("toy_row_sum_f32", dtypes=("float32",), layout="row_major")


def test_an_elementwise_kernel_is_entered_and_right(load, library) -> None:
    assert load(add__Tensor=ADD) == ["add.Tensor"]
    before = count(library, 0)
    x, y = mt.arange(6.0).reshape(2, 3), mt.tensor([10.0, 20.0, 30.0])
    assert mt.add(x, y).tolist() == [[10.0, 21.0, 32.0], [13.0, 24.0, 35.0]]
    assert (x.t() + x.t()).tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
    assert mt.add(y, y, alpha=-0.5).tolist() == [5.0, 10.0, 15.0]
    assert (y + 1).tolist() == [11.0, 21.0, 31.0]
    assert mt.add(x[:, 1:2].expand(2, 4), x[1, 0]).tolist() == [[4.0] * 4, [7.0] * 4]
    assert mt.add(mt.ones(0, 3), y).shape == (0, 3)
    z = y.clone()
    z.add_(y)
    out = mt.empty(3)
    mt.add(y, y, out=out)
    assert z.tolist() == out.tolist() == [20.0, 40.0, 60.0]
    assert count(library, 0) >= before + 8


def test_other_dtypes_do_not_reach_it(load, library) -> None:
    load(add__Tensor=ADD)
    before = count(library, 0)
    for dtype in (mt.float64, mt.int64, mt.bfloat16, mt.complex64):
        x = mt.ones(3, dtype=dtype)
        result = x + x
        assert result.dtype is dtype and result.tolist() == [2.0, 2.0, 2.0]
    assert count(library, 0) == before


def test_dtypes_that_no_kernel_takes_are_refused(load) -> None:
    """Where the dispatcher has asked already, the kernel asks once more: its function trusts what it gets."""
    load(add__Tensor=ADD)
    kernel = KERNELS[backend_key("cpu")]["add.Tensor"][0].function
    with pytest.raises(NotImplementedError, match="toy_add_f32 of .* takes self of float32, not float64"):
        kernel(np.ones(3), np.ones(3), 1)


def test_a_reduction_gets_lists_flags_and_dtypes(load, library) -> None:
    load(sum__dim_IntList=ROW_SUM)
    before = count(library, 1)
    x = mt.arange(12.0).reshape(2, 2, 3)
    assert x.sum(-1).tolist() == [[3.0, 12.0], [21.0, 30.0]]
    assert x.sum(2, keepdim=True).shape == (2, 2, 1)
    assert x.transpose(0, 1).sum(-1).tolist() == [[3.0, 21.0], [12.0, 30.0]]
    assert x.sum([-1], dtype=mt.float32).tolist() == [[3.0, 12.0], [21.0, 30.0]]
    assert count(library, 1) == before + 4


def test_a_status_is_an_error_with_its_message(load) -> None:
    load(sum__dim_IntList=ROW_SUM, cat=NativeKernel("toy_cat_f32", dtypes=("float32",), layout="row_major"))
    x = mt.ones(2, 3)
    with pytest.raises(NotImplementedError, match="toy_row_sum_f32 sums rows, not 1 dimensions from 0 on"):
        x.sum(0)
    with pytest.raises(RuntimeError, match="the sum of floats is no number of kind 0"):
        x.sum(1, dtype=mt.int64)
    with pytest.raises(RuntimeError, match="toy_cat_f32 of .* failed with status 77"):
        mt.cat([x, x], 1)
    assert x.sum(1).tolist() == [3.0, 3.0]


# Kernels that write into what is there


ADD_IN_PLACE = NativeKernel("toy_add_in_place_f32", dtypes=("float32",))
MUL_OUT = NativeKernel("toy_mul_out_f32", dtypes=("float32",), layout="row_major")
INDEX_ADD = NativeKernel(
    "toy_index_add_f32",
    dtypes={"self": ("float32",), "index": ("int64",), "source": ("float32",)},
    layout="row_major",
)
SUB = NativeKernel("toy_sub_f32", dtypes=("float32",))


def test_a_kernel_for_the_in_place_form(load, library) -> None:
    load(add___Tensor=ADD_IN_PLACE)
    before = count(library, 4)
    x, y = mt.arange(6.0).reshape(2, 3), mt.tensor([10.0, 20.0, 30.0])
    version = x._version
    assert x.add_(y) is x and x._version == version + 1
    assert x.tolist() == [[10.0, 21.0, 32.0], [13.0, 24.0, 35.0]]
    assert x.t().add_(x[:, :1].t().clone(), alpha=2).tolist() == [[30.0, 39.0], [41.0, 50.0], [52.0, 61.0]]
    y += 1
    assert y.add_(y).tolist() == [22.0, 42.0, 62.0], "each element is read before it is written"
    assert count(library, 4) == before + 4
    assert (y + y).tolist() == [44.0, 84.0, 124.0] and count(library, 4) == before + 4


def test_what_a_kernel_for_the_in_place_form_is_not_asked(load, library) -> None:
    load(add___Tensor=ADD_IN_PLACE)
    before = count(library, 4)
    x = mt.arange(9.0).reshape(3, 3)
    assert mt.ones(2, dtype=mt.int32).add_(1).tolist() == [2, 2]
    for other, self in (x[:-1], x[1:]), (x.t(), x):
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to"):
            self.add_(other)
    assert count(library, 4) == before
    for wrong, text in (
        (lambda: mt.ones(3).expand(2, 3).add_(1), "more than one element of the written-to tensor"),
        (lambda: mt.ones(3).add_(mt.ones(2, 3)), r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"),
    ):
        with pytest.raises(RuntimeError, match=text):
            wrong()
    assert count(library, 4) == before


def test_a_kernel_for_the_out_form(load, library) -> None:
    load(mul__out=MUL_OUT)
    before = count(library, 5)
    x, y, out = mt.arange(6.0).reshape(2, 3), mt.tensor([1.0, 10.0, 100.0]), mt.empty(2, 3)
    address = out.data_ptr()
    assert mt.mul(x, y, out=out) is out and out.data_ptr() == address
    assert out.tolist() == [[0.0, 10.0, 200.0], [3.0, 40.0, 500.0]]
    strided = mt.zeros(3, 2).t()
    assert mt.mul(x, y, out=strided).tolist() == out.tolist()
    small = mt.empty(0)
    assert mt.mul(x, y, out=small).shape == (2, 3) and mt.mul(x, x, out=x).tolist()[1] == [9.0, 16.0, 25.0]
    assert count(library, 5) == before + 4
    wide = mt.empty(2, 3, dtype=mt.float64)
    assert mt.mul(x, y, out=wide).tolist()[0] == [0.0, 10.0, 400.0]
    assert (x * y).tolist() == wide.tolist() and count(library, 5) == before + 4
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        mt.mul(x, y, out=mt.empty(2, 3, dtype=mt.int64))


def test_a_kernel_of_the_functional_form_fills_given_memory(load, library) -> None:
    load(sub__Tensor=SUB)
    x, y, out = mt.tensor([5.0, 7.0]), mt.tensor([1.0, 2.0]), mt.empty(2)
    mt.sub(x, y, out=out)
    assert out.tolist() == [4.0, 5.0] and count(library, 10) == out.data_ptr()
    x.sub_(y, alpha=2)
    assert x.tolist() == [3.0, 3.0]
    assert x.sub_(1).tolist() == [2.0, 2.0]
    column = mt.zeros(3, 2)[:, 0]
    assert mt.sub(mt.ones(3), 3, out=column).tolist() == [-2.0, -2.0, -2.0]
    load(sum__dim_IntList=ROW_SUM)
    sums = mt.empty(2)
    assert mt.sum(mt.ones(2, 3), 1, out=sums) is sums and sums.tolist() == [3.0, 3.0]


def test_a_failing_kernel_leaves_what_it_was_to_write(load, library) -> None:
    load(index_add_=INDEX_ADD)
    x = mt.zeros(4)
    assert x.index_add_(0, mt.tensor([1, 3, 1]), mt.ones(3), alpha=2).tolist() == [0.0, 4.0, 0.0, 2.0]
    strided = mt.zeros(4, 2)[:, 1]
    assert strided.index_add_(0, mt.tensor([0]), mt.ones(1)).tolist() == [1.0, 0.0, 0.0, 0.0]
    version = x._version
    with pytest.raises(IndexError, match="index 4 is out of range"):
        x.index_add_(0, mt.tensor([0, 4]), mt.ones(2))
    assert x.tolist() == [0.0, 4.0, 0.0, 2.0] and x._version == version
    before = count(library, 7)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x.index_add_(0, mt.arange(4), x)
    assert count(library, 7) == before, "what is read must lie elsewhere"


# Composites, and several results


def test_a_kernel_for_a_whole_composite_with_several_results(load, library) -> None:
    load(sort=NativeKernel("toy_sort_f32", dtypes=("float32",), layout="row_major"))
    before = count(library, 6)
    result = mt.sort(mt.tensor([3.0, 1.0, 2.0]))
    assert result.values.tolist() == [1.0, 2.0, 3.0] and result.indices.tolist() == [1, 2, 0]
    values, indices = mt.tensor([3.0, 1.0, 2.0]).sort(descending=True)
    assert (values.tolist(), indices.tolist(), indices.dtype) == ([3.0, 2.0, 1.0], [0, 2, 1], mt.int64)
    assert count(library, 6) == before + 2
    with pytest.raises(NotImplementedError, match="toy_sort_f32 sorts vectors"):
        mt.sort(mt.ones(2, 2))


def test_a_kernel_for_a_composite_is_differentiated_by_its_parts(load, library) -> None:
    load(softmax__int=NativeKernel("toy_softmax_f32", dtypes=("float32",), layout="row_major"))
    before = count(library, 8)
    x = mt.arange(6.0).reshape(3, 2)
    expected = mt.softmax(x.double(), 1).float()
    assert mt.allclose(mt.softmax(x, -1), expected) and mt.allclose(
        x.t().softmax(1), mt.softmax(x.double(), 0).t().float()
    )
    assert count(library, 8) == before + 2
    with pytest.raises(ValueError, match="toy_softmax_f32 takes no dimension 0"):
        x.softmax(0)
    pytest.importorskip("mt_autograd")
    x.requires_grad_()
    y = x.softmax(1)
    (y * mt.tensor([1.0, 0.0])).sum().backward()
    p = expected[:, 0] * expected[:, 1]
    assert mt.allclose(x.grad, mt.stack([p, -p], 1)) and count(library, 8) == before + 4


def test_lists_of_tensors_and_dtypes_by_argument(load, library) -> None:
    dtypes = {"self": ("float32",), "index": ("int64",)}
    load(
        cat=NativeKernel("toy_cat_f32", dtypes=("float32",), layout="row_major"),
        gather=NativeKernel("toy_gather", dtypes=dtypes, layout="row_major"),
    )
    x = mt.arange(4.0).reshape(2, 2)
    assert mt.cat([x, x.t(), x[:1]]).tolist() == [[0, 1], [2, 3], [0, 2], [1, 3], [0, 1]]
    assert mt.arange(5.0).gather(0, mt.tensor([4, 0, 2])).tolist() == [4.0, 0.0, 2.0]
    assert count(library, 2) >= 1 and count(library, 3) >= 1


def test_what_cannot_be_loaded(library, tmp_path) -> None:
    with pytest.raises(PluginError, match="nowhere.so cannot be loaded"):
        load_native(tmp_path / "nowhere.so", {})
    with pytest.raises(PluginError, match="has no function toy_nothing, which is to be the kernel of neg"):
        load_native(library, {"neg": NativeKernel("toy_nothing", dtypes=("float32",))})
    with pytest.raises(PluginError, match="there is no operator nonsense"):
        load_native(library, {"nonsense": ADD})
    for name, kind in ("transpose.int", "view"), ("zeros", "factory"):
        with pytest.raises(PluginError, match=f"{kind}: native kernels are for operators that compute elements"):
            load_native(library, {name: ADD})
    for name in "narrow", "equal":
        with pytest.raises(PluginError, match=f"{name} returns something else than new tensors"):
            load_native(library, {name: ADD})
    with pytest.raises(PluginError, match="bernoulli takes a Generator .generator., which the C interface has no way"):
        load_native(library, {"bernoulli": ADD})
    with pytest.raises(PluginError, match="add.Tensor has no tensor argument nope"):
        load_native(library, {"add.Tensor": NativeKernel("toy_add_f32", dtypes={"nope": ("float32",)})})
    with pytest.raises(ValueError, match="'any' or 'row_major'"):
        NativeKernel("f", dtypes=("float32",), layout="columns")
    with pytest.raises(TypeError, match="a collection of names"):
        NativeKernel("f", dtypes="float32")


def test_a_library_for_another_interface(tmp_path) -> None:
    silent, other = tmp_path / "silent.c", tmp_path / "other.c"
    silent.write_text("int nothing;")
    other.write_text(f"#include <stdint.h>\nint32_t mt_kernel_abi(void) {{ return {ABI + 1}; }}")
    with pytest.raises(PluginError, match="does not say for which kernel interface"):
        load_native(compiled(silent, tmp_path), {})
    with pytest.raises(PluginError, match=f"was built for version {ABI + 1} of the kernel interface.*version {ABI}"):
        load_native(compiled(other, tmp_path), {})


def test_the_header_and_python_agree(tmp_path) -> None:
    header = (header_folder() / "mt_kernel.h").read_text()
    assert f"#define MT_KERNEL_ABI {ABI}\n" in header
    source = tmp_path / "sizes.c"
    source.write_text(
        '#include "mt_kernel.h"\nMT_KERNEL_LIBRARY\nMT_EXPORT int64_t size(int i) {'
        "int64_t sizes[] = {sizeof(DLTensor), sizeof(DLDataType), offsetof(DLTensor, dtype), offsetof(DLTensor, shape),"
        "offsetof(DLTensor, strides), offsetof(DLTensor, byte_offset)}; return sizes[i]; }"
    )
    size = ctypes.CDLL(str(compiled(source, tmp_path))).size
    expected = [ctypes.sizeof(DLTensor), ctypes.sizeof(DLDataType)]
    expected += [getattr(DLTensor, name).offset for name in ("dtype", "shape", "strides", "byte_offset")]
    assert [size(i) for i in range(6)] == expected


def test_gradients_pass_a_native_kernel(load) -> None:
    pytest.importorskip("mt_autograd")
    load(add__Tensor=ADD)
    x = mt.ones(3, requires_grad=True)
    mt.add(x, x, alpha=2).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 3.0]


def test_several_threads_may_be_inside(load) -> None:
    load(add__Tensor=ADD)
    x = mt.ones(1000)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: (x + x).sum().item(), range(50)))
    assert results == [2000.0] * 50


def test_the_page_about_native_kernels(load, tmp_path, monkeypatch) -> None:
    """Its C code compiles and its Python code gives what it says."""
    page = Path(__file__).parents[3] / "docs" / "native-kernels.md"
    if not page.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    touched = {"add__Tensor": ADD, "sum__dim_IntList": ROW_SUM, "mul___Tensor": ADD_IN_PLACE}
    load(**touched)  # so that the fixture takes the page's kernels away
    text = page.read_text()
    source = tmp_path / "page.c"
    source.write_text("".join(re.findall(r"^```c\n(.*?)^```", text, re.DOTALL | re.MULTILINE)))
    compiled(source, tmp_path, "-Wall", "-Werror").rename(tmp_path / "page.so")
    monkeypatch.chdir(tmp_path)
    program = "".join(re.findall(r"^```pycon\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    test = doctest.DocTestParser().get_doctest(program, {}, page.name, str(page), 0)
    results = doctest.DocTestRunner().run(test)
    assert results.attempted > 7 and results.failed == 0
