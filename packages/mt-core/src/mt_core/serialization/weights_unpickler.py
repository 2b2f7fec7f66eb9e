"""A pickle interpreter that runs no code: the reader of ``torch.load(..., weights_only=True)``.

Python's own unpickler lets a file import anything, call anything, set attributes of anything and use any object as a
mapping. This one knows only the instructions that a file of tensors, numbers, strings and containers needs, calls only
what `allowlist` allows, and changes only containers that the file itself made.
"""

from __future__ import annotations

import dataclasses
import pickle
import pickletools
import struct
import warnings
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from pickle import UnpicklingError
from typing import IO, Any

from ..plugins.remedies import from_a_clone
from ..tensor import Tensor
from . import allowlist, rebuild
from .signatures import check_key

__all__ = ["RERUN", "WeightsUnpickler", "unsafe_globals"]

_DEFAULT_PROTOCOL = 2
#: The most bytes that are asked of the file at once.
_PIECE = 1 << 20
_MARK = object()
_MAPPINGS = (dict, OrderedDict, Counter)
#: What NEWOBJ may make without arguments besides what the user allows.
_NEW_CONTAINERS = (OrderedDict, Counter, set, bytearray)


def python3_name(module: str, name: str) -> tuple[str, str]:
    """The present name of what protocols below 3 call by its Python 2 name (``__builtin__ set``)."""
    if (module, name) in NAME_MAPPING:
        return NAME_MAPPING[module, name]
    return IMPORT_MAPPING.get(module, module), name


def _full_name(module: str, name: str) -> str:
    return f"{module}.{name}"


class _Instruction:
    """Marks a method as the handler of an opcode."""

    table: dict[int, Callable[[WeightsUnpickler], None]] = {}

    def __init__(self, opcode: bytes) -> None:
        self.opcode = opcode[0]

    def __call__(self, method: Any) -> Any:
        _Instruction.table[self.opcode] = method
        return method


@dataclasses.dataclass(slots=True)
class _Callee:
    """What a file has named and may call."""

    named: Any
    called: Any
    name: Any = None  #: its full name, if the arguments are held to a signature; not for what the user allows


