"""The words at which kernels register are PyTorch's; what has no place here raises by name."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

import mt_core as mt
import mt_library as library
from mt_core.plugins.discovery import register_backend
from mt_core.testing.null_backend import NullBackend

STORED = json.loads((Path(__file__).parent / "snapshots" / "dispatch_keys.json").read_text())
#: What is a device type here and not in PyTorch.
OURS = ("NPU", "npu")
_names = count()


@pytest.fixture
def operator():
    """A fresh operator of one tensor: its library and name."""
    made = library.Library(f"keys{next(_names)}", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.define("told(Tensor x) -> str")
    return made, "f"


def double(x):
    return x + x


def verdict(register, word: str) -> bool:
    """Whether a word is taken for a key, with or without a place here."""
    try:
        register()
    except NotImplementedError as error:
        assert f"dispatch key {word}" in str(error)
    except RuntimeError as error:
        assert word.partition(",")[0] in str(error)
        return False
    return True


@pytest.mark.parametrize("word", sorted(STORED["Library.impl"]))
def test_keys_are_those_of_pytorch(operator, word: str) -> None:
    made, name = operator
    taken = verdict(lambda: made.impl(name, double, word), word)
    assert taken == (STORED["Library.impl"][word] or word == "NPU")
    made.define("g(Tensor x) -> Tensor")
    taken = verdict(lambda: library.impl(f"{made.ns}::g", word, double), word)
    assert taken == (STORED["library.impl"][word] or word in OURS)


@pytest.mark.parametrize("word", ["CPU", "cpu", "CompositeExplicitAutograd", "Autograd", "AutogradCPU", "default"])
def test_a_kernel_for_the_cpu_by_any_word(operator, word: str) -> None:
    pytest.importorskip("mt_backend_cpu")
    made, name = operator
    library.impl(f"{made.ns}::{name}", word, double)
    assert getattr(getattr(library.ops, made.ns), name)(mt.ones(2)).tolist() == [2.0, 2.0]


def test_keys_in_a_list(operator) -> None:
    made, name = operator
    library.register_kernel(f"{made.ns}::{name}", ["CPU", "meta"], lambda x: x.new_empty(7))
    call = getattr(getattr(library.ops, made.ns), name)
    assert call(mt.empty(2, device="meta")).shape == (7,)


@pytest.fixture(scope="module")
def devices() -> list[str]:
    """More third-party devices than there are key bits for them."""
    names = ["alpha", "beta", "gamma", "delta", "epsilon"]
    for name in names:
        register_backend(NullBackend(name))
    return names


def test_one_kernel_for_all_third_parties(operator, devices: list[str]) -> None:
    made, name = operator
    seen = []
    made.impl(name, lambda x: seen.append(x.device.type) or x, "PrivateUse1")
    call = getattr(getattr(library.ops, made.ns), name)
    for device in devices:
        call(mt.empty(2, device=device))
    assert seen == devices
    with pytest.raises(NotImplementedError, match="registered for: PrivateUse1"):
        call(mt.empty(2, device="meta"))


def test_errors_name_the_device_type(operator, devices: list[str]) -> None:
    made, name = operator
    call = getattr(getattr(library.ops, made.ns), name)
    for device in devices:
        with pytest.raises(NotImplementedError, match=rf"with keys PRIVATE \({device}\)"):
            call(mt.empty(2, device=device))


def test_a_device_types_own_kernel_comes_first(operator, devices: list[str]) -> None:
    made, name = operator[0], "told"
    made.impl(name, lambda x: "all", "PrivateUse1")
    library.impl(f"{made.ns}::{name}", "gamma", lambda x: "gamma")
    made.impl(name, lambda x: "xpu", "XPU")
    call = getattr(getattr(library.ops, made.ns), name)
    assert [call(mt.empty(2, device=device)) for device in devices] == ["all", "all", "gamma", "all", "all"]


def test_an_autograd_kernel_for_all_third_parties(operator, devices: list[str]) -> None:
    pytest.importorskip("mt_autograd")
    made, name = operator[0], "told"
    made.impl(name, lambda x: "below", "PrivateUse1")
    made.impl(name, lambda x: "recorded", "AutogradPrivateUse1")
    call = getattr(getattr(library.ops, made.ns), name)
    assert call(mt.empty(2, device="beta", requires_grad=True)) == "recorded"


def test_tags_are_those_of_pytorch() -> None:
    assert [str(tag) for tag in library.ops.aten.add.Tensor.tags] == [
        "Tag.core",
        "Tag.pointwise",
        "Tag.pt2_compliant_tag",
    ]
    assert library.Tag.nondeterministic_seeded in library.ops.aten.bernoulli.default.tags
    assert repr(library.Tag.core) == "<Tag.core: 0>" and int(library.Tag.view_copy) == 19
    assert library.Tag.core != 0 and library.Tag(3) is library.Tag.dynamic_output_shape
    with pytest.raises(TypeError):
        library.Tag.core < library.Tag.out  # noqa: B015


def test_tags_of_ones_own(operator) -> None:
    made, _ = operator
    made.define("g(Tensor x) -> Tensor", tags=(library.Tag.core, library.Tag.pointwise))
    made.define("h(Tensor x) -> Tensor", tags=library.Tag.pt2_compliant_tag)
    own = getattr(library.ops, made.ns)
    assert own.g.default.tags == [library.Tag.core, library.Tag.pointwise]
    assert own.h.default.tags == [library.Tag.pt2_compliant_tag] and own.f.default.tags == []
    for wrong in 3, ("core",), [1]:
        with pytest.raises(TypeError):
            made.define("i(Tensor x) -> Tensor", tags=wrong)


@pytest.mark.parametrize("text", ["i(Tensor x,) -> Tensor", "2i(Tensor x) -> Tensor", "i(Tensor 1x) -> Tensor"])
def test_texts_that_are_no_schemas(operator, text: str) -> None:
    with pytest.raises(RuntimeError):
        operator[0].define(text)
