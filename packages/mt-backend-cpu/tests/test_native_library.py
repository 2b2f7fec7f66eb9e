"""The native library: exact at every level, the same wherever an element stands, careful with what it is given."""

from __future__ import annotations

import importlib.util
import math
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mt_backend_cpu import native
from mt_backend_cpu.native_sources import changed_since, source_hash
from mt_core.dtypes import bfloat16

PACKAGE = Path(__file__).parents[1]
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")

Function = Callable[..., Any]


@pytest.fixture(scope="module")
def library() -> Any:
    """The extension module itself, whether kernels use it or not."""
    if importlib.util.find_spec("mt_backend_cpu._native") is None:
        assert COMPILER is None, (
            "there is a compiler, but the native library was not built: install mt-backend-cpu again"
        )
        pytest.skip("there is no C++ compiler")
    module = importlib.import_module("mt_backend_cpu._native")
    assert module.source_hash.partition("-")[0] == source_hash(PACKAGE / "native"), (
        "the native library is not of these sources: install mt-backend-cpu again"
    )
    return module


@pytest.fixture(autouse=True)
def settings(library: Any) -> Iterator[None]:
    level, threads = library.level(), library.num_threads()
    library.use_bfloat16(bfloat16.numpy_dtype)
    yield
    library.use_level(level)
    library.set_num_threads(threads)


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    """Numbers of every exponent, numbers of the usual size, and the special ones."""
    generator = np.random.default_rng(0)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 88.7228, 88.73, -87.4, -103.9, -104.1]
    return np.concatenate([
        generator.integers(0, 1 << 32, 1 << 17, np.uint64).astype(np.uint32).view(np.float32),
        generator.uniform(-12, 12, 1 << 16).astype(np.float32),
        np.array(special, np.float32),
    ])  # fmt: skip


