"""``torch.utils.flop_counter``: how many floating-point operations the products of a program take, module by module.

A product of m x k by k x n counts 2mnk, an addition to it nothing; convolutions count as the products that they are.
The counts are PyTorch's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mt_core import Tensor
from mt_core.pytree import tree_map
from mt_library.ops import OpOverload, OpOverloadPacket, ops

from ._python_dispatch import TorchDispatchMode
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

Shape = Sequence[int]
Formula = Callable[..., int]

#: Operator -> ``formula(*args, out_val=result, **kwargs)``, of tensors.
flop_registry: dict[Any, Formula] = {}


def get_shape(value: Any) -> Any:
    """The shape of a tensor; anything else as it is."""
    return value.shape if isinstance(value, Tensor) else value


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Formula], Formula]:
    """Decorator: the function is the formula of one or several operators (``torch.ops.aten.mm``).

    It takes the operator's arguments with shapes in place of tensors, and the result's shape as ``out_shape``. With
    `get_raw` it gets the tensors, and the result as ``out_val``.

    Raises
    ------
    ValueError
        For what is no operator with all its overloads.
    RuntimeError
        For an operator that has a formula.
    """

    def register(formula: Formula) -> Formula:
        takes_tensors = formula if get_raw else _of_shapes(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), or JitFunction, got {target} which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = takes_tensors
        return formula

    return register


def _of_shapes(formula: Formula) -> Formula:
    def takes_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, shape = tree_map(get_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=shape, **kwargs)

    return takes_tensors


# Formulas

_aten = ops.aten


@register_flop_formula(_aten.mm)
def mm_flop(a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """(m, k) by (k, n)."""
    return a_shape[0] * b_shape[1] * 2 * a_shape[1]


@register_flop_formula(_aten.addmm)
def addmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """As `mm_flop`."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(_aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """(b, m, k) by (b, k, n)."""
    return a_shape[0] * a_shape[1] * b_shape[2] * 2 * a_shape[2]


@register_flop_formula(_aten.baddbmm)
def baddbmm_flop(self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """As `bmm_flop`."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False) -> int:
    """One product of channels for each element of the filter and each place that it is put to."""
    c_out, c_in, *filter_size = w_shape
    places = (x_shape if transposed else out_shape)[2:]
    return math.prod(places) * math.prod(filter_size) * x_shape[0] * c_out * c_in * 2


@register_flop_formula([_aten.convolution])
def conv_flop(
    x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: bool,
    *args: Any, out_shape: Shape, **kwargs: Any,
) -> int:  # fmt: skip
    """The forward convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@register_flop_formula(_aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Shape, x_shape: Shape, w_shape: Shape, _bias: Any, _stride: Any, _padding: Any, _dilation: Any,
    transposed: bool, _output_padding: Any, _groups: Any, output_mask: Sequence[bool], *, out_shape: Any,
    **kwargs: Any,
) -> int:  # fmt: skip
    """The gradient of the input is a convolution the other way, that of the weight one with channels for batches."""
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        grad, x, weight = _turned(grad_out_shape), _turned(x_shape), _turned(out_shape[1])
        count += conv_flop_count(*((grad, x) if transposed else (x, grad)), weight)
    return count


def _turned(shape: Shape) -> list[int]:
    """Batches and channels exchanged."""
    return [shape[1], shape[0], *shape[2:]]


# The mode


class FlopCounterMode:
    """Counts the operations of what is computed within ``with``, and prints a table at its end.

    Parameters
    ----------
    mods
        Not needed any more: modules are found as they are called.
    depth
        How deep in the tree of modules the table goes.
    display
        Whether the table is printed.
    custom_mapping
        Operator -> formula, besides those that are registered (`register_flop_formula`); with ``_get_raw`` as an
        attribute of the formula, it gets tensors.
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        if mods is not None:
            import warnings  # lazy: few programs are warned

            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        self.mod_tracker = ModuleTracker()
        self.mode: _Counting | None = None
        own = {op: f if getattr(f, "_get_raw", False) else _of_shapes(f) for op, f in (custom_mapping or {}).items()}
        self.flop_registry = {**flop_registry, **own}

    def get_total_flops(self) -> int:
        """The count of everything."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Module -> operator -> count; ``"Global"`` is everything."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Counts and shares of modules, as text."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)
        names = [name for name in sorted(self.flop_counts) if name != "Global" and name.count(".") + 1 <= depth]
        rows = [row for name in names for row in self._rows(name, name.count(".") + 1, total, suffix)]
        outermost = [name for name in names if "." not in name]
        counted = sum(sum(self.flop_counts[name].values()) for name in outermost)
        if counted < total or not rows:  # something is outside of all modules
            rows = [*self._rows("Global", 0, total, suffix), *rows]
        return _table(("Module", "FLOP", "% Total"), rows)

    def _rows(self, module: str, depth: int, total: int, suffix: str) -> Iterable[tuple[str, str, str]]:
        counts = self.flop_counts[module]
        indent = " " * depth
        lines = [(indent + module, sum(counts.values())), *((f"{indent} - {op}", n) for op, n in counts.items())]
        for name, count in lines:
            yield name, convert_num_with_suffix(count, suffix), convert_to_percent_str(count, total)

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> Any:
        assert self.mode is not None
        result = self.mode.__exit__(*exception)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))
        return result

    def _count_flops(self, func_packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        formula = self.flop_registry.get(func_packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for module in set(self.mod_tracker.parents):
                self.flop_counts[module][func_packet] += count
        return out


class _Counting(TorchDispatchMode):
    """Sees the operators; those without a formula that are written in others are taken apart."""

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        packet = func.overloadpacket
        if packet not in self.counter.flop_registry and isinstance(func, OpOverload):
            with self:
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        return self.counter._count_flops(packet, func(*args, **kwargs), args, kwargs)


# The table

suffixes = ["", "K", "M", "B", "T"]


def get_suffix_str(number: int) -> str:
    """The suffix that leaves a number with at most four digits before the point."""
    index = max(0, min(len(suffixes) - 1, (len(str(number)) - 2) // 3))
    return suffixes[index]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """``2034`` with "K" is ``"2.034K"``."""
    return f"{number / 1000 ** suffixes.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """The share as text, ``"0%"`` of nothing."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Columns under a header and a line; the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(row: tuple[str, ...]) -> str:
        numbers = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return "  ".join([row[0].ljust(widths[0]), *numbers])

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])
