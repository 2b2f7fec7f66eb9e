"""Optimizers that treat one parameter after another: the common course of ``step()``, and its arithmetic and checks."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import mt_core as mt
from mt_core.api import _functions as ops
from mt_core.capturing import capturing, opened
from mt_core.tensor_lists import TensorList

from ..parameter import Parameter
from .optimizer import Optimizer

__all__: list[str] = []

State = dict[str, Any]
Group = dict[str, Any]

#: Options that older checkpoints do not know, and what they meant then.
_OPTIONS_ADDED_LATER = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "decoupled_weight_decay": False,
    "differentiable": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}


class PerParameterOptimizer(Optimizer):
    """An optimizer given by what it remembers of a parameter and how it updates one.

    Subclasses define :meth:`_new_state` and :meth:`_update`. Gradients are gathered and checked before the first
    parameter changes, so that a refused gradient leaves all parameters of its group as they were.

    With ``foreach=True`` parameters of one dtype and device are updated together: the same arithmetic on lists of
    tensors, each step of it one operator (`mt_core.tensor_lists`). With ``fused=True`` a whole update is one operator,
    for the optimizers that have it. With ``capturable=True`` no number is read from a device, so that a step can be
    captured as a graph; it is refused on devices that cannot.
    """

    #: Whether :meth:`_update` is written in what lists of tensors can do; else ``foreach`` goes one by one.
    _takes_lists = True
    #: The numbers in a state that an update reads: parameters are updated together where they have the same.
    _numbers: tuple[str, ...] = ("step",)
    #: A complex parameter is updated as pairs of reals: real and imaginary parts independently.
    _complex_as_pairs = True
    #: What a capturable step demands to be on an accelerator, for the error message.
    _capturable_tensors = "params and state_steps"
    _capturable_devices = ["cuda", "xpu", "hpu", "privateuseone", "xla"]
    #: Which of its options older checkpoints may lack; they are filled in.
    _options_added_later: Iterable[str] = tuple(_OPTIONS_ADDED_LATER)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once.

        Parameters
        ----------
        closure
            Recomputes the loss, with gradients, and returns it.

        Returns
        -------
        The result of the closure, or None.
        """
        with mt.set_grad_enabled(self.defaults.get("differentiable", False)):
            loss = evaluate(closure)
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: Group) -> None:
        self._check_group(group)
        if capturing.depth:  # a graph counts steps itself, and is a matter of single operators
            group = {**group, "capturable": True, "foreach": False, "fused": False, "lr": opened(group["lr"])}
        ready = [(p, self._gradient(p, group), self._state(p, group)) for p in group["params"] if p.grad is not None]
        if group.get("fused"):
            self._update_fused(ready, group)
            return
        maximize = group.get("maximize", False)
        # Which numbers states have in common only the host can tell, and what is captured must not ask it.
        together = _together_by_default(group) if group.get("foreach") is None else group["foreach"]
        if together and self._takes_lists and not group.get("capturable"):
            ready = self._update_together(ready, group)
        for parameter, gradient, state in ready:
            if self._complex_as_pairs and parameter.is_complex():
                parameter, gradient, state = mt.view_as_real(parameter), mt.view_as_real(gradient), _as_pairs(state)
            self._update(parameter, -gradient if maximize else gradient, state, group)

    def _update_together(self, ready: list[Any], group: Group) -> list[Any]:
        """Update those that can be in lists of one dtype, device, and state; return the others."""
        rest, alike = [], defaultdict(list)
        for row in ready:
            parameter, gradient, state = row
            if gradient.is_sparse or parameter.is_complex():
                rest.append(row)
                continue
            numbers = [state[name].item() for name in self._numbers if name in state]
            filled = tuple([name for name, value in state.items() if value is not None])
            alike[(parameter.device, parameter.dtype, gradient.dtype, filled, *numbers)].append(row)
        for rows in alike.values():
            parameters, gradients, states = map(list, zip(*rows, strict=True))
            filled = [name for name, value in states[0].items() if value is not None]
            state = {name: TensorList([one[name] for one in states]) for name in filled}
            gradient = TensorList(gradients)
            self._update(TensorList(parameters), -gradient if group.get("maximize") else gradient, state, group)
            for name in [name for name in state if name not in filled]:
                for one, tensor in zip(states, state[name].tensors, strict=True):
                    one[name] = tensor
        return rest

    def _update_fused(self, ready: list[Any], group: Group) -> None:
        """Update all by one operator for each dtype and device."""
        alike = defaultdict(list)
        for row in ready:
            parameter, gradient, _ = row
            alike[(parameter.device, parameter.dtype, gradient.dtype)].append(row)
        for (where, *_), rows in alike.items():
            parameters, gradients, states = map(list, zip(*rows, strict=True))
            # A `GradScaler` leaves them here, and lets the operator divide and skip.
            scaling = [getattr(self, name, None) for name in ("grad_scale", "found_inf")]
            grad_scale, found_inf = (None if one is None else one.to(where) for one in scaling)
            steps = [state["step"] for state in states if "step" in state]
            if steps:
                ops._foreach_add_(steps, 1)
            self._fused_operator(parameters, gradients, states, group, grad_scale=grad_scale, found_inf=found_inf)
            if steps and found_inf is not None:
                ops._foreach_sub_(steps, [found_inf.reshape(())] * len(steps))

    def _fused_operator(
        self, parameters: list[Any], gradients: list[Any], states: list[State], group: Group, **scaling: Any
    ) -> None:
        """Call the operator of a whole update; steps are counted up already."""
        raise RuntimeError(f"{type(self).__name__} has no fused implementation")

    def _check_group(self, group: Group) -> None:
        if group.get("foreach") and group.get("differentiable"):
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("fused"):
            _check_fusible(group)
        elif group.get("capturable"):
            self._check_capturable(group)

    def _check_capturable(self, group: Group) -> None:
        if any(p.device.type in ("cpu", "meta") for p in group["params"] if p.grad is not None):
            raise AssertionError(
                f"If capturable=True, {self._capturable_tensors} must be on supported devices: "
                f"{self._capturable_devices}."
            )

    def _gradient(self, parameter: mt.Tensor, group: Group) -> mt.Tensor:
        gradient = parameter.grad
        if gradient.is_sparse:
            self._refuse_sparse_gradient()
        return gradient

    def _refuse_sparse_gradient(self) -> None:
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _state(self, parameter: mt.Tensor, group: Group) -> State:
        state = self.state[parameter]
        if not state:
            state.update(self._new_state(parameter, group))
        return state

    def _new_state(self, parameter: mt.Tensor, group: Group) -> State:
        """What is remembered of a parameter before its first update."""
        raise NotImplementedError

    def _update(self, parameter: Any, gradient: Any, state: State, group: Group) -> None:
        """Change a parameter and its state in place; or lists of them, which have the same numbers in their states."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for option in self._options_added_later:
                if option in self.defaults:
                    group.setdefault(option, _OPTIONS_ADDED_LATER[option])
        for remembered in self.state.values():
            # Older checkpoints count steps in a Python number.
            if "step" in remembered and not isinstance(remembered["step"], mt.Tensor):
                remembered["step"] = mt.tensor(float(remembered["step"]), dtype=scalar_dtype())


def evaluate(closure: Callable[[], Any] | None) -> Any:
    """The closure's loss, computed with gradients, or None without a closure."""
    if closure is None:
        return None
    with mt.enable_grad():
        return closure()


