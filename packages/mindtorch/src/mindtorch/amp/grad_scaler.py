"""``torch.amp.GradScaler``: multiply a loss so that gradients in small dtypes do not vanish, and adapt the factor."""

from __future__ import annotations

import enum
import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import mt_core
from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.plugins import runtime_access

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """What has happened to the gradients of an optimizer since the last `GradScaler.update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    """What is known of an optimizer's gradients after an update: nothing.

    ``found_inf_per_device`` holds for each device 1 where a gradient on it was infinite or NaN, else 0, once the
    gradients have been looked at.
    """
    return {"stage": OptState.READY, "found_inf_per_device": {}}


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
        renamed = runtime_access.RENAMED.get(device, device)
        if enabled and renamed == "cuda" and not runtime_access.count_devices(renamed):
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        #: How many updates in a row met finite gradients; made with the factor, beside it.
        self._growth_tracker: Tensor | None = None
        #: By the identity of the optimizer.
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

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
            self._lazy_init_scale_growth_tracker(mt_core.device(self._device))
        return self._scale  # type: ignore[return-value]

    def _lazy_init_scale_growth_tracker(self, dev: mt_core.device) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = mt_core.full((), self._init_scale, dtype=mt_core.float32, device=dev)
        self._growth_tracker = mt_core.full((), self._init_growth_tracker, dtype=mt_core.int32, device=dev)

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
        state = self._state_of(optimizer)
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inv_scale = scale.to(mt_core.float64).reciprocal().to(mt_core.float32)
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inv_scale, mt_core.zeros_like(scale), False)
        state["stage"] = OptState.UNSCALED

    def _state_of(self, optimizer: Any) -> dict[str, Any]:
        # An optimizer lives until the update, since another at its address would be taken for it.
        self.__dict__.setdefault("_held", {})[id(optimizer)] = optimizer
        return self._per_optimizer_states[id(optimizer)]

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[mt_core.device, Tensor]:
        """Multiply an optimizer's gradients by `inv_scale`; device -> 1 where one of them is infinite or NaN, else 0.

        `found_inf` is what is written for its own device; without gradients nothing is found.
        """
        found: dict[mt_core.device, Tensor] = {}
        factors: dict[mt_core.device, Tensor] = {}
        with mt_core.no_grad():
            for gradient in _gradients(optimizer):
                if not allow_fp16 and gradient.dtype is mt_core.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                where = gradient.device
                if where not in found:
                    found[where] = found_inf if where == found_inf.device else found_inf.to(where, copy=True)
                    factors[where] = inv_scale.to(where)
                ops._amp_foreach_non_finite_check_and_unscale_([gradient], found[where], factors[where])
        return found

    def _check_inf_per_device(self, optimizer: Any) -> dict[mt_core.device, Tensor]:
        """Look for infinite and NaN gradients, and leave them as they are."""
        scale = self._checked_scale("_check_inf_per_device")
        found = self._unscale_grads_(optimizer, mt_core.ones_like(scale), mt_core.zeros_like(scale), True)
        self._state_of(optimizer)["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[mt_core.device, Tensor]:
        return self._state_of(optimizer)["found_inf_per_device"]  # type: ignore[no-any-return]

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
        state = self._state_of(optimizer)
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_of_unscaling(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        if any(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_of_unscaling(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]) -> Any:
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
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale = self._scale_tensor()
        before = getattr(optimizer, "grad_scale", None)
        unscaled = state["stage"] is OptState.UNSCALED
        optimizer.grad_scale = before if unscaled else scale * (1 if before is None else before)
        found = [one.to(scale.device) for one in state["found_inf_per_device"].values()]
        optimizer.found_inf = mt_core.stack(found).sum(0) if found else mt_core.zeros_like(scale)
        result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
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
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)
        self.__dict__.pop("_held", None)

    def _all_finite(self) -> bool:
        states = self._per_optimizer_states.values()
        found = [one for state in states for one in state["found_inf_per_device"].values()]
        if not found:
            raise AssertionError("No inf checks were recorded prior to update.")
        return not any(one.item() for one in found)

    def _adapt(self, scale: Tensor, finite: bool) -> None:
        tracker: Any = self._growth_tracker
        if not finite:
            scale.mul_(self._backoff_factor)
            tracker.zero_()
            return
        tracker.add_(1)
        if tracker.item() == self._growth_interval:
            tracker.zero_()
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
            "_growth_tracker": self._get_growth_tracker(),
        }

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle keeps: the factor and its settings as numbers.

        Raises
        ------
        AssertionError
            Between an `unscale_` or `step` and the `update` that follows.
        """
        state = {name: value for name, value in self.__dict__.items() if name != "_held"}
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

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
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])


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
