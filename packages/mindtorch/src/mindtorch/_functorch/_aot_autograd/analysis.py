"""What a function does to memory: it is run on functional tensors, which keep account of views and writes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mt_core import Tensor
from mt_core.functionalization.layer import switch_off, switch_on, to_functional
from mt_core.functionalization.tensors import FunctionalArray, FunctionalStorage

from .schemas import GivenInput, Origin, Output, Plan

__all__ = ["FunctionalRun", "functionalized", "planned"]

FlatFunction = Callable[..., Sequence[Any]]


@contextlib.contextmanager
def functionalized() -> Iterator[None]:
    """Inside of it, new tensors of this thread are functional."""
    switch_on(reapply_views=True, clones_for_libraries=True)
    try:
        yield
    finally:
        switch_off()


class FunctionalRun:
    """A run of a function on functional tensors in the place of others.

    Parameters
    ----------
    requires_grad
        Of each argument.
    cloned
        The places of the arguments that the function is given clones of: these have a history, as the tensors that they
        stand for, and may be written to.

    Attributes
    ----------
    leaves
        Place -> the functional tensor that is differentiated by.
    given
        Place -> what the function was given, and has written to.
    outputs
        What it returned.
    bases
        What several of these are views of, without being among them.
    """

    def __init__(
        self, function: FlatFunction, args: Sequence[Any], requires_grad: Sequence[bool], cloned: set[int]
    ) -> None:
        self.leaves: dict[int, Any] = {}
        self.given: dict[int, Any] = {}
        flat = list(args)
        for place, value in enumerate(args):
            if isinstance(value, Tensor):
                leaf = to_functional(value).requires_grad_(requires_grad[place])
                self.leaves[place] = leaf
                self.given[place] = flat[place] = leaf.clone() if place in cloned else leaf
        self._storages = {place: tensor._array.storage for place, tensor in self.given.items()}
        self._histories = {place: (t.grad_fn, t.requires_grad) for place, t in self.given.items()}
        self._shapes = {place: storage.shape for place, storage in self._storages.items()}
        with functionalized():
            self.outputs = list(function(*flat))
        self.bases: list[Any] = []

    def plan(self) -> Plan:
        """What was done to memory."""
        inputs = {place: self._input(place) for place in self.given}
        viewed = self._storages_of_several()
        of_input = {id(storage): place for place, storage in self._storages.items()}
        known: dict[int, tuple[Origin, int]] = {}
        outputs = []
        for place, value in enumerate(self.outputs):
            outputs.append(self._output(place, value, of_input, viewed, known))
        return Plan(inputs, outputs, [base.requires_grad for base in self.bases])

    def _input(self, place: int) -> GivenInput:
        tensor, storage = self.given[place], self._storages[place]
        if storage.shape != self._shapes[place]:
            raise NotImplementedError("aot_autograd: a function that resizes its arguments is not supported")
        is_relaid = tensor._array.has_other_layout
        if is_relaid and tensor.requires_grad:
            raise NotImplementedError(
                "aot_autograd: a function that changes the geometry of an argument that requires grad is not supported"
            )
        same_history = self._histories[place] == (tensor.grad_fn, tensor.requires_grad)
        spot = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset() - storage.offset)
        return GivenInput(place, storage.generation > 0, is_relaid, same_history, tensor.requires_grad, spot)

    def _storages_of_several(self) -> set[int]:
        """The storages that more than one of the returned tensors have."""
        owners: dict[int, set[int]] = {}
        for value in self.outputs:
            if _is_functional(value):
                owners.setdefault(id(value._array.storage), set()).add(id(value))
        return {storage for storage, tensors in owners.items() if len(tensors) > 1}

    def _output(
        self, place: int, value: Any, of_input: dict[int, int], viewed: set[int], known: dict[int, tuple[Origin, int]]
    ) -> Output:
        if not isinstance(value, Tensor):
            return Output(Origin.CONSTANT)
        if not _is_functional(value):
            return Output(Origin.COMPUTED)
        array: FunctionalArray = value._array
        steps, storage = array.steps, array.storage
        if id(storage) in of_input:
            source = of_input[id(storage)]
            if value is self.given[source]:
                return Output(Origin.INPUT, value.requires_grad, source)
            return Output(Origin.VIEW_OF_INPUT, value.requires_grad, source, steps)
        if id(storage) not in viewed and id(value) not in known:
            known[id(value)] = Origin.VIEW_OF_OUTPUT, place
            return Output(Origin.COMPUTED, value.requires_grad)
        if id(value) in known:
            return Output(known[id(value)][0], value.requires_grad, known[id(value)][1])
        if id(storage) not in known:
            known[id(storage)] = self._base_of(storage, value)
        origin, source = known[id(storage)]
        if origin is Origin.VIEW_OF_OUTPUT and source == place:
            return Output(Origin.COMPUTED, value.requires_grad)
        return Output(origin, value.requires_grad, source, steps)

    def _base_of(self, storage: FunctionalStorage, view: Any) -> tuple[Origin, int]:
        """What tensors that share memory are views of: one of the returned, or one that is returned besides."""
        for place, value in enumerate(self.outputs):
            if _is_functional(value) and value._array.storage is storage and not value._array.steps:
                return Origin.VIEW_OF_OUTPUT, place
        self.bases.append(view if view._base is None else view._base)
        return Origin.VIEW_OF_BASE, len(self.bases) - 1


def _is_functional(value: Any) -> bool:
    return isinstance(value, Tensor) and isinstance(value._array, FunctionalArray)


def planned(
    function: FlatFunction, args: Sequence[Any], requires_grad: Sequence[bool], is_leaf: Sequence[bool]
) -> Plan:
    """What a function does to memory, told by a run of it on fake tensors.

    Raises
    ------
    NotImplementedError
        For functions that resize an argument, or change the geometry of one that requires grad.
    """
    grown = {place for place, leaf in enumerate(is_leaf) if not leaf}
    return FunctionalRun(function, args, requires_grad, grown).plan()
