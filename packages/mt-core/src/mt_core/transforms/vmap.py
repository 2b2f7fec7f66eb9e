"""The interpreter of ``torch.vmap``: each call is carried out for all lanes at once."""

from __future__ import annotations

import warnings
from typing import Any

from ..dispatch.dispatcher import parts_of
from ..dispatch.lookup import composite_of
from ..dispatch.registry import Overload, find_overload
from ..dispatch.writing import check_inplace_result
from ..state import tls
from ..tensor import Tensor
from .batched import BatchedArray, Lanes, batched, lanes_of, note_written
from .batching_rules._rules import LOOPED, Batch, Rule, draws, find_rule
from .interpreters import Interpreter, outside
from .looping import FALLBACK, loop_over_lanes
from .wrapped import alive

__all__ = ["VmapInterpreter"]


class VmapInterpreter(Interpreter):
    """One level of ``vmap``.

    Attributes
    ----------
    size : int
        The number of lanes.
    randomness : str
        ``error``, ``different`` or ``same``.
    """

    name = "Vmap"

    def __init__(self, size: int, randomness: str = "error") -> None:
        super().__init__()
        self.size = size
        self.randomness = randomness

    def process(self, overload: Overload, args: tuple[Any, ...]) -> Any:
        """Carry a call out by the operator's rule, by its parts, or lane by lane."""
        lanes, is_batched = self._parted(overload, args)
        if not is_batched and not draws(overload):
            with outside():
                return overload.call(*args)
        rule = find_rule(overload)
        if rule is not None:
            result = self._by_rule(overload, rule, args, lanes)
            if result is not NotImplemented:
                return result
        if overload.name in LOOPED:
            return self._lane_by_lane(overload, args)
        parts = parts_of(overload, tls.mode)
        if parts is not None:
            return parts(*args)
        if overload.declaration.form == "inplace" and overload.declaration.functional is not None:
            return self._written_back(overload, find_overload(overload.declaration.functional), args)
        parts = _explicit_parts(overload)
        return self._lane_by_lane(overload, args) if parts is None else parts(*args)

    def _parted(self, overload: Overload, args: tuple[Any, ...]) -> tuple[list[Any], bool]:
        """Arguments as rules get them, and whether this level hides a dimension of any."""
        lanes, is_batched = list(args), False
        for i in overload.tensor_positions:
            if isinstance(args[i], Tensor):
                lanes[i] = own = lanes_of(args[i], self)
                is_batched = is_batched or own.dim is not None
        for i in overload.list_positions:
            if args[i] is not None:
                lanes[i] = several = [None if item is None else lanes_of(item, self) for item in args[i]]
                is_batched = is_batched or any(item is not None and item.dim is not None for item in several)
        return lanes, is_batched

    def is_batched(self, tensor: Any) -> bool:
        """Whether a tensor has a dimension that this level hides."""
        array = getattr(alive(tensor), "_array", None)
        return array.__class__ is BatchedArray and array.level is self

    def joined(self, result: Any) -> Any:
        """What a rule returned, as the function is to see it."""
        if isinstance(result, Lanes):
            return result.value if result.dim is None else batched(result.value, result.dim, self)
        if isinstance(result, Tensor):
            return batched(result, 0, self)
        if isinstance(result, (tuple, list)):
            items = [self.joined(item) for item in result]
            return items if result.__class__ is list else result.__class__(items)
        return result

    def _by_rule(self, overload: Overload, rule: Rule, args: tuple[Any, ...], lanes: list[Any]) -> Any:
        writes = overload.schema.is_mutable
        if writes and not draws(overload):
            self._refuse_shared(overload, args)
        with outside():
            result = rule(Batch(self.size, overload, self.randomness), *lanes)
        if result is NotImplemented:
            return result
        if not writes:
            return self.joined(result)
        if lanes[0].dim is not None:
            note_written(args[0], lanes[0].value, lanes[0].dim)
        return args[0]

    def _written_back(self, overload: Overload, functional: Overload, args: tuple[Any, ...]) -> Any:
        """A form that writes, by way of the functional one; a view in place becomes another view of the same memory."""
        self._refuse_shared(overload, args)
        result = functional.call(*args)
        if overload.declaration.kind == "view":
            note_written(args[0], *lanes_of(result, self))  # type: ignore[arg-type]
            return args[0]
        check_inplace_result(args[0], result.shape, result._dtype, bool(functional.declaration.exact_out))
        return args[0].copy_(result)

    def _refuse_shared(self, overload: Overload, args: tuple[Any, ...]) -> None:
        """Refuse to write what differs between lanes into a tensor that they share.

        Raises
        ------
        RuntimeError
            In PyTorch's words.
        """
        if self.is_batched(args[0]):
            return
        name = overload.qualified_name.partition(".")[0]
        raise RuntimeError(
            f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` "
            "in extra_args that has more elements than `self`. This happened due to `other` being vmapped over but "
            f"`self` not being vmapped over at level {tls.transforms.index(self) + 1}. Please try to use out-of-place "
            f"operators instead of {name}. If said operator is being called inside the PyTorch "
            "framework, please file a bug report instead."
        )

    def _lane_by_lane(self, overload: Overload, args: tuple[Any, ...]) -> Any:
        """The slow way, for an operator without a rule; it warns as PyTorch does."""
        if overload.schema.is_mutable:
            self._refuse_shared(overload, args)
        lanes, _ = self._parted(overload, args)
        _announce(overload)
        with outside():
            return_value = loop_over_lanes(overload, lanes, self.size)
        if overload.schema.is_mutable:
            note_written(args[0], lanes[0].value, lanes[0].dim)
            return args[0]
        return self.joined(return_value)


def _announce(overload: Overload) -> None:
    """Warn that an operator is called lane by lane.

    Raises
    ------
    RuntimeError
        Where that is switched off.
    """
    if not FALLBACK.is_enabled:
        raise RuntimeError(f"{overload.qualified_name} hit the vmap fallback which is currently disabled")
    if FALLBACK.warns:
        warnings.warn(
            "There is a performance drop because we have not yet implemented the batching rule for "
            f"{overload.qualified_name}. Please file us an issue on GitHub so that we can prioritize its "
            "implementation.",
            UserWarning,
            stacklevel=2,
        )


def _explicit_parts(overload: Overload) -> Any:
    """What an operator does that is declared as a composite; of others it is a kernel, which a shape rule prepares."""
    found = composite_of(overload)
    return None if found is None or overload.declaration.kind != "composite" else found.function
