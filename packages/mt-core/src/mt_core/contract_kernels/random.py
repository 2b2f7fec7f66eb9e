"""Random numbers on a device whose backend has no kernels for them: drawn on the host, written to the device.

The operator runs on the CPU, on tensors of the same shape, dtype and strides, with an engine that is the device's: so
the numbers, and the errors, are those that the CPU gives for a generator of the same seed, and a device's stream is
its own. It costs a copy to the device for each call, and one from it for each argument whose elements matter (the
probabilities of ``bernoulli_``). A device whose generators are its runtime's (`mt_core.plugins.runtime.Generators`)
draws by itself: its backend has the kernels too, and what it lacks of them raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import _functions as ops
from ..cell import cell_of
from ..devices import device
from ..dispatch.elementwise import check_same_device
from ..dispatch.memory import check_no_internal_overlap
from ..dispatch.registry import SHAPE_RULES, Overload, find_overload, load_family, register_contract_kernel
from ..keys import META
from ..random.devices import generator_for
from ..random.engine import MersenneTwister
from ..random.generator import Generator
from ..state import tls
from ..tensor import Tensor
from .creation import allocate, copy_, empty_strided, to_copy

__all__ = ["drawn_on_host"]

_CPU = device("cpu")


def _host_generator(overload: Overload, generator: Generator | None, place: device) -> Generator:
    """A generator of the CPU that draws from the engine of a device.

    Raises
    ------
    RuntimeError
        When the generator belongs to another device.
    NotImplementedError
        When the device's engine draws on the device only.
    """
    chosen = generator_for(generator, place.type, place.index)
    engine = chosen.engine
    if not isinstance(engine, MersenneTwister):
        raise NotImplementedError(
            f"{overload.qualified_name} has no kernel for device '{place.type}', and the device's own generators do "
            "not draw on the host: its backend must give a kernel"
        )
    return Generator.on_engine(engine)


def drawn_on_host(name: str) -> Callable[..., Any]:
    """The kernel on tensors of a random operator, for any backend; see the module."""
    overload = find_overload(name)
    arguments = overload.schema.arguments
    written = [i for i, a in enumerate(arguments) if a.writes]
    read = [i for i, a in enumerate(arguments) if a.is_tensor and not a.writes]
    generator_at = next((i for i, a in enumerate(arguments) if a.type == "Generator"), None)
    device_at = next((i for i, a in enumerate(arguments) if a.type == "Device"), None)

    def drawn(args: tuple[Any, ...], place: device) -> list[Any]:
        """The arguments for the CPU, and what it made of them last."""
        hosts = list(args)
        for i in read:
            hosts[i] = to_copy(args[i], None, None, _CPU, None, False, None)
        for i in written:
            hosts[i] = _memory_like(args[i])
        if device_at is not None:
            hosts[device_at] = _CPU
        if generator_at is not None:
            hosts[generator_at] = _host_generator(overload, args[generator_at], place)
        hosts.append(overload.call(*hosts))
        return hosts

    def fill(*args: Any) -> Any:
        target = args[written[0]]
        check_same_device([args[i] for i in (*written, *read)])
        check_no_internal_overlap(target)
        if target._keys & META:
            _rule(overload)(*args)
            cell_of(target).version += 1
            return target
        return copy_(target, drawn(args, target.device)[written[0]], False)

    def make(*args: Any) -> Any:
        tensors = [args[i] for i in read]
        check_same_device(tensors)
        place = tensors[0].device if device_at is None else args[device_at] or tls.default_device
        if place.type == "meta":
            spec = _rule(overload)(*args)
            return allocate(spec.shape, spec.dtype, place)
        return to_copy(drawn(args, place)[-1], None, None, place, None, False, None)

    return fill if written else make


def _rule(overload: Overload) -> Callable[..., Any]:
    """The operator's shape rule, which is all of it on the meta device."""
    load_family("mt_core.shape_rules", overload.family)
    return SHAPE_RULES[overload.name]


def _memory_like(tensor: Tensor) -> Tensor:
    """Uninitialized memory of the CPU in a tensor's shape, dtype and strides: numbers are drawn in memory order."""
    return empty_strided(tuple(tensor.shape), tensor.stride(), tensor.dtype, None, _CPU, None)


for _name in (
    "uniform_", "normal_", "log_normal_", "exponential_", "cauchy_", "geometric_", "bernoulli_.Tensor",
    "bernoulli_.float", "random_", "random_.from", "random_.to", "randperm.generator", "multinomial", "poisson",
    "binomial", "_standard_gamma", "_sample_dirichlet",
):  # fmt: skip
    register_contract_kernel(_name)(drawn_on_host(_name))


@register_contract_kernel("randperm")
def randperm(n: int, *options: Any) -> Tensor:
    """-> (n,), drawn on the host."""
    # The overload without a generator names none that could be the device's.
    return ops.randperm(
        n, generator=None, **dict(zip(("dtype", "layout", "device", "pin_memory"), options, strict=True))
    )
