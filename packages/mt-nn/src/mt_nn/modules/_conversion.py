"""Changing the dtype, device, layout or mode of everything in a module tree."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mt_core as mt
from mt_core import Tensor, device_methods
from mt_core.block import have_one_kind
from mt_core.dtypes import of_python_type
from mt_core.swapping import swap_tensors

from .. import _conversion_settings as settings
from ..parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from typing_extensions import Self


class ModuleConversion:
    """The part of `Module` that applies a function to its tensors, and what is built on that."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of every parameter, its gradient and every buffer by ``fn`` of them.

        A parameter stays the same object, its `data` being set, unless values move to or from the meta device or its
        class is not its new values' own. ``torch.__future__`` has two other ways: new parameters, or exchanged ones.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                self._parameters[name] = self._converted(fn, name, param)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _converted(self, fn: Callable[[Tensor], Tensor], name: str, param: Parameter) -> Parameter:
        if not settings.get_swap_module_params_on_conversion():
            return _apply_to_parameter(fn, param)
        try:
            _swap_with_converted(fn, param)
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {type(self).__name__}.{name}") from error
        return param

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call ``fn`` on every module of the tree, children first, for example to initialize weights."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def cuda(self, device: int | mt.device | None = None) -> Self:
        """Move everything to a CUDA device, by default the current one."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def ipu(self, device: int | mt.device | None = None) -> Self:
        """Move everything to an IPU."""
        return self._apply(lambda tensor: tensor.ipu(device))

    def xpu(self, device: int | mt.device | None = None) -> Self:
        """Move everything to an XPU."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def mtia(self, device: int | mt.device | None = None) -> Self:
        """Move everything to an MTIA device."""
        return self._apply(lambda tensor: tensor.mtia(device))

    def cpu(self) -> Self:
        """Move everything to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def type(self, dst_type: mt.dtype | str) -> Self:
        """Cast everything, integers too, to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Cast floating-point tensors to float32."""
        return self._cast_floating_point(mt.float32)

    def double(self) -> Self:
        """Cast floating-point tensors to float64."""
        return self._cast_floating_point(mt.float64)

    def half(self) -> Self:
        """Cast floating-point tensors to float16."""
        return self._cast_floating_point(mt.float16)

    def bfloat16(self) -> Self:
        """Cast floating-point tensors to bfloat16."""
        return self._cast_floating_point(mt.bfloat16)

    def _cast_floating_point(self, dtype: mt.dtype) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def to_empty(self, *, device: str | mt.device | int | None, recurse: bool = True) -> Self:
        """Move everything to a device without its values: memory there is left uninitialized.

        Parameters
        ----------
        device
            Where to.
        recurse
            Whether the modules below move too.
        """
        return self._apply(lambda tensor: mt.empty_like(tensor, device=device), recurse=recurse)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or cast everything, in place.

        Called as ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype, non_blocking=False)``,
        ``to(tensor, non_blocking=False)`` or ``to(memory_format=...)``. A dtype applies to floating-point and complex
        tensors only, a memory format to 4-d and 5-d ones.

        Raises
        ------
        TypeError
            The dtype is neither floating-point nor complex.
        NotImplementedError
            Values would have to come from the meta device.
        """
        device, dtype, non_blocking, memory_format = _parsed_to(args, kwargs)
        if dtype is not None:
            _check_module_dtype(dtype)

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            try:
                if memory_format is not None and tensor.dim() in (4, 5):
                    return tensor.to(device, wanted, non_blocking, memory_format=memory_format)
                return tensor.to(device, wanted, non_blocking)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device."
                ) from None

        return self._apply(convert)

    def train(self, mode: bool = True) -> Self:
        """Put the whole tree into training mode, or into evaluation mode with ``mode=False``."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Put the whole tree into evaluation mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients are recorded for every parameter."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop every parameter's gradient, or with ``set_to_none=False`` fill it with zeros."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                "copied (in a differentiable manner) from the original module. This means they are not leaf nodes in "
                "autograd and so don't accumulate gradients. If you need gradients in your forward method, consider "
                "using autograd.grad instead.",
                stacklevel=2,
            )
        for param in self.parameters():
            if param.grad is None:
                continue
            if set_to_none:
                param.grad = None
            else:
                _detached_in_place(param.grad).zero_()

    def share_memory(self) -> Self:
        """Move everything to memory that other processes can map. See `Tensor.share_memory_`."""
        return self._apply(lambda tensor: tensor.share_memory_())


_TO_SIGNATURES = """
 * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, \
torch.memory_format memory_format = None)
 * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
 * (Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)
