"""``torch._subclasses.meta_utils``: real tensors to fake ones that alias as they do."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary, ref

from mt_core import Tensor
from mt_core.api import _functions as ops
from mt_core.autograd_state import enable_grad
from mt_core.block import Block, block_of
from mt_core.cell import Cell
from mt_core.devices import device as Device
from mt_core.dispatch.views import link_view
from mt_core.dtypes import uint8
from mt_core.hollow import is_hollow, within_reach
from mt_core.keys import AUTOGRAD, CONJUGATE, INFERENCE, META, NEGATIVE, STRIDED
from mt_core.meta_array import MetaArray
from mt_core.meta_backend import backend as meta
from mt_core.python_dispatch import has_handler, without_modes
from mt_core.sparse.tensors import is_sparse
from mt_core.symbolic import is_symbolic
from mt_core.tensor import new_tensor

from .._C._functions import DelayedError
from .._sources import AttrSource
from ..utils._python_dispatch import is_traceable_wrapper_subclass, transform_subclass
from ._constants import remember
from ._devices import normalized
from ._errors import UnsupportedFakeTensorException
from ._fake import FakeTensor, fake_over

__all__ = ["FakeTensorConverter", "MetaConverter", "is_sparse_any", "safe_is_leaf"]

_KEPT = STRIDED | CONJUGATE | NEGATIVE | INFERENCE


def safe_is_leaf(t: Tensor) -> bool:
    """Whether a tensor has no history; False where it cannot be asked."""
    try:
        return bool(t.is_leaf)
    except RuntimeError:
        return False


def is_sparse_any(t: object) -> bool:
    """Whether a tensor has a sparse layout."""
    return is_sparse(t)


class MetaConverter:
    """Blocks of memory of real tensors to blocks of the meta device, one for each.

    Attributes
    ----------
    storage_memo
        Identity of a block -> the meta block that stands for it, as long as that is in use.
    """

    def __init__(self) -> None:
        self.storage_memo: WeakValueDictionary[int, Block] = WeakValueDictionary()

    def elem_of(self, real: Tensor, layouts: SymbolicLayouts | None = None) -> Tensor:
        """A meta tensor of the layout of a real one, on the block that stands for its memory."""
        size = real._dtype.itemsize
        shape, steps, offset = _layout_of(real) if layouts is None else layouts.of(real)
        strides = tuple(step * size for step in steps)
        array = MetaArray(shape, real._dtype.numpy_dtype, strides, offset * size)
        elem = new_tensor(array, real._dtype, META | real._keys & _KEPT)
        cell = elem._cell = Cell(elem)
        self._block_for(real, array, layouts).enter(cell)
        return elem

    def _block_for(self, real: Tensor, array: MetaArray, layouts: SymbolicLayouts | None) -> Block:
        block = block_of(real)
        found = self.storage_memo.get(id(block))
        if found is None or found.attributes["stands for"]() is not block:
            nbytes = block.nbytes if layouts is None else layouts.nbytes_of(block, array)
            found = Block(MetaArray((nbytes,), uint8.numpy_dtype), meta, META)
            found.attributes["stands for"] = ref(block)
            self.storage_memo[id(block)] = found
        return found


class RealCopies:
    """Copies of real tensors, which have copies of their memory in common where these have the memory in common."""

    def __init__(self) -> None:
        #: Identity of a block -> a reference to it, and a storage with what it held.
        self._storages: dict[int, tuple[Any, Any]] = {}

    def of(self, real: Tensor) -> Tensor:
        """A tensor of the layout and elements of a real one, without history."""
        block = block_of(real)
        known = self._storages.get(id(block))
        if known is None or known[0]() is not block:
            known = self._storages[id(block)] = ref(block), real.untyped_storage().clone()
        made: Tensor = ops.empty((0,), dtype=real.dtype, device=real.device)
        made.set_(known[1], real.storage_offset(), tuple(real.shape), real.stride())
        made._keys |= real._keys & (CONJUGATE | NEGATIVE)
        return made


class FakeTensorConverter:
    """Real tensors to the fake tensors of a mode, one for each, which alias as the real ones do.

    Parameters
    ----------
    copy_data
        Fake tensors have a `real_tensor`, a copy of the one that they are made of.

    Attributes
    ----------
    tensor_memo
        Identity of a tensor -> the fake one that stands for it, as long as that is in use.
    """

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.copies = RealCopies() if copy_data else None
        self.export = export
        self.meta_converter = MetaConverter()
        self.tensor_memo: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def from_real_tensor(
        self, fake_mode: Any, t: Tensor, make_constant: bool = False, *, layouts: SymbolicLayouts | None = None
    ) -> Any:
        """The fake tensor of a real one, which it has a `constant` of if so asked.

        Parameters
        ----------
        layouts
            Gives it a symbolic layout.

        Raises
        ------
        UnsupportedFakeTensorException
            For tensors of ``vmap`` and other transforms.
        """
        known = self._known(within_reach(t))
        if known is not None:
            return known
        with without_modes():
            made = self._converted(fake_mode, t, layouts)
        if make_constant:
            remember(made, t)
        return self._entered(t, made)

    def from_meta_and_device(self, fake_mode: Any, t: Tensor, device: Any) -> FakeTensor:
        """The fake tensor of a device on the memory of a meta tensor."""
        known = self._known(t)
        made = known if known is not None else self._entered(t, fake_over(t, fake_mode, Device(device)))
        return made  # type: ignore[no-any-return]

    def _known(self, t: Tensor) -> Any:
        found = self.tensor_memo.get(id(t))
        return found if found is not None and found.stands_for() is t else None

    def _entered(self, t: Tensor, made: Any) -> Any:
        made.stands_for = ref(t)
        self.tensor_memo[id(t)] = made
        return made

    def _converted(self, mode: Any, t: Tensor, layouts: SymbolicLayouts | None) -> Any:
        if is_traceable_wrapper_subclass(t):
            return _converted_parts(self, mode, t, layouts)
        if is_hollow(t) and not isinstance(t, FakeTensor) or has_handler(type(t)) and not isinstance(t, FakeTensor):
            raise UnsupportedFakeTensorException(f"no fake tensor can stand for a {type(t).__name__} of this kind")
        made = self._view(mode, t, layouts) if t._base is not None else self._base(mode, t, layouts)
        if self.copies is not None and not isinstance(t, FakeTensor) and not t.is_meta:
            made.real_tensor = self.copies.of(t)
        if getattr(t, "_is_param", False) or _is_parameter(t):
            made._is_param = True
        if t.is_leaf and t.grad is not None:
            made.grad = self.from_real_tensor(mode, t.grad, layouts=layouts and layouts.part("grad"))
        return made

    def _base(self, mode: Any, t: Tensor, layouts: SymbolicLayouts | None) -> Any:
        made = fake_over(self.meta_converter.elem_of(t, layouts), mode, normalized(t.device))
        if not t._keys & AUTOGRAD:
            return made
        made._set_requires_grad(True)
        return made if t.is_leaf else _with_history(made)

    def _view(self, mode: Any, t: Tensor, layouts: SymbolicLayouts | None) -> Any:
        """A view of the fake tensor of the base, with the history that a view of it has."""
        base = self.from_real_tensor(mode, t._base, layouts=layouts and layouts.part("_base"))  # type: ignore[arg-type]
        recorded = t._keys & AUTOGRAD and not t.is_leaf
        if recorded and t._dtype is base._dtype and not t._keys & (CONJUGATE | NEGATIVE):
            with enable_grad(), mode:
                return base.as_strided(*(_layout_of(t) if layouts is None else layouts.of(t)))
        made = link_view(fake_over(self.meta_converter.elem_of(t, layouts), mode, normalized(t.device)), base)
        if t._keys & AUTOGRAD:
            made._set_requires_grad(True)
        return made


class SymbolicLayouts:
    """Makes the sizes, strides and offset of a tensor symbols of a `ShapeEnv`.

    Parameters
    ----------
    source
        Where the tensor can be read; None for a tensor that nobody knows how to read.
    context
        Which of its sizes become symbols; None for what was marked on the tensor, and the usual rule.
    """

    def __init__(self, env: Any, source: Any, context: Any) -> None:
        self.env = env
        self.source = env.unknown_source() if source is None else source
        self.context = context

    def of(self, real: Tensor) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
        """(shape, strides, offset) in elements; those of a fake tensor with symbols of the environment are kept."""
        given = _layout_of(real)
        if any(is_symbolic(n) and n.node.shape_env is self.env for n in (*given[0], *given[1], given[2])):
            return given
        made = self.env.create_symbolic_sizes_strides_storage_offset(
            real, self.source, symbolic_context=self.context
        )  # fmt: skip
        return made  # type: ignore[no-any-return]

    def part(self, member: str) -> SymbolicLayouts:
        """Those of a tensor that is an attribute of it: the context says what its base is like, gradients are alike."""
        context = self.context if member == "grad" else getattr(self.context, "view_base_context", None)
        return SymbolicLayouts(self.env, AttrSource(self.source, member), context)

    def nbytes_of(self, block: Block, array: MetaArray) -> Any:
        """How many bytes memory has: those up to the end of the tensor on it, else a symbol of their own."""
        end = array.offset + array.extent()
        if self.env.in_example(end) == self.env.in_example(block.nbytes):
            return end
        return self.env.symbol_of_memory(block.nbytes, self.source)


def _layout_of(real: Tensor) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    return tuple(real.shape), tuple(real.stride()), real.storage_offset()


def _converted_parts(converter: FakeTensorConverter, mode: Any, t: Tensor, layouts: SymbolicLayouts | None) -> Any:
    """A tensor that is made of others, of the fake tensors of these.

    Raises
    ------
    NotImplementedError
        For a symbolic layout.
    """
    if layouts is not None:
        raise NotImplementedError(f"symbolic sizes of a {type(t).__name__}, which is made of other tensors")
    return transform_subclass(t, lambda name, part: converter.from_real_tensor(mode, part))


def _is_parameter(t: Tensor) -> bool:
    from mt_nn.parameter import Parameter  # lazy: fake tensors need no modules

    return isinstance(t, Parameter)


def _with_history(made: Any) -> Any:
    """A tensor that is no leaf, and whose gradient goes nowhere."""
    with enable_grad():
        return DelayedError("Internal error: Tried to backward() through example input", 1)(made)