class WeightsUnpickler:
    """Reads one pickle from `file`.

    Parameters
    ----------
    file
        Anything with ``read`` and ``readline``. It is left just behind the pickle.
    persistent_load
        Given the tuple that stands for a storage in the file, returns the storage.
    record
        What errors call the file.
    encoding
        How the bytes of a Python 2 ``str`` become text.

    `load` raises `pickle.UnpicklingError` for whatever is not allowed or makes no sense, EOFError where the file ends
    early.
    """

    #: Opcode -> handler; formats that need others have them in a class of their own.
    _table: dict[int, Callable[[Any], None]] = _Instruction.table

    def __init__(
        self, file: IO[bytes], persistent_load: Callable[[Any], Any], record: str = "the file", *,
        encoding: str = "ASCII",
    ) -> None:  # fmt: skip
        self._record = record
        self._tell = file.tell
        self._file_read = file.read
        self._file_readline = file.readline
        self._persistent_load = persistent_load
        self._encoding = encoding
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._user = allowlist.user_globals()
        self._user_values = list(self._user.values())
        #: What the file has named and may call, by identity.
        self._calls: dict[int, _Callee] = {}

    def load(self) -> Any:
        """The object that the pickle describes."""
        try:
            return self._run()
        except (UnpicklingError, EOFError) as error:
            raise type(error)(f"{error} ({self._place()})") from None

    def _place(self) -> str:
        """Where in the file reading stands."""
        return f"{self._record}, before byte {self._tell()}"

    def _run(self) -> Any:
        table = self._table
        while True:
            opcode = self._read(1)[0]
            handler = table.get(opcode)
            if handler is None:
                if opcode == pickle.STOP[0]:
                    return self._pop()
                raise UnpicklingError(f"Unsupported operand {opcode}")
            handler(self)

    # Reading

    def _read(self, count: int) -> bytes:
        data = self._file_read(count) if count <= _PIECE else b"".join(self._pieces(count))
        if len(data) != count:
            raise EOFError("the pickle ends in the middle of an instruction: the file is truncated")
        return data

    def _pieces(self, count: int) -> Iterator[bytes]:
        """Up to `count` bytes, asked for as they come: a file may announce more than it has."""
        while count and (piece := self._file_read(min(count, _PIECE))):
            count -= len(piece)
            yield piece

    def _read_number(self, form: str) -> Any:
        return struct.unpack(form, self._read(struct.calcsize(form)))[0]

    def _read_line(self) -> str:
        line = self._file_readline()
        if not line.endswith(b"\n"):
            raise EOFError("the pickle ends in the middle of an instruction: the file is truncated")
        return _decoded(line[:-1], "utf-8")

    # The stack

    def _pop(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise UnpicklingError("unexpected end of the pickle's stack: the file is corrupt")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise UnpicklingError("unexpected end of the pickle's stack: the file is corrupt")
        return self._stack[-1]

    def _pop_to_mark(self) -> list[Any]:
        stack = self._stack
        for position in range(len(stack) - 1, -1, -1):
            if stack[position] is _MARK:
                items = stack[position + 1 :]
                del stack[position:]
                return items
        raise UnpicklingError("the pickle closes a group that it never opened: the file is corrupt")

    def _pop_tuple(self, what: str) -> tuple[Any, ...]:
        value = self._pop()
        if type(value) is not tuple:
            raise UnpicklingError(f"{what} must be a tuple, got {type(value)}: the file is corrupt")
        return value

    # Names

    def _find_global(self, module: str, name: str) -> Any:
        full_name = _full_name(module, name)
        if module in allowlist.BLOCKED_MODULES:
            raise _BlockedGlobalError(
                f"Trying to load unsupported GLOBAL {full_name} whose module {module} is blocked."
            )
        if full_name in self._user:
            found = self._user[full_name]
            self._calls[id(found)] = _Callee(found, found)
            return found
        if allowlist.is_allowed_name(full_name):
            try:
                found, function = allowlist.find_allowed(full_name)
            except LookupError:
                raise RuntimeError(
                    f"the file names {full_name}, which belongs to a part of mindtorch that is not installed: "
                    + from_a_clone("mindtorch")
                ) from None
            if allowlist.is_callable_name(full_name):
                self._calls[id(found)] = _Callee(found, function, full_name)
            return found
        raise _UnsupportedGlobalError(_unsupported_global(full_name))

    @_Instruction(pickle.GLOBAL)
    def _global(self) -> None:
        module = self._read_line()
        name = self._read_line()
        self._stack.append(self._find_global(*python3_name(module, name)))

    # Calls and state

    @_Instruction(pickle.REDUCE)
    def _reduce(self) -> None:
        args = self._pop_tuple("the arguments of a call")
        function = self._pop()
        callee = self._calls.get(id(function))
        if callee is None or callee.named is not function:
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {_described(function)}")
        self._stack.append(callee.called(*args) if callee.name is None else self._call_known(callee, args))

    def _call_known(self, callee: _Callee, args: tuple[Any, ...]) -> Any:
        allowlist.signature_of(callee.name).check(callee.name, args)
        return self._placed(callee.called, *args)

    def _placed(self, function: Callable[..., Any], *args: Any) -> Any:
        """The function's result; what it refuses is refused with the place in the file."""
        try:
            return function(*args)
        except RuntimeError as error:
            if type(error) not in (RuntimeError, NotImplementedError):
                raise
            raise type(error)(f"{error} ({self._place()})") from error

    @_Instruction(pickle.NEWOBJ)
    def _new_object(self) -> None:
        args = self._pop_tuple("the arguments of a class")
        cls = self._pop()
        if isinstance(cls, type) and any(cls is allowed for allowed in self._user_values):
            self._stack.append(cls.__new__(cls, *args))
        elif cls in _NEW_CONTAINERS and not args:
            self._stack.append(cls())
        elif isinstance(cls, type) and issubclass(cls, Tensor) and not args:
            self._stack.append(cls.__new__(cls))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
                f"{_described(cls)}"
            )

    @_Instruction(pickle.BUILD)
    def _build(self) -> None:
        state = self._pop()
        instance = self._top()
        cls = type(instance)
        if cls is OrderedDict:
            _update_attributes(instance, state)
        elif any(cls is allowed for allowed in self._user_values):
            _set_state(instance, state)
        elif cls is Tensor:
            # The form of PyTorch's first releases: a tensor is made empty, then put on its storage.
            if type(state) is not tuple:
                raise UnpicklingError(f"the state of a tensor must be a tuple, got {type(state)}: the file is corrupt")
            allowlist.signature_of("torch._utils._rebuild_tensor").check("the state of a tensor", state)
            instance.data = self._placed(rebuild._rebuild_tensor, *state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{cls}"
            )

    @_Instruction(pickle.BINPERSID)
    def _persistent_id(self) -> None:
        saved_id = self._pop_tuple("saved_id")
        if not saved_id or saved_id[0] != "storage":
            kind = type(saved_id[0]) if saved_id else None
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {kind}")
        self._stack.append(self._placed(self._persistent_load, saved_id))

    # Containers

    @_Instruction(pickle.APPEND)
    def _append(self) -> None:
        item = self._pop()
        target = self._top()
        if type(target) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
        target.append(item)

    @_Instruction(pickle.APPENDS)
    def _appends(self) -> None:
        items = self._pop_to_mark()
        target = self._top()
        if type(target) is not list:
            raise UnpicklingError(f"Can only extend lists, but got {type(target)}")
        target.extend(items)

    @_Instruction(pickle.SETITEM)
    def _set_item(self) -> None:
        value = self._pop()
        key = self._pop()
        self._fill_mapping("SETITEM", [key, value])

    @_Instruction(pickle.SETITEMS)
    def _set_items(self) -> None:
        self._fill_mapping("SETITEMS", self._pop_to_mark())

    def _fill_mapping(self, instruction: str, items: list[Any]) -> None:
        target = self._top()
        if type(target) not in _MAPPINGS:
            raise UnpicklingError(
                f"Can only {instruction} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
            )
        if len(items) % 2:
            raise UnpicklingError("a key without a value: the file is corrupt")
        for key, value in zip(items[::2], items[1::2], strict=True):
            check_key(key)
            target[key] = value

    @_Instruction(pickle.MARK)
    def _mark(self) -> None:
        self._stack.append(_MARK)

    @_Instruction(pickle.TUPLE)
    def _tuple(self) -> None:
        self._stack.append(tuple(self._pop_to_mark()))

    def _small_tuple(self, count: int) -> None:
        items = [self._pop() for _ in range(count)]
        self._stack.append(tuple(reversed(items)))

    @_Instruction(pickle.TUPLE1)
    def _tuple1(self) -> None:
        self._small_tuple(1)

    @_Instruction(pickle.TUPLE2)
    def _tuple2(self) -> None:
        self._small_tuple(2)

    @_Instruction(pickle.TUPLE3)
    def _tuple3(self) -> None:
        self._small_tuple(3)

    @_Instruction(pickle.EMPTY_TUPLE)
    def _empty_tuple(self) -> None:
        self._stack.append(())

    @_Instruction(pickle.EMPTY_LIST)
    def _empty_list(self) -> None:
        self._stack.append([])

    @_Instruction(pickle.EMPTY_DICT)
    def _empty_dict(self) -> None:
        self._stack.append({})

    @_Instruction(pickle.EMPTY_SET)
    def _empty_set(self) -> None:
        self._stack.append(set())

    # Numbers and text

    @_Instruction(pickle.NONE)
    def _none(self) -> None:
        self._stack.append(None)

    @_Instruction(pickle.NEWFALSE)
    def _false(self) -> None:
        self._stack.append(False)

    @_Instruction(pickle.NEWTRUE)
    def _true(self) -> None:
        self._stack.append(True)

    @_Instruction(pickle.BININT)
    def _int4(self) -> None:
        self._stack.append(self._read_number("<i"))

    @_Instruction(pickle.BININT1)
    def _int1(self) -> None:
        self._stack.append(self._read(1)[0])

    @_Instruction(pickle.BININT2)
    def _int2(self) -> None:
        self._stack.append(self._read_number("<H"))

    @_Instruction(pickle.LONG1)
    def _long(self) -> None:
        self._stack.append(pickle.decode_long(self._read(self._read(1)[0])))

    @_Instruction(pickle.BINFLOAT)
    def _float(self) -> None:
        self._stack.append(self._read_number(">d"))

    @_Instruction(pickle.BINUNICODE)
    def _unicode(self) -> None:
        self._stack.append(_decoded(self._read(self._read_number("<I")), "utf-8", "surrogatepass"))

    @_Instruction(pickle.SHORT_BINSTRING)
    def _short_string(self) -> None:
        data = self._read(self._read(1)[0])
        self._stack.append(data if self._encoding == "bytes" else _decoded(data, self._encoding))

    # The memo

    def _remember(self, position: int) -> None:
        self._memo[position] = self._top()

    def _recall(self, position: int) -> None:
        if position not in self._memo:
            raise UnpicklingError(f"Memo value not found at index {position}: the file is corrupt")
        self._stack.append(self._memo[position])

    @_Instruction(pickle.BINPUT)
    def _put(self) -> None:
        self._remember(self._read(1)[0])

    @_Instruction(pickle.LONG_BINPUT)
    def _long_put(self) -> None:
        self._remember(self._read_number("<I"))

    @_Instruction(pickle.BINGET)
    def _get(self) -> None:
        self._recall(self._read(1)[0])

    @_Instruction(pickle.LONG_BINGET)
    def _long_get(self) -> None:
        self._recall(self._read_number("<I"))

    @_Instruction(pickle.PROTO)
    def _protocol(self) -> None:
        protocol = self._read(1)[0]
        if protocol != _DEFAULT_PROTOCOL:
            warnings.warn(
                f"Detected pickle protocol {protocol} in the checkpoint, which was not the default pickle protocol "
                f"used "
                f"by `torch.load` ({_DEFAULT_PROTOCOL}). The weights_only Unpickler might not support all instructions "
                "implemented by this protocol, please file an issue for adding support if you encounter this.",
                stacklevel=4,
            )


