"""Classes that are asked for sizes, strides, device or layout: what they are handed, as PyTorch hands it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch

_MEMBERS: dict[str, Callable[[Any], Any]] = {
    "size": lambda e: e.size(), "shape": lambda e: e.shape, "stride": lambda e: e.stride(),
    "stride0": lambda e: e.stride(0), "numel": lambda e: e.numel(), "nelement": lambda e: e.nelement(),
    "is_contiguous": lambda e: e.is_contiguous(), "storage_offset": lambda e: e.storage_offset(),
    "data_ptr": lambda e: e.data_ptr(), "nbytes": lambda e: e.nbytes, "device": lambda e: e.device,
    "layout": lambda e: e.layout, "contiguous": lambda e: e.contiguous(),
}  # fmt: skip
#: What PyTorch 2.13 hands a class, for each policy; a member that is not named is not asked for.
_SIZES = {
    "size": "aten.sym_size.default", "shape": "aten.sym_size.default", "numel": "aten.sym_numel.default",
    "nelement": "aten.sym_numel.default", "storage_offset": "aten.sym_storage_offset.default",
    "data_ptr": "aten.numel.default", "nbytes": "aten.numel.default",
}  # fmt: skip
_STRIDES = {
    "stride": "aten.sym_stride.default", "stride0": "aten.sym_stride.default",
    "is_contiguous": "aten.is_contiguous.default", "contiguous": "aten.is_contiguous.default",
}  # fmt: skip
_ASKED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"dispatch_sizes_strides_policy": "sizes"}, {**_SIZES, **_STRIDES}),
    ({"dispatch_sizes_strides_policy": "strides"}, _STRIDES),
    ({"dispatch_device": True}, {"device": "prim.device.default"}),
    ({"dispatch_layout": True}, {"layout": "prim.layout.default"}),
    ({}, {}),
]


def _made(options: dict[str, Any], wraps: bool, answer: Callable[[Any], Any]) -> Any:
    class Asked(torch.Tensor):
        @staticmethod
        def __new__(cls: Any) -> Any:
            if wraps:
                return torch.Tensor._make_wrapper_subclass(cls, (3, 4), **options)
            return torch.Tensor._make_subclass(cls, torch.ones(3, 4), False, **options)

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return answer(func)

    return Asked()


@pytest.mark.parametrize(("options", "asked"), _ASKED)
@pytest.mark.parametrize("wraps", [True, False])
@pytest.mark.parametrize("member", _MEMBERS)
def test_a_class_is_asked_for_what_its_policy_says(
    options: dict[str, Any], asked: dict[str, str], wraps: bool, member: str
) -> None:
    told: list[str] = []
    tensor = _made(options, wraps, lambda func: told.append(str(func)))
    plain = _made({}, wraps, lambda func: None)
    found, expected = _MEMBERS[member](tensor), _MEMBERS[member](plain)
    assert told == ([asked[member]] if member in asked else [])
    if member not in ("data_ptr", "contiguous"):
        assert found == expected  # None stands for what the tensor was made with


@pytest.mark.parametrize("wraps", [True, False])
def test_answers_are_what_members_tell(wraps: bool) -> None:
    answers: dict[str, Any] = {
        "aten.sym_size.default": (5, 3), "aten.dim.default": 2, "aten.sym_stride.default": (4, 2),
        "aten.sym_numel.default": 7, "aten.is_contiguous.default": False,
    }  # fmt: skip
    tensor = _made({"dispatch_sizes_strides_policy": "sizes"}, wraps, lambda func: answers[str(func)])
    assert tensor.size() == tensor.shape == (5, 3) and tensor.size(1) == 3 and len(tensor) == 5
    assert tensor.stride() == (4, 2) and tensor.stride(1) == 2
    assert tensor.dim() == tensor.ndim == 2 and tensor.numel() == 7 and not tensor.is_contiguous()


def test_a_class_that_does_not_answer_is_named() -> None:
    tensor = _made({"dispatch_sizes_strides_policy": "sizes"}, True, lambda func: NotImplemented)
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.sym_size'"):
        tensor.size()
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.ops.aten.dim'"):
        tensor.dim()
    silent = _made({"dispatch_sizes_strides_policy": "sizes"}, True, lambda func: None)
    with pytest.raises(RuntimeError, match="dim returned invalid type NoneType, expected int"):
        silent.dim()
    with pytest.raises(RuntimeError, match="nonsense"):
        _made({"dispatch_sizes_strides_policy": "nonsense"}, True, lambda func: None)


def test_operators_are_held_to_their_schemas() -> None:
    from mindtorch._subclasses.schema_check_mode import SchemaCheckMode

    with torch.library._scoped_library("asked_members", "FRAGMENT") as lib:
        cases = {
            "writes": (lambda x: x.add_(1).clone(), "Argument x is not defined as mutable but was mutated"),
            "shares": (lambda x: x[:], "Argument x is not defined to alias output but was aliasing"),
        }
        for name, (kernel, words) in cases.items():
            lib.define(f"{name}(Tensor x) -> Tensor")
            lib.impl(name, kernel, "CPU")
            with pytest.raises(RuntimeError, match=words), SchemaCheckMode():
                getattr(torch.ops.asked_members, name)(torch.ones(3))
        with SchemaCheckMode() as mode:
            torch.ones(2).add_(1).view(-1)
        assert mode.ops == ["aten::ones", "aten::add_", "aten::view"]
        assert [found.arg_name for found in mode.mutated] == ["input"]
        assert [found.output_number for found in mode.aliasing] == ["output_0", "output_0"]
