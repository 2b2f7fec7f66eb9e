"""Calling two-phase aclnn operators.

The ABI. ``aclnnStatus aclnnXxxGetWorkspaceSize(<arguments>, uint64_t *workspaceSize, aclOpExecutor **executor)`` plans
a call; ``aclnnStatus aclnnXxx(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream)``
gives it to a stream and destroys the executor. Outputs are arguments. Sources: CANN's operator documentation,
"Two-phase APIs" (8.0 to 9.1); API reference, nnopbase/aclnn, aclDestroyAclOpExecutor.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import mt_core
from mt_core import dtypes
from mt_core.plugins.discovery import PluginError
from mt_core.plugins.kernel_arguments import common_index

from ..cann.acl import Acl
from ..cann.libraries import load
from ..custom_kernel.launcher import library_of
from ..custom_kernel.places import DEVICE, blocks_launches, drain, runtime_for, stream_of
from .arguments import converted, tensors_of
from .descriptors import Descriptors, Given

__all__ = ["AclnnOperator", "TwoPhases", "aclnn_op", "descriptors_for"]

#: CANN's own libraries of operators, which are looked for where its own are; others are paths.
OWN = "libopapi"


class TwoPhases:
    """The two functions of an operator.

    Parameters
    ----------
    names
        Of versions of the operator, the newest first; the first that the library exports is taken.

    Raises
    ------
    PluginError
        When the library exports none of them.
    """

    def __init__(self, names: Sequence[str], library: ctypes.CDLL) -> None:
        for name in names:
            plan, run = getattr(library, f"{name}GetWorkspaceSize", None), getattr(library, name, None)
            if plan is not None and run is not None:
                self.name = name
                self._plan = ctypes.cast(plan, ctypes.c_void_p).value or 0
                self._run = ctypes.CFUNCTYPE(
                    ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p
                )(ctypes.cast(run, ctypes.c_void_p).value or 0)
                return
        wanted = " or ".join(f"{name} with {name}GetWorkspaceSize" for name in names)
        raise PluginError(f"{library._name} does not export {wanted}")

    def planned(self, acl: Acl, types: Sequence[Any], values: Sequence[Any]) -> tuple[int, int]:
        """The workspace's size and the executor of a call."""
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        prototype = ctypes.CFUNCTYPE(ctypes.c_int32, *types, ctypes.c_void_p, ctypes.c_void_p)
        status = prototype(self._plan)(*values, ctypes.addressof(size), ctypes.addressof(executor))
        acl.check(status, f"{self.name}GetWorkspaceSize")
        return size.value, executor.value or 0

    def given(self, acl: Acl, workspace: int, size: int, executor: int, stream: int) -> None:
        """Give a planned call to a stream. The executor is CANN's from here on."""
        acl.check(self._run(workspace, size, executor, stream), self.name)


@functools.cache
def descriptors_for(acl: Acl) -> Descriptors:
    """The descriptors of a process."""
    return Descriptors(acl)


class AclnnOperator:
    """A two-phase operator; see `aclnn_op`. `name` is that of the version that was found."""

    def __init__(self, names: Sequence[str], library: Any, argtypes: Sequence[Any] | None) -> None:
        self._acl = _acl(names[0])
        found = load(str(library)) if str(library).startswith(OWN) else library_of(library)
        self._phases = TwoPhases(names, found)
        self.name = self._phases.name
        self.argtypes = None if argtypes is None else tuple(argtypes)

    def __repr__(self) -> str:
        return f"AclnnOperator({self.name!r})"

    def __call__(self, *args: Any, stream: Any = None) -> None:
        """Give the operator to a stream; does not wait for it.

        Parameters
        ----------
        args
            As the C function takes them, outputs among them: tensors of one device (any strides), None, lists of
            tensors or numbers, texts, and numbers in C types (``i64(2)``) or as `scalar`.
        stream
            A ``torch.npu.Stream`` or the address of an ``aclrtStream``; by default the current one.

        Raises
        ------
        TypeError, ValueError, OverflowError
            For arguments that are not what was declared.
        AclError
            When CANN refuses the call.
        OutOfMemoryError
            When there is no room for the workspace.
        """
        if self.argtypes is not None and len(args) != len(self.argtypes):
            raise TypeError(f"{self.name} takes {len(self.argtypes)} arguments ({self.argtypes}), not {len(args)}")
        drain()
        tensors = tensors_of(args)
        index = common_index(tensors, DEVICE)
        runtime = runtime_for(self.name)
        handle = stream_of(stream, runtime, index)
        driver = getattr(runtime, "driver", None)
        if driver is not None:
            driver.bind(index)
        made: list[Given] = []
        descriptors = descriptors_for(self._acl)
        try:
            pairs = [
                converted(
                    value, None if self.argtypes is None else self.argtypes[at], f"{self.name}: argument {at}",
                    descriptors, made,
                )
                for at, value in enumerate(args)
            ]  # fmt: skip
            size, executor = self._phases.planned(self._acl, [t for t, _ in pairs], [v for _, v in pairs])
            try:
                workspace = _workspace(size, index)
            except Exception:
                descriptors.destroy_executor(executor)
                raise
            address = 0 if workspace is None else int(workspace.data_ptr())
            self._phases.given(self._acl, address, size, executor, handle.native)
        finally:
            for given in made:
                descriptors.destroy(given)
        if stream is not None:
            for each in (*tensors, *(() if workspace is None else (workspace,))):
                runtime.record_stream(each._array, handle)
        if blocks_launches():
            handle.synchronize()


def _workspace(size: int, index: int) -> Any:
    """Memory for a call, from the allocator of tensors: it is handed out again behind the call, on its stream."""
    return mt_core.empty(size, dtype=dtypes.uint8, device=f"{DEVICE}:{index}") if size else None


def _acl(name: str) -> Acl:
    runtime = runtime_for(name)
    driver = getattr(runtime, "driver", None)
    return driver.acl if driver is not None else Acl.loaded()


def aclnn_op(name: str | Sequence[str], library: Any, argtypes: Sequence[Any] | None = None) -> AclnnOperator:
    """An operator that comes as a two-phase package: ``aclnnXxxGetWorkspaceSize`` and ``aclnnXxx``.

    Parameters
    ----------
    name
        ``"aclnnXxx"``; or the names of several versions that take the same arguments, the newest first.
    library
        The shared object that exports it: a path, or ``"libopapi.so"``, CANN's own.
    argtypes
        The types of its arguments, in order: ``tensor``, ``i64`` and the like, ``"ints"``, ``"floats"``, ``"bools"``,
        ``"scalar"``, ``"text"``, or None where the value says it. None where each call says all.

    Raises
    ------
    RuntimeError
        Where there is no NPU.
    PluginError
        When the library cannot be loaded, or lacks the functions.
    """
    names = (name,) if isinstance(name, str) else tuple(name)
    if not names:
        raise ValueError("aclnn_op() needs the name of an operator")
    return AclnnOperator(names, library, argtypes)