class _BlockedGlobalError(UnpicklingError):
    """The file names something of a module from which nothing may be loaded."""


class _UnsupportedGlobalError(UnpicklingError):
    """The file names something that the user may allow."""


def _unsupported_global(full_name: str) -> str:
    name = full_name.removeprefix("builtins.")
    return (
        f"Unsupported global: GLOBAL {name} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` context "
        "manager to allowlist this global if you trust this class/function."
    )


def _decoded(data: bytes, encoding: str, errors: str = "strict") -> str:
    try:
        return data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise UnpicklingError(f"text that is not {encoding}: {error}") from error


def _described(value: Any) -> str:
    """What the file put in a place, briefly: the text of containers that hold one another twice would be endless."""
    return f"of {type(value)}" if isinstance(value, (tuple, list, set, dict)) else f"{value!s:.200}"


def _update_attributes(instance: OrderedDict, state: Any) -> None:
    """Set the attributes of an ordered dict (``state_dict()._metadata``), never one that hides a method."""
    if type(state) is not dict:
        raise UnpicklingError(f"the state of an OrderedDict must be a dict, got {type(state)}: the file is corrupt")
    for name in state:
        if type(name) is not str or hasattr(OrderedDict, name):
            raise UnpicklingError(f"the state of an OrderedDict may not replace its attribute {name!r}")
    instance.__dict__.update(state)


