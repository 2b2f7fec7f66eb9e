"""``torch.autograd.forward_ad``: forward mode, which is not supported and says so."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.autograd.forward_ad.{name} is not supported: there is no forward mode. torch.autograd.functional.jvp "
        "computes the same products by backward."
    )


def make_dual(tensor: Any, tangent: Any, *, level: Any = None) -> Any:
    """Would pair a tensor with its tangent."""
    _refuse("make_dual")


def unpack_dual(tensor: Any, *, level: Any = None) -> Any:
    """Would give a tensor and its tangent back."""
    _refuse("unpack_dual")


def enter_dual_level() -> int:
    """Would begin a level of forward mode."""
    _refuse("enter_dual_level")


def exit_dual_level(*, level: Any = None) -> None:
    """Would end a level of forward mode."""
    _refuse("exit_dual_level")


class dual_level:
    """Would be a level of forward mode."""

    def __init__(self) -> None:
        _refuse("dual_level")


class UnpackedDualTensor:
    """Would be what `unpack_dual` returns."""

    def __init__(self, *args: Any) -> None:
        _refuse("UnpackedDualTensor")