"""


def _parsed_to(args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of a call of `Module.to`, in any of its forms."""
    # Python's own types stand for dtypes.
    args = tuple([_as_dtype(value) for value in args])
    if "dtype" in kwargs:
        kwargs = {**kwargs, "dtype": _as_dtype(kwargs["dtype"])}
    first = args[0] if args else None
    kinds: dict[str, Any] = {"non_blocking": bool, "copy": bool}
    if isinstance(first, Tensor):
        kinds = {"tensor": Tensor, **kinds}
    elif isinstance(first, mt.dtype):
        kinds = {"dtype": mt.dtype, **kinds}
    else:
        kinds = {"device": (mt.device, str, int, type(None)), "dtype": (mt.dtype, type(None)), **kinds}
    given = dict(zip(kinds, args, strict=False))
    allowed = {"tensor", "device", "dtype", "non_blocking", "copy", "memory_format"}
    wrong = any(not isinstance(value, kinds[name]) for name, value in given.items())
    if wrong or len(args) > len(kinds) or set(given) & set(kwargs) or not set(kwargs) <= allowed:
        raise _no_such_to(args, kwargs)
    given.update(kwargs)
    if given.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    tensor, device, dtype = given.get("tensor"), given.get("device"), given.get("dtype")
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    device = device if device is None or isinstance(device, mt.device) else mt.device(device)
    return device, dtype, given.get("non_blocking", False), given.get("memory_format")


def _as_dtype(value: Any) -> Any:
    return of_python_type(value) or value


def _no_such_to(args: tuple, kwargs: dict[str, Any]) -> TypeError:
    got = [type(value).__name__ for value in args] + [f"{key}={type(value).__name__}" for key, value in kwargs.items()]
    listed = ", ".join(got) + (", " if kwargs else "")
    return TypeError(
        f"to() received an invalid combination of arguments - got ({listed}), but expected one of:{_TO_SIGNATURES}"
    )


def _detached_in_place(grad: Tensor) -> Tensor:
    if grad.grad_fn is not None:
        return grad.detach_()
    return grad.requires_grad_(False)


def _check_module_dtype(dtype: mt.dtype) -> None:
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    if dtype.is_complex:
        warnings.warn(
            "Complex modules are a new feature under active development whose design may change, and some modules "
            "might not work as expected when using complex tensors as parameters or buffers. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work "
            "as expected.",
            stacklevel=3,
        )


def _can_take_data_of(tensor: Tensor, other: Tensor) -> bool:
    """Whether ``tensor.data = other`` is possible, and asked for."""
    if settings.get_overwrite_module_params_on_conversion():
        return False
    return have_one_kind(tensor, other) and (is_lazy(tensor) or type(other) in (Tensor, Parameter))


def _apply_to_parameter(fn: Callable[[Tensor], Tensor], param: Parameter) -> Parameter:
    with mt.no_grad():
        applied = fn(param)
    grad = param.grad
    if _can_take_data_of(param, applied):
        param.data = applied
        result = param
    else:
        result = Parameter(applied, param.requires_grad)
    if grad is not None:
        _apply_to_grad(fn, result, grad)
    return result


def _swap_with_converted(fn: Callable[[Tensor], Tensor], param: Parameter) -> None:
    """Exchange a parameter, and its gradient, with what ``fn`` makes of it."""
    with mt.no_grad():
        applied = fn(param)
    grad, param.grad = param.grad, None
    swap_tensors(param, Parameter(applied, param.requires_grad))
    if grad is not None:
        with mt.no_grad():
            applied_grad = fn(grad).requires_grad_(grad.requires_grad)
        if applied_grad is not grad:
            swap_tensors(grad, applied_grad)
        param.grad = grad


def _apply_to_grad(fn: Callable[[Tensor], Tensor], param: Parameter, grad: Tensor) -> None:
    with mt.no_grad():
        applied = fn(grad)
    if _can_take_data_of(grad, applied):
        grad.data = applied
        param.grad = grad
    else:
        param.grad = applied.requires_grad_(grad.requires_grad)


def _device_methods_of_modules(name: str, strict: bool, unsupported: list[Any]) -> None:
    def to_device(self: ModuleConversion, device: int | mt.device | None = None) -> ModuleConversion:
        return self._apply(lambda tensor: getattr(tensor, name)(device))

    to_device.__name__ = name
    to_device.__doc__ = f"Move everything to a device of type '{name}', by default the current one."
    device_methods.install(ModuleConversion, name, to_device, strict)


device_methods.offer("module", _device_methods_of_modules)
