"""``torch.amp.GradScaler``: multiply a loss so that gradients in small dtypes do not vanish, and adapt the factor."""

from __future__ import annotations

import enum
import inspect
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import mt_core
from mt_core import Tensor
from mt_core.plugins import runtime_access

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """What has happened to the gradients of an optimizer since the last `GradScaler.update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


@dataclass
class _Progress:
    """An optimizer since the last update; `finite` is None until its gradients have been looked at."""

    optimizer: Any
    state: OptState = OptState.READY
    finite: bool | None = None


class GradScaler:
    """Scales losses, unscales gradients, and leaves out steps whose gradients are not finite.

    Parameters
    ----------
    device
        A device type; for CUDA without a CUDA device the scaler warns and is switched off, as in PyTorch.
    init_scale
        The first factor.
    growth_factor, growth_interval
        After `growth_interval` updates in a row with finite gradients the factor is multiplied by `growth_factor`.
    backoff_factor
        What it is multiplied by after an update with gradients that are infinite or NaN.
    enabled
        A scaler that is switched off scales by nothing, and `step` is the optimizer's own.

    Raises
    ------
    AssertionError
        When the growth factor is not above 1, or the backoff factor not below.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not runtime_access.count_devices(device):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled and growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if self._enabled and backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        #: By the identity of the optimizer, which each keeps alive.
        self._progress: dict[int, _Progress] = {}

    # Scaling

    def scale(self, outputs: Any) -> Any:
        """A tensor, or an iterable of tensors and iterables, multiplied by the factor.

        Raises
        ------
        ValueError
            For anything else.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale_tensor().to(outputs.device)
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _scale_tensor(self) -> Tensor:
        if self._scale is None:
            self._scale = mt_core.full((), self._init_scale, dtype=mt_core.float32, device=self._device)
        return self._scale

    def _checked_scale(self, function: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {function} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale

    # Unscaling and stepping

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor, for instance to clip them before `step`.

        Raises
        ------
        RuntimeError
            When that has been done since the last `update`, or `step` was called.
        ValueError
            When a gradient is float16: parameters to be scaled are to be kept in float32.
        """
        if not self._enabled:
            return
        scale = self._checked_scale("unscale_")
        progress = self._progress_of(optimizer)
        if progress.state is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if progress.state is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        gradients = list(_gradients(optimizer))
        if gradients:
            progress.finite = _unscale(gradients, 1.0 / scale.item())
        progress.state = OptState.UNSCALED

    def _progress_of(self, optimizer: Any) -> _Progress:
        return self._progress.setdefault(id(optimizer), _Progress(optimizer))

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(...)`` and what it returns, if all gradients are finite after unscaling; else None.

        Raises
        ------
        RuntimeError
            When a closure is given, or `step` was called since the last `update`.
        AssertionError
            When no parameter has a gradient, or nothing was scaled.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._checked_scale("step")
        progress = self._progress_of(optimizer)
        if progress.state is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_of_unscaling(optimizer, progress, args, kwargs)
        if progress.state is OptState.READY:
            self.unscale_(optimizer)
        if progress.finite is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        progress.state = OptState.STEPPED
        return optimizer.step(*args, **kwargs) if progress.finite else None

    def _step_of_unscaling(self, optimizer: Any, progress: _Progress, args: Any, kwargs: dict[str, Any]) -> Any:
        """The step of an optimizer that unscales gradients itself, and leaves out what is not finite.

        It is handed the scaler if it asks for it, else it finds the factor as ``grad_scale`` (None where gradients are
        unscaled already) and 1 or 0 as ``found_inf`` among its attributes.
        """
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                "let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            result = optimizer.step(*args, **kwargs, grad_scaler=self)
            progress.state = OptState.STEPPED
            return result
        if progress.state is OptState.READY:
            progress.finite = _unscale(_gradients(optimizer), 1.0)
        scale = self._scale_tensor()
        before = getattr(optimizer, "grad_scale", None)
        unscaled = progress.state is OptState.UNSCALED
        optimizer.grad_scale = before if unscaled else scale * (1 if before is None else before)
        optimizer.found_inf = mt_core.full_like(scale, float(progress.finite is False))
        result = optimizer.step(*args, **kwargs)
        progress.state = OptState.STEPPED
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the factor to what the steps since the last update met, or set it."""
        if not self._enabled:
            return
        scale = self._checked_scale("update")
        if new_scale is not None:
            scale.fill_(_as_number(new_scale))
        else:
            self._adapt(scale, self._all_finite())
        self._progress.clear()

    def _all_finite(self) -> bool:
        found = [progress.finite for progress in self._progress.values() if progress.finite is not None]
        if not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        return all(found)

    def _adapt(self, scale: Tensor, finite: bool) -> None:
        if not finite:
            scale.mul_(self._backoff_factor)
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._growth_tracker = 0
            grown = scale * self._growth_factor
            if grown.isfinite():
                scale.copy_(grown)

    # What it is set to

    def is_enabled(self) -> bool:
        """Whether it is switched on."""
        return self._enabled

    def get_scale(self) -> float:
        """The factor; 1 when switched off."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """What the factor is multiplied by to grow."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Change what the factor is multiplied by to grow."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied by after gradients that are not finite."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Change what the factor is multiplied by after gradients that are not finite."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many updates in a row with finite gradients make the factor grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Change how many updates in a row with finite gradients make the factor grow."""
        self._growth_interval = new_interval

    # Saving

    def state_dict(self) -> dict[str, Any]:
        """The factor and its settings; empty when switched off."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of another scaler.

        Raises
        ------
        RuntimeError
            When it is empty, as that of a scaler that was switched off.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


def _as_number(new_scale: float | Tensor) -> float:
    if isinstance(new_scale, float):
        return new_scale
    if isinstance(new_scale, Tensor) and new_scale.numel() == 1 and not new_scale.requires_grad:
        return new_scale.item()
    raise AssertionError(
        "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
        "requires_grad=False."
    )


def _gradients(optimizer: Any) -> Iterator[Tensor]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                yield parameter.grad


def _unscale(gradients: Iterable[Tensor], factor: float) -> bool:
    """Multiply gradients in place; returns whether all of them were finite."""
    finite = True
    with mt_core.no_grad():
        for gradient in gradients:
            if gradient.dtype is mt_core.float16:
                raise ValueError("Attempting to unscale FP16 gradients.")
            finite = finite and bool(mt_core.isfinite(gradient).all())
            gradient.mul_(factor)
    return finite
