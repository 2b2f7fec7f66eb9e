"""``torch.<device>``: which devices there are, which is current, and what they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import mt_core
from mt_core import Tensor
from mt_core.plugins import runtime_access

from .absence import absence_of

__all__ = ["Control", "named"]


def named(device_type: str, name: str) -> Callable[[type], Any]:
    """Decorator: the class is ``torch.<device>.<name>``, for pickles and for people."""

    def name_class(cls: type) -> type:
        cls.__module__ = f"mindtorch.{device_type}"
        cls.__name__ = cls.__qualname__ = name
        return cls

    return name_class


class Control:
    """The functions that need no stream; what they share with the others, too.

    Parameters
    ----------
    device_type
        The type whose devices the functions are about.
    """

    def __init__(self, device_type: str) -> None:
        self.device_type = device_type
        self.absence = absence_of(device_type)

    # What the functions share

    def runtime(self, part: str, function: str) -> Any:
        """The runtime, for a function that needs one of its parts.

        Raises
        ------
        AssertionError, RuntimeError
            When there is no device, in the words of PyTorch's CPU build.
        NotImplementedError
            When the backend has no runtime, or the runtime no such part.
        """
        if not self.device_count():
            raise self.absence.error(function)
        return runtime_access.require(self.device_type, part, f"torch.{self.device_type}.{function}")

    def place(self, device: Any) -> int | None:
        """The index that a device argument names: None for the current device, or a negative number for none.

        Raises
        ------
        ValueError
            For a device of another type.
        """
        if device is None or isinstance(device, int):
            return device
        where = mt_core.device(device)
        if where.type != self.device_type:
            raise ValueError(f"Expected a {self.device_type} device, but got: {device}")
        return where.index

    def index(self, device: Any) -> int:
        """The index of a device that exists, the current one for None."""
        return runtime_access.checked_index(self.device_type, self.place(device))

    # The functions

    def device_count(self) -> int:
        """How many devices can be used."""
        return runtime_access.count_devices(self.device_type)

    def is_available(self) -> bool:
        """Whether there is one."""
        return self.device_count() > 0

    def is_initialized(self) -> bool:
        """Whether the devices are in use in this process; they are ready as soon as there are any."""
        return self.is_available()

    def init(self) -> None:
        """Get the devices ready. They get ready by themselves; without one it raises."""
        self._check_present("init")

    def _check_present(self, function: str) -> None:
        if not self.device_count():
            raise self.absence.error(function)

    def _is_compiled(self) -> bool:
        """Whether there is a backend for such devices."""
        return self.is_available()

    def _is_in_bad_fork(self) -> bool:
        """Whether this process was forked from one that used the devices, which CUDA cannot stand."""
        return False

    def current_device(self) -> int:
        """Index of the current device."""
        return int(self.runtime("device control", "current_device").current_device())

    def set_device(self, device: Any) -> None:
        """Make a device the current one; negative numbers change nothing."""
        index = self.place(device)
        if index is None or index >= 0:
            runtime = self.runtime("device control", "set_device")
            runtime.set_device(self.index(index))

    def _exchange_device(self, device: int) -> int:
        """Make a device the current one, unless negative, and return the index of the one that was; -1 if unknown."""
        return self._exchanged(device, "_exchange_device")

    def _maybe_exchange_device(self, device: int) -> int:
        """The same; CUDA does not start a device for it that was not in use."""
        return self._exchanged(device, "_maybe_exchange_device")

    def _exchanged(self, device: int, function: str) -> int:
        if device < 0:
            return -1
        if not self.device_count():
            raise self.absence.exchange_error(function)
        previous = self.current_device()
        self.set_device(device)
        return previous

    def synchronize(self, device: Any = None) -> None:
        """Wait until all work that a device was given is done; by default of the current device."""
        self.runtime("device control", "synchronize").synchronize(self.index(device))

    def get_device_properties(self, device: Any = None) -> Any:
        """What a device is: an object with `name`, `total_memory` and more."""
        return self.runtime("device control", "get_device_properties").properties(self.index(device))

    def get_device_name(self, device: Any = None) -> str:
        """The name of a device."""
        return str(self.runtime("device control", "get_device_name").properties(self.index(device)).name)

    def get_device_capability(self, device: Any = None) -> Any:
        """What a device can do; (major, minor) for CUDA."""
        return self.runtime("device control", "get_device_capability").capability(self.index(device))

    def can_device_access_peer(self, device: Any, peer_device: Any) -> bool:
        """Whether a device reads another's memory without a copy by way of the host."""
        runtime = self.runtime("device control", "can_device_access_peer")
        return bool(runtime.can_access_peer(self.index(device), self.index(peer_device)))

    def is_bf16_supported(self, including_emulation: bool = True) -> bool:
        """Whether the current device holds bfloat16 tensors; False without a device."""
        if not self.device_count():
            return False
        runtime = self.runtime("device control", "is_bf16_supported")
        return mt_core.bfloat16 in set(runtime.supported_dtypes(runtime.current_device()))

    def members(self) -> Mapping[str, Any]:
        """All that the runtime adds to the module; empty without a device or a runtime."""
        return getattr(runtime_access.runtime_of(self.device_type), "members", {})

    def _member(self, name: str) -> Any:
        """What the runtime adds to the module under a name (`Devices`, ``members``).

        Raises
        ------
        NotImplementedError
            When it adds no such thing.
        """
        found = self.members().get(name)
        if found is None:
            raise NotImplementedError(
                f"torch.{self.device_type}.{name} is not supported: the device runtime of '{self.device_type}' has no "
                f"member of that name"
            )
        return found

    def optional(self, name: str) -> Callable[..., Any]:
        """A function that only some devices have: the runtime's member of that name, and a refusal without one."""

        def function(*args: Any, **kwargs: Any) -> Any:
            self._check_present(name)
            return self._member(name)(*args, **kwargs)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = "Only some devices have it: raises NotImplementedError where the runtime brings none."
        return function

    def optional_answer(self, name: str, absent: Any) -> Callable[..., Any]:
        """The same for a question, which is answered by `absent` where there is no device."""
        present = self.optional(name)

        def function(*args: Any, **kwargs: Any) -> Any:
            return present(*args, **kwargs) if self.device_count() else copy.copy(absent)

        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"{absent!r} without a device; with one, only where the runtime brings it."
        return function

    def optional_class(self, name: str) -> type:
        """A class that only some devices have, for annotations and ``isinstance`` elsewhere."""
        control = self

        def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
            if not control.device_count():
                raise control.absence.dummy_error(name)
            return control._member(name)(*args, **kwargs)

        doc = "Only some devices have it: raises NotImplementedError where the runtime brings none."
        return named(self.device_type, name)(type(name, (), {"__new__": __new__, "__doc__": doc}))

    # The contexts

    def device_class(self) -> type:
        """The class ``torch.<device>.device``."""
        control = self

        @named(self.device_type, "device")
        class device:
            """Context manager: make a device the current one; None and negative numbers change nothing.

            Raises
            ------
            ValueError
                For a device of another type.
            """

            def __init__(self, device: Any) -> None:
                index = -1 if device is None else control.place(device)
                #: Of a device without an index it is the current one.
                self.idx = runtime_access.current_index(control.device_type) if index is None else index
                self.prev_idx = -1

            def __enter__(self) -> None:
                self.prev_idx = control._exchange_device(self.idx)

            def __exit__(
                self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
            ) -> None:
                if self.prev_idx >= 0:
                    control.set_device(self.prev_idx)

        return device

    def device_of_class(self, device: type) -> type:
        """The class ``torch.<device>.device_of``."""
        control = self

        @named(self.device_type, "device_of")
        class device_of(device):  # type: ignore[valid-type, misc]
            """Context manager: make the device of a tensor the current one; nothing for tensors of other types."""

            def __init__(self, obj: Any) -> None:
                where = obj.device if isinstance(obj, Tensor) else mt_core.device(obj.device)
                super().__init__(where.index if where.type == control.device_type else -1)

        return device_of