def _set_state(instance: Any, state: Any) -> None:
    """BUILD for an instance of a class that the user allows, as Python's unpickler does it."""
    set_state = getattr(instance, "__setstate__", None)
    if set_state is not None:
        set_state(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    for part in (state, slots):
        if part is not None and type(part) is not dict:
            raise UnpicklingError(
                f"the state of a {type(instance).__name__} must be a dict, got {type(part)}: the file is corrupt"
            )
    if state:
        instance.__dict__.update(state)
    for name, value in (slots or {}).items():
        if type(name) is not str:
            raise UnpicklingError(f"the state of a {type(instance).__name__} has a slot that is no name")
        setattr(instance, name, value)


def unsafe_globals(file: IO[bytes]) -> list[str]:
    """Full names that a pickle uses and that ``weights_only=True`` would refuse; nothing is loaded.

    Raises
    ------
    pickle.UnpicklingError
        If the pickle cannot be read, or names something in a way that only running it would tell.
    """
    allowed = allowlist.user_globals()
    found: dict[str, None] = {}
    for module, name in _globals_of(file):
        full_name = _full_name(*python3_name(module, name))
        if not allowlist.is_allowed_name(full_name) and full_name not in allowed:
            found[full_name] = None
    return list(found)


def _globals_of(file: IO[bytes]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    strings = _Strings()
    try:
        for opcode, argument, _ in pickletools.genops(file):
            if opcode.name == "GLOBAL":
                module, _, name = str(argument).partition(" ")
                found.append((module, name))
            elif opcode.name == "STACK_GLOBAL":
                found.append(strings.last_two())
            strings.follow(opcode.name, argument)
    except ValueError as error:
        raise UnpicklingError(f"the pickle cannot be read: {error}") from error
    return found


class _Strings:
    """Follows a pickle's strings, on the stack and in the memo, without following the stack itself."""

    def __init__(self) -> None:
        self._pushed: list[Any] = []
        self._memo: dict[Any, Any] = {}

    def follow(self, opcode: str, argument: Any) -> None:
        """Note what an instruction pushes, if it is a string."""
        if opcode == "MEMOIZE":
            self._memo[len(self._memo)] = self._pushed[-1]
        elif opcode.endswith("PUT"):
            self._memo[argument] = self._pushed[-1]
        elif opcode.endswith("GET"):
            self._pushed.append(self._memo.get(argument))
        else:
            self._pushed.append(argument if isinstance(argument, str) else None)

    def last_two(self) -> tuple[str, str]:
        """The names that a ``STACK_GLOBAL`` takes.

        Raises
        ------
        pickle.UnpicklingError
            If they do not stand in the pickle as strings.
        """
        names = self._pushed[-2:]
        if len(names) < 2 or None in names:
            raise UnpicklingError("a name is not written where it is used: only loading would tell it")
        return names[0], names[1]


def explain(error: UnpicklingError) -> UnpicklingError:
    """The error that ``torch.load`` raises for one of this interpreter, in PyTorch's words."""
    if isinstance(error, _BlockedGlobalError):
        text = f"{_WEIGHTS_ONLY_FAILED}{RERUN}\n\n\n{error}"
    elif isinstance(error, _UnsupportedGlobalError):
        text = (
            f"{_WEIGHTS_ONLY_FAILED}This file can still be loaded, to do so you have two options, \033[1mdo those "
            f"steps only "
            f"if you trust the source of the checkpoint\033[0m. \n\t(1) {RERUN}\n\t(2) Alternatively, to load with "
            "`weights_only=True` please check the recommended steps in the following error "
            "message.\n\tWeightsUnpickler "
            f"error: {error}"
        )
    else:
        text = (
            f"{_WEIGHTS_ONLY_FAILED}{RERUN}\nPlease file an issue with the following so that we can make "
            f"`weights_only=True` compatible with your use case: WeightsUnpickler error: \n\n{error}"
        )
    return UnpicklingError(text + _DOCUMENTATION)


_WEIGHTS_ONLY_FAILED = "Weights only load failed. "
RERUN = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to "
    "`True`. "
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary "
    "code "
    "execution. Do it only if you got the file from a trusted source."
)
_DOCUMENTATION = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)
