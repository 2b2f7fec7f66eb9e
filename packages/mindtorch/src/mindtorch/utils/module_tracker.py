"""``torch.utils.module_tracker``: in which modules a program is, forward and backward."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from mt_autograd.engine import current_task, queue_callback
from mt_autograd.graph import register_multi_grad_hook
from mt_core import Tensor
from mt_core.hooks import RemovableHandle
from mt_core.pytree import tree_leaves
from mt_nn import Module
from mt_nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["ModuleTracker"]

logger = logging.getLogger(__name__)


class ModuleTracker:
    """Knows, while it is entered, which modules are being computed: what an operator or a hook can ask.

    Backward follows the forward by hooks on the gradients of what modules were given and returned, so that a module's
    backward is seen to end only where all its inputs with gradients have theirs.

    Attributes
    ----------
    parents : set of str
        ``"Global"``, and the names of the modules: the class of the outermost one, then attributes, ``"Net.layers.0"``.
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._known_modules: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._has_callback = False
        self._hooks: list[RemovableHandle] = []

    @property
    def is_bw(self) -> bool:
        """Whether this thread is inside a backward."""
        return current_task() is not None

    def __enter__(self) -> ModuleTracker:
        self._hooks += [
            register_module_forward_pre_hook(self._before_forward),
            register_module_forward_hook(self._after_forward),
        ]
        return self

    def __exit__(self, *exception: Any) -> None:
        while self._hooks:
            self._hooks.pop().remove()

    def _name(self, module: Module) -> str:
        """The name of a module; one that is new is an outermost one, and names all that is below it."""
        if module not in self._known_modules:
            outermost = type(module).__name__
            for path, below in module.named_modules(remove_duplicate=False):
                self._known_modules.setdefault(below, f"{outermost}.{path}" if path else outermost)
        return self._known_modules[module]

    def _before_forward(self, module: Module, inputs: Any) -> None:
        name = self._name(module)
        self._enter(name)
        tensors = _with_gradients(inputs)
        if tensors and not self.is_bw:
            self._hooks.append(register_multi_grad_hook(tensors, self._leaver(name)))

    def _after_forward(self, module: Module, inputs: Any, outputs: Any) -> None:
        name = self._name(module)
        self._leave(name)
        tensors = _with_gradients(outputs)
        if tensors and not self.is_bw:
            self._hooks.append(register_multi_grad_hook(tensors, self._enterer(name), mode="any"))

    def _enterer(self, name: str) -> Callable[[Any], None]:
        def enter(grads: Any) -> None:
            self._forget_after_backward()
            self._enter(name)

        return enter

    def _leaver(self, name: str) -> Callable[[Any], None]:
        return lambda grads: self._leave(name)

    def _enter(self, name: str) -> None:
        if name in self.parents:
            logger.info("%s is entered a second time: its first call has not ended", name)
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        if name not in self.parents:
            logger.info("%s is left, and was not entered", name)
        self.parents.discard(name)

    def _forget_after_backward(self) -> None:
        """Once a backward: modules whose inputs have no gradients are never seen to end."""
        if self._has_callback:
            return

        def forget() -> None:
            self.parents = {"Global"}
            self._has_callback = False

        queue_callback(forget)
        self._has_callback = True


def _with_gradients(values: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor) and leaf.requires_grad]