def _as_pairs(state: State) -> State:
    """The state with complex tensors seen as pairs of reals; views, so updates reach the state itself."""
    return {
        key: mt.view_as_real(value) if isinstance(value, mt.Tensor) and value.is_complex() else value
        for key, value in state.items()
    }


# Counting -------------------------------------------------------------------------------------------------------------


def scalar_dtype() -> mt.dtype:
    """The dtype of counters: that of Python floats under the current default dtype, at least float32."""
    return mt.float64 if mt.get_default_dtype() == mt.float64 else mt.float32


def new_step(parameter: mt.Tensor, group: Group) -> mt.Tensor:
    """A count of zero steps; next to its parameter where a fused or captured step reads it, else on the cpu."""
    if group.get("fused"):
        return mt.zeros((), dtype=mt.float32, device=parameter.device)
    if group.get("capturable"):
        return mt.zeros((), dtype=scalar_dtype(), device=parameter.device)
    return mt.tensor(0.0, dtype=scalar_dtype())


def advance(state: State, group: Group) -> Any:
    """Count one step and return the new count: a number, or of a capturable step the tensor itself."""
    step = state["step"]
    step.add_(1)
    return step if group.get("capturable") else step.item()


# Arithmetic -----------------------------------------------------------------------------------------------------------


def number(value: Any) -> Any:
    """A Python number for a number or a tensor of one element."""
    return value.item() if isinstance(value, mt.Tensor) else value


