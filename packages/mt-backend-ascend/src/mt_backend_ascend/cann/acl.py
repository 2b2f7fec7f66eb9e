"""libascendcl.so, bound: every call is checked."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from mt_core.plugins.discovery import PluginError

from .errors import AclError
from .libraries import load
from .prototypes import ALTERNATIVES, POINTERS, RUNTIME, TEXTS

__all__ = ["Acl", "bound"]

#: ``aclInit`` says so where another library of the process was first.
REPEATED = 100002


def bound(library: ctypes.CDLL, name: str, arguments: tuple[Any, ...]) -> Any:
    """A function of a library with its types set; None where the library does not export it."""
    function = getattr(library, name, None)
    if function is None:
        return None
    function.argtypes = arguments
    if name in TEXTS:
        function.restype = ctypes.c_char_p
    else:
        function.restype = ctypes.c_void_p if name in POINTERS else ctypes.c_int32
    return function


class Acl:
    """The functions of `prototypes.RUNTIME`, as methods of this object that raise for what is not success.

    Parameters
    ----------
    library
        libascendcl.so, loaded. It is initialized here, for the process.

    Raises
    ------
    PluginError
        When the library cannot be initialized.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self._functions: dict[str, Any] = {}
        status = self.raw("aclInit")(None)
        #: Whether ending the library is this object's.
        self.owns = status != REPEATED
        if status not in (0, REPEATED):
            raise PluginError(str(AclError("aclInit", status, self.recent_message())))

    @classmethod
    def loaded(cls) -> Acl:
        """On the library that CANN's folder, or the loader, has."""
        return cls(load("libascendcl.so"))

    def has(self, name: str) -> bool:
        """Whether the library exports a function."""
        return self._found(name) is not None

    def _found(self, name: str) -> Any:
        if name not in self._functions:
            self._functions[name] = bound(self.library, name, RUNTIME[name])
        return self._functions[name]

    def raw(self, name: str) -> Any:
        """A function that returns its status.

        Raises
        ------
        NotImplementedError
            Where this CANN does not have it.
        """
        found = self._found(name)
        if found is None:
            raise NotImplementedError(f"this CANN's libascendcl.so does not export {name}")
        return found

    def first_of(self, purpose: str) -> str:
        """The newest function for a purpose (`prototypes.ALTERNATIVES`) that the library exports.

        Raises
        ------
        NotImplementedError
            Where it exports none.
        """
        names = ALTERNATIVES[purpose]
        for name in names:
            if self.has(name):
                return name
        raise NotImplementedError(f"this CANN's libascendcl.so exports none of {', '.join(names)}")

    def call(self, name: str, *args: Any) -> None:
        """Call a function.

        Raises
        ------
        AclError
            With the function, the code and what CANN says of it.
        """
        status = self.raw(name)(*args)
        if status:
            self.check(status, name)

    def check(self, status: int, what: str) -> None:
        """Raise `AclError` for a status that is not success."""
        if status:
            raise AclError(what, status, self.recent_message())

    def recent_message(self) -> str:
        """What CANN noted of the calling thread's last error; reading it clears it."""
        found = self._found("aclGetRecentErrMsg")
        text = None if found is None else found()
        return text.decode(errors="replace").strip() if text else ""

    def asked(self, name: str, kind: Any, before: tuple[Any, ...] = (), after: tuple[Any, ...] = ()) -> Any:
        """Call a function with one out parameter of a C type, between other arguments; its value."""
        value = kind()
        self.call(name, *before, ctypes.byref(value), *after)
        return value.value

    def handle(self, make: Callable[[Any], int], what: str) -> int:
        """A handle or an address that a function writes: all its bits."""
        made = ctypes.c_void_p()
        self.check(make(ctypes.byref(made)), what)
        return made.value or 0