def in_ulp(found: np.ndarray, exact: np.ndarray) -> float:
    """The largest error in units in the last place; what both have at no number, or beyond all, has none.

    A zero of the other sign is infinitely wrong.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = exact.astype(np.float32)
        units = np.spacing(np.minimum(np.abs(wanted), np.finfo(np.float32).max)).astype(np.float64)
        errors = np.abs(found.astype(np.float64) - exact) / units
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    errors[same] = 0
    errors[(wanted == 0) & (np.signbit(found) != np.signbit(wanted))] = math.inf
    return float(np.max(np.where(np.isnan(errors), math.inf, errors)))


_erf = np.vectorize(math.erf, otypes=[np.float64])

#: Function -> (the same in double precision, its bound in ulp).
EXACT: dict[str, tuple[Function, float]] = {
    "exp": (np.exp, 1.5), "tanh": (np.tanh, 2.0), "erf": (_erf, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_functions_are_exact_at_every_level(library: Any, samples: np.ndarray, name: str) -> None:
    reference, bound = EXACT[name]
    x = samples[:: 4 if name == "erf" else 1]
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.float64))
    for level in library.levels():
        library.use_level(level)
        assert in_ulp(getattr(library, name)(x), exact) <= bound, level


def test_gelu_silu_and_sigmoid_are_as_exact_as_their_parts(library: Any) -> None:
    x = np.linspace(-9, 9, 20_001).astype(np.float32)
    wide = x.astype(np.float64)
    logistic = 1 / (1 + np.exp(-wide))
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)
    normal = 0.5 * (1 + _erf(wide / math.sqrt(2)))
    density = np.exp(-0.5 * wide * wide) / math.sqrt(2 * math.pi)
    expected = {
        "sigmoid": logistic, "silu": wide * logistic, "gelu none": wide * normal,
        "gelu tanh": 0.5 * wide * (1 + np.tanh(inner)), "silu_backward": logistic * (1 + wide * (1 - logistic)),
        "gelu_backward none": normal + wide * density,
    }  # fmt: skip
    for name, exact in expected.items():
        function, *approximate = name.split()
        given = (np.ones_like(x), x) if "backward" in function else (x,)
        for level in library.levels():
            library.use_level(level)
            found = getattr(library, function)(*given, *approximate)
            assert np.max(np.abs(found - exact) / (np.abs(wide) + 1)) < 2.5e-7, (name, level)
    zeros = np.array([0.0, -0.0], np.float32)
    for function in (library.silu, lambda x: library.gelu(x, "none"), lambda x: library.gelu(x, "tanh")):
        assert np.signbit(function(zeros)).tolist() == [False, True]


@given(start=st.integers(0, 130), count=st.integers(0, 200))
def test_a_result_does_not_depend_on_place_and_alignment(library: Any, start: int, count: int) -> None:
    x = np.random.default_rng(1).standard_normal(400).astype(np.float32) * 4
    for function in (library.exp, library.tanh, library.silu, library.erf):
        whole = function(x)[start : start + count]
        np.testing.assert_array_equal(function(x[start : start + count].copy()), whole)
        np.testing.assert_array_equal(function(x[start : start + count]), whole)


def test_a_result_does_not_depend_on_the_number_of_threads(library: Any) -> None:
    x = np.random.default_rng(2).standard_normal((300, 1000)).astype(np.float32)
    weight = np.random.default_rng(3).standard_normal(1000).astype(np.float32)
    results = []
    for threads in (1, 2, 3):
        library.set_num_threads(threads)
        one = library.layer_norm(x, 1000, weight, weight, 1e-5)
        results.append([library.gelu(x, "none"), library.gelu(x.T, "tanh"), library.softmax(x), *one])
    for other in results[1:]:
        for found, expected in zip(other, results[0], strict=True):
            np.testing.assert_array_equal(found, expected)


@given(
    shape=st.lists(st.integers(0, 5), max_size=4), seed=st.integers(0, 1000),
    element=st.sampled_from(["float32", "float16", "bfloat16"]),
)  # fmt: skip
def test_layouts_and_broadcasting_change_nothing(library: Any, shape: list[int], seed: int, element: str) -> None:
    generator = np.random.default_rng(seed)
    kind = bfloat16.numpy_dtype if element == "bfloat16" else np.dtype(element)

    def strided(shape: list[int]) -> np.ndarray:
        """An array of the shape, transposed, turned around and with gaps."""
        order = generator.permutation(len(shape))
        large = generator.standard_normal([2 * shape[i] for i in order]).astype(kind)
        steps = tuple(slice(None, None, int(generator.choice([-2, 2]))) for _ in shape)
        return large[steps].transpose(np.argsort(order)) if shape else large

    x = strided(shape)
    grad = strided([1 if generator.random() < 0.3 else n for n in shape][int(generator.integers(0, 2)) :])
    out = strided(shape)
    plain = np.ascontiguousarray(x).reshape(shape)
    np.testing.assert_array_equal(library.silu(x), library.silu(plain))
    expected = library.silu_backward(np.ascontiguousarray(np.broadcast_to(grad, shape)).reshape(shape), plain)
    np.testing.assert_array_equal(library.silu_backward(grad, x), expected)
    assert library.silu_backward(grad, x, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("element", [np.dtype(np.float16), bfloat16.numpy_dtype], ids=str)
def test_half_types_are_computed_in_single_precision_and_rounded_once(library: Any, element: np.dtype) -> None:
    x = np.arange(1 << 16).astype(np.uint16).view(element)
    with np.errstate(all="ignore"):
        expected = library.tanh(x.astype(np.float32)).astype(element)
        squares = (x.astype(np.float32) * (1 - x.astype(np.float32) ** 2)).astype(element)
    for level in library.levels():
        library.use_level(level)
        found = library.tanh(x)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(found[known].view(np.uint16), expected[known].view(np.uint16))
        # Widened and rounded again, every number but NaN comes back; the product is rounded as NumPy rounds it.
        product = library.tanh_backward(x, x)
        close = np.isfinite(squares)
        gap = np.abs(product[close].astype(np.float32) - squares[close].astype(np.float32))
        assert np.all(gap <= np.abs(squares[close].astype(np.float32)) * 0.01 + 1e-7)


@pytest.mark.parametrize("width", [1, 3, 33, 1000, 5000])
def test_softmax_of_rows(library: Any, width: int) -> None:
    x = np.random.default_rng(width).standard_normal((7, width)).astype(np.float32) * 8
    grad = np.random.default_rng(4).standard_normal((7, width)).astype(np.float32)
    wide = x.astype(np.float64) - x.max(1, keepdims=True)
    log = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    y = np.exp(log)
    for level in library.levels():
        library.use_level(level)
        np.testing.assert_allclose(library.softmax(x), y, rtol=3e-6, atol=1e-12)
        np.testing.assert_allclose(library.log_softmax(x), log, rtol=1e-6, atol=2e-6)
        slope = y * (grad - (grad * y).sum(1, keepdims=True))
        np.testing.assert_allclose(library.softmax_backward(grad, y.astype(np.float32)), slope, atol=1e-6)
        slope = grad - y * grad.astype(np.float64).sum(1, keepdims=True)
        np.testing.assert_allclose(library.log_softmax_backward(grad, log.astype(np.float32)), slope, atol=3e-5)


def test_softmax_of_rows_without_numbers(library: Any) -> None:
    infinite = np.full((1, 40), -np.inf, np.float32)
    one_nan = np.zeros((1, 40), np.float32)
    one_nan[0, 35] = np.nan
    beyond = np.zeros((1, 40), np.float32)
    beyond[0, 3] = np.inf
    for level in library.levels():
        library.use_level(level)
        for rows in (infinite, one_nan, beyond):
            assert np.isnan(library.softmax(rows)).any() and np.isnan(library.log_softmax(rows)).any()
        assert np.isnan(library.softmax(one_nan)).all() and np.isnan(library.log_softmax(one_nan)).all()
        masked = np.zeros((1, 40), np.float32)
        masked[0, 1:] = -np.inf
        np.testing.assert_array_equal(library.softmax(masked)[0, :2], [1, 0])


@pytest.mark.parametrize("width", [1, 5, 768, 10_000])
def test_layer_norm_of_rows(library: Any, width: int) -> None:
    generator = np.random.default_rng(width)
    x = (generator.standard_normal((5, width)) * 3 + 20).astype(np.float32)
    weight, bias = generator.standard_normal((2, width)).astype(np.float32)
    wide = x.astype(np.float64)
    mean, rstd = wide.mean(1), 1 / np.sqrt(wide.var(1) + 1e-5)
    normal = (wide - mean[:, None]) * rstd[:, None]
    for level in library.levels():
        library.use_level(level)
        for scale, shift in ((weight, bias), (weight, None), (None, bias), (None, None)):
            found, means, rstds = library.layer_norm(x, width, scale, shift, 1e-5)
            expected = normal * (1 if scale is None else scale) + (0 if shift is None else shift)
            np.testing.assert_allclose(means, mean, rtol=1e-6)
            np.testing.assert_allclose(rstds, rstd, rtol=1e-5)
            np.testing.assert_allclose(found, expected, atol=2e-5 if width > 1 else 2e-3)


F32 = np.ones((4, 6), np.float32)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("silu", (F32.astype(np.float64),), "float32, bfloat16 or float16"),
        ("silu", (F32.astype(">f4"),), "float32, bfloat16 or float16"),
        ("silu", ([1.0],), "argument 1 must be an array, not list"),
        ("silu", (F32, F32), "takes 1 arguments, not 2"),
        ("silu_backward", (F32, F32.astype(np.float16)), "float32, bfloat16 or float16"),
        ("silu_backward", (F32, np.ones(5, np.float32)), "cannot be broadcast"),
        ("gelu", (F32, "sigmoid"), "'none' or 'tanh'"),
        ("softmax", (F32.T,), "row-major array of float32"),
        ("softmax_backward", (F32, F32[:2]), "one shape"),
        ("softmax", (F32, 2), "no such dimension"),
        ("layer_norm", (F32, 5, None, None, 1e-5), "no rows of 5"),
        ("layer_norm", (F32, 0, None, None, 1e-5), "no rows of 0"),
        ("layer_norm", (F32, 6, F32, None, 1e-5), "argument 3 must have 6 elements"),
        ("use_level", ("v9",), "was not built"),
        ("set_num_threads", (0,), "between 1 and 4096"),
        ("use_bfloat16", (1,), "dtype of bfloat16"),
    ],
)
def test_what_does_not_fit_is_refused(library: Any, name: str, arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        getattr(library, name)(*arguments)


def test_results_go_only_where_they_fit(library: Any) -> None:
    for out in (np.empty((4, 6)), np.empty((4, 5), np.float32), np.broadcast_to(np.float32(0), (4, 6))):
        with pytest.raises((TypeError, ValueError)):
            library.silu(F32, out=out)
    with pytest.raises(TypeError, match="unexpected keyword argument 'where'"):
        library.silu(F32, where=True)
    with pytest.raises(TypeError, match="no keywords"):
        library.softmax(F32, out=F32)


def test_two_python_threads_may_use_one_kernel(library: Any) -> None:
    library.set_num_threads(2)
    x = np.random.default_rng(5).standard_normal(300_000).astype(np.float32)
    expected = library.gelu(x, "none")
    wrong: list[int] = []

    def work() -> None:
        for i in range(10):
            if not np.array_equal(library.gelu(x, "none"), expected):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_computes() -> None:
    program = (
        "import os, numpy as np\nfrom mt_backend_cpu import _native as n\nn.set_num_threads(2)\n"
        "x = np.ones(300_000, np.float32); expected = n.silu(x)\nchild = os.fork()\n"
        "same = np.array_equal(n.silu(x), expected)\n"
        "if child == 0: os._exit(0 if same else 3)\n"
        "assert same and os.waitpid(child, 0)[1] == 0"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def told(setting: str) -> subprocess.CompletedProcess[str]:
    program = "from mt_backend_cpu import native; print(native.library is not None, native.state)"
    environment = {**os.environ, "MINDTORCH_NATIVE": setting}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


def test_the_environment_chooses_the_library(library: Any) -> None:
    assert told("0").stdout.startswith("False not used")
    lowest = library.levels()[0]
    assert told(lowest).stdout.startswith(f"True level {lowest} of ")
    assert "level 'v9' was not built" in told("v9").stderr
    assert native.state == told(os.environ.get("MINDTORCH_NATIVE", "")).stdout.partition(" ")[2].strip()


def test_a_library_of_other_sources_is_not_taken(tmp_path: Path) -> None:
    sources, built = tmp_path / "native", tmp_path / "library.so"
    (sources / "kernels").mkdir(parents=True)
    kernel = sources / "kernels" / "add.cpp"
    kernel.write_text("int add;")
    built.touch()
    os.utime(kernel, ns=(1, 1))
    os.utime(built, ns=(2, 2))
    before = source_hash(sources)
    assert not changed_since(sources, built, before)
    os.utime(kernel, ns=(3, 3))  # a checkout of the same contents
    assert not changed_since(sources, built, before)
    kernel.write_text("int sub;")
    os.utime(kernel, ns=(3, 3))
    assert changed_since(sources, built, before)
    kernel.rename(kernel.with_name("sub.cpp"))
    assert source_hash(sources) != before


def test_what_the_loader_says_of_a_library_of_other_sources(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINDTORCH_NATIVE", raising=False)
    monkeypatch.setattr(native, "changed_since", lambda sources, built, built_from: True)
    with pytest.raises(ImportError, match=r"built from other sources than those beside it: pip install"):
        native._load()