def _stays_tensor(value: Any) -> bool:
    """Whether a number is a tensor that is not to be read: it needs a gradient, is on a device, or part of a graph."""
    return isinstance(value, mt.Tensor) and (value.requires_grad or value.device.type != "cpu" or capturing.depth > 0)


def learning_rate(group: Group) -> Any:
    """``lr``, a tensor of one element without its dimensions."""
    lr = group["lr"]
    return lr.squeeze() if isinstance(lr, mt.Tensor) and lr.dim() else lr


def _together_by_default(group: Group) -> bool:
    """Whether parameters are updated together where ``foreach`` is None: on CUDA, as in PyTorch."""
    return (
        "foreach" in group and not group.get("differentiable") and not isinstance(group.get("lr"), mt.Tensor)
        and all(p.is_cuda and type(p) in (mt.Tensor, Parameter) for p in group["params"])
    )  # fmt: skip


def add_scaled_(target: mt.Tensor, source: mt.Tensor, scale: Any) -> None:
    """``target += scale * source``, differentiable in a tensor ``scale`` too."""
    if _stays_tensor(scale):
        target.add_(source * scale)
    else:
        target.add_(source, alpha=number(scale))


def add_quotient_(target: mt.Tensor, numerator: mt.Tensor, denominator: mt.Tensor, scale: Any) -> None:
    """``target += scale * numerator / denominator``, differentiable in a tensor ``scale`` too."""
    if _stays_tensor(scale):
        target.add_(numerator * scale / denominator)
    else:
        target.addcdiv_(numerator, denominator, value=number(scale))


def with_weight_decay(gradient: mt.Tensor, parameter: mt.Tensor, weight_decay: Any) -> mt.Tensor:
    """The gradient of the loss plus the L2 penalty ``weight_decay / 2 * |parameter|**2``."""
    if _stays_tensor(weight_decay):
        return gradient + parameter * weight_decay
    return gradient.add(parameter, alpha=number(weight_decay)) if number(weight_decay) != 0 else gradient


def decay_weights_(parameter: mt.Tensor, group: Group) -> None:
    """Decoupled weight decay: shrink the parameter itself, not through its gradient."""
    weight_decay = group["weight_decay"]
    if weight_decay != 0:
        parameter.mul_(1 - learning_rate(group) * weight_decay)


def average_square_(average: mt.Tensor, gradient: mt.Tensor, beta: Any) -> None:
    """``average = beta * average + (1 - beta) * gradient**2``, differentiable in a tensor ``beta`` too."""
    if _stays_tensor(beta):
        average.lerp_(gradient.square(), 1 - beta)
    else:
        average.mul_(beta).addcmul_(gradient, gradient, value=number(1 - beta))


# Checks of options ----------------------------------------------------------------------------------------------------


def check_learning_rate(lr: Any) -> None:
    """Refuse a negative rate, or a tensor of several."""
    if isinstance(lr, mt.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_not_negative("learning rate", lr)


def check_not_negative(name: str, value: Any) -> None:
    """Refuse a negative value, and NaN."""
    if not 0.0 <= value:
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas: Any) -> None:
    """Refuse a decay rate outside [0, 1)."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")


#: As the message has them; other devices than meta have the operators, or are third parties'.
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _check_fusible(group: Group) -> None:
    """Refuse parameters that no fused operator takes."""
    for p in group["params"]:
        if p.grad is not None and not (p.dtype.is_floating_point and p.device.type != "meta"):
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                f"{_FUSED_DEVICES} but {p.dtype} and {p.device.type}"
            )


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Refuse options that contradict ``fused=True``."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
