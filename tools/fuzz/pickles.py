"""Random pickles, put together instruction by instruction: what no pickler writes, and what a hostile one might."""

from __future__ import annotations

import pickle
import random
import struct
from collections.abc import Callable

__all__ = ["MARKER", "damaged", "hostile", "reading"]

#: A module that no program imports: a reader that looks for it does as the file says.
MARKER = "mindtorch_fuzz_marker"

_SIZES = (0, 1, 2, 3, 4, 6, 16, 64, 65)
_NUMBERS = (-1, 7, 255, 2**31 - 1, 2**31, 2**32, 2**40, 2**61, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64, 10**40)
_TEXTS = (
    "",
    "cpu",
    "meta",
    "cuda:0",
    "cpu:99999999999",
    "latin1",
    "storage",
    "0",
    "../0",
    "a" * 300,
    "\ud800",
    "_array",
)
_DTYPES = (
    ("Float", 4),
    ("Double", 8),
    ("Half", 2),
    ("BFloat16", 2),
    ("Byte", 1),
    ("Bool", 1),
    ("Long", 8),
    ("ComplexFloat", 8),
)
_NAMES = tuple(
    name.split()
    for name in """
    torch Size|torch device|torch Tensor|torch float32|torch int64|torch float8_e5m2|torch complex32|torch FloatStorage
    torch.storage UntypedStorage|torch.storage TypedStorage|torch.nn.parameter Parameter
    torch.nn.parameter UninitializedParameter|torch.serialization _get_layout|torch._tensor _rebuild_from_type_v2
    torch._utils _rebuild_tensor|torch._utils _rebuild_tensor_v2|torch._utils _rebuild_tensor_v3
    torch._utils _rebuild_parameter|torch._utils _rebuild_parameter_with_state|torch._utils _rebuild_sparse_tensor
    torch._utils _rebuild_meta_tensor_no_storage|torch._utils _rebuild_device_tensor_from_numpy
    torch._utils _rebuild_device_tensor_from_cpu_tensor|torch._utils _rebuild_nested_tensor
    torch._utils _rebuild_qtensor|torch._utils _rebuild_wrapper_subclass|_codecs encode|__builtin__ bytearray
    __builtin__ complex|__builtin__ set|collections OrderedDict|collections Counter
    """.replace("\n", "|").split("|")
    if name.strip()
)
_FORBIDDEN = tuple(
    name.split()
    for name in f"""
    os system|posix system|nt system|subprocess Popen|__builtin__ eval|__builtin__ exec|__builtin__ __import__
    __builtin__ getattr|builtins open|{MARKER} run|torch load|torch from_file|torch.hub load|torch._utils os.system
    torch Tensor.__reduce_ex__|torch.storage _load_from_bytes|numpy fromfile|numpy.core.multiarray _reconstruct
    functools partial|operator attrgetter|importlib import_module|shutil rmtree|socket create_connection|sys exit
    collections OrderedDict.__init__|torch Size.__class__|torch.serialization add_safe_globals
    """.replace("\n", "|").split("|")
    if name.strip()
)
#: All instructions that have no argument: pickles of those alone move the stack as nothing sane does.
_BARE = b"(.012NQRabdelostu)]}\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94\x92"

Source = random.Random


def _text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def _number(value: int) -> bytes:
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    data = pickle.encode_long(value)
    return b"\x8a" + bytes([len(data)]) + data


def _name(words: list[str]) -> bytes:
    return b"c" + "\n".join(words).encode() + b"\n"


def _tuple(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t"


def _call(words: list[str], *args: bytes) -> bytes:
    return _name(words) + _tuple(*args) + b"R"


def _any_number(r: Source) -> int:
    return r.choice(_SIZES if r.random() < 0.6 else _NUMBERS)


def _storage(r: Source) -> bytes:
    kind, width = r.choice(_DTYPES)
    count = 64 // width if r.random() < 0.9 else _any_number(r)
    key = r.choice(("0", "0", "0", "1", "../1", "/etc/hostname", ""))
    location = r.choice(("cpu", "cpu", "cpu", "cpu", "meta", "cuda:0", "nowhere"))
    items = [_text("storage"), _name(["torch", f"{kind}Storage"]), _text(key), _text(location), _number(count)]
    if r.random() < 0.05:
        items.append(_tuple(_text("view"), _number(_any_number(r)), _number(_any_number(r))))
    if r.random() < 0.05:
        del items[r.randrange(len(items))]
    return _tuple(*items) + b"Q"


def _geometry(r: Source) -> tuple[bytes, bytes, bytes]:
    """Instructions for an offset, a size and strides, of which many fit into 64 bytes."""
    rank = r.choice((0, 1, 1, 2, 2, 3, 65))
    draw: Callable[[], int] = (lambda: r.choice((0, 1, 2, 3))) if r.random() < 0.6 else (lambda: _any_number(r))
    size, stride = ([_number(draw()) for _ in range(rank)] for _ in range(2))
    if r.random() < 0.05:
        (size or stride).append(_value(r, 3))
    return _number(0 if r.random() < 0.7 else _any_number(r)), _tuple(*size), _tuple(*stride)


def _tensor(r: Source) -> bytes:
    hooks = _call(["collections", "OrderedDict"])
    version = r.choice(("", "_v2", "_v2", "_v2", "_v3"))
    words = ["torch._utils", f"_rebuild_tensor{version}"]
    args = [_storage(r), *_geometry(r)]
    if version:
        args += [r.choice((b"\x88", b"\x89", b"N")), hooks]
    if version == "_v3":
        args.append(_name(["torch", r.choice(("float32", "float64", "complex128", "bool", "uint64", "qint8"))]))
    if version and r.random() < 0.2:
        args.append(b"}(" + _text(r.choice(("conj", "neg", "a"))) + b"\x88u")
    made = r.random()
    if made < 0.1:
        state = b"}(" + _text(r.choice(_TEXTS)) + _value(r, 3) + b"u"
        return _call(
            ["torch._tensor", "_rebuild_from_type_v2"], _name(words), _name(["torch", "Tensor"]), _tuple(*args), state
        )
    if made < 0.15:
        return _name(["torch", "Tensor"]) + b")\x81" + _tuple(*args[:4]) + b"b"
    tensor = _call(words, *args)
    return _call(["torch._utils", "_rebuild_parameter"], tensor, b"\x88", hooks) if made < 0.3 else tensor


def _doubled(r: Source) -> bytes:
    """Containers that hold one another twice, 2 to 60 times over: short in a file, endless for who walks them."""
    return b"N" + r.choice((b"q\x00h\x00\x86", b"]q\x00(h\x00h\x00e", b"2\x86")) * r.choice((2, 25, 60))


def _deep(r: Source) -> bytes:
    depth = r.choice((10, 1_000, 50_000))
    return b"N" + r.choice((b"\x85", b"\x85\x85")) * depth if r.random() < 0.5 else b"]" * depth + b"a" * (depth - 1)


def _boastful(r: Source) -> bytes:
    """Text or a number that is said to be longer than the file."""
    return r.choice((b"X", b"B", b"T", b"\x8b")) + struct.pack("<I", r.choice((100, 2**31 - 1, 2**32 - 1))) + b"abc"


def _atom(r: Source) -> bytes:
    double = b"G" + struct.pack(">d", r.choice((0.5, float("inf"), float("nan"))))
    return r.choice(
        (_number(_any_number(r)), _text(r.choice(_TEXTS)), b"N", b"\x88", b"]", b"}", b")", b"\x8f", double)
    )


def _group(r: Source, depth: int, opening: bytes, closing: bytes, each: int = 1) -> bytes:
    return opening + b"".join(_value(r, depth + 1) for _ in range(each * r.randrange(4))) + closing


def _compound(r: Source, depth: int) -> bytes:
    return r.choice((
        lambda: _call(r.choice(_NAMES), *(_value(r, depth + 1) for _ in range(r.choice((0, 1, 1, 2, 3, 4, 6, 7, 8))))),
        lambda: _call(r.choice(_FORBIDDEN), _text(r.choice((f"touch {MARKER}", f"__import__('{MARKER}')", MARKER)))),
        lambda: _group(r, depth, b"(", b"t"),
        lambda: _group(r, depth, b"](", b"e"),
        lambda: _group(r, depth, b"}(", b"u", 2),
        lambda: _value(r, depth + 1) + _value(r, depth + 1) + r.choice((b"b", b"\x81", b"a", b"0")),
        lambda: r.choice((_doubled, _doubled, _deep, _boastful))(r),
    ))()  # fmt: skip


def _value(r: Source, depth: int = 0) -> bytes:
    """Instructions that push a random value."""
    chance = r.random()
    if depth > 3 or chance < 0.25:
        return _atom(r) if r.random() < 0.8 else _name(r.choice(_NAMES))
    return _tensor(r) if chance < 0.5 else _compound(r, depth)


def _soup(r: Source) -> bytes:
    """Instructions in no order."""
    pieces = [r.choice((bytes([r.choice(_BARE)]), _atom(r), _name(r.choice(_NAMES)))) for _ in range(r.randrange(40))]
    return b"".join(pieces)


def hostile(r: Source) -> bytes:
    """A pickle of protocol 2 that says something a reader must refuse, or must at least survive."""
    body = _soup(r) if r.random() < 0.15 else _value(r)
    data = b"\x80" + bytes([r.choice((2, 2, 2, 0, 5, 255))]) + body + b"."
    return damaged(r, data) if r.random() < 0.3 else data


def reading(r: Source) -> bytes:
    """A pickle of one tensor, most often one that is read without complaint."""
    return b"\x80\x02" + _tensor(r) + b"."


def damaged(r: Source, data: bytes) -> bytes:
    """`data` with one to eight changes: bits, numbers, pieces missing, doubled, moved or added."""
    result = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 3, 8))):
        _change(r, result)
    return bytes(result)


def _change(r: Source, data: bytearray) -> None:
    at, length = r.randrange(len(data) + 1), r.choice((1, 1, 2, 4, 8, 30, 100))
    match r.randrange(6):
        case 0 if at < len(data):
            data[at] ^= 1 << r.randrange(8)
        case 1:
            data[at : at + 1] = bytes([r.choice((0, 1, 0x7F, 0x80, 0xFF, r.randrange(256), r.choice(_BARE)))])
        case 2:
            width = r.choice((2, 4, 8))
            data[at : at + width] = (r.choice(_NUMBERS) % 256**width).to_bytes(width, "little")
        case 3:
            del data[at : at + length]
        case 4:
            start = r.randrange(len(data) + 1)
            data[at:at] = data[start : start + length]
        case _:
            data[at:at] = r.randbytes(length)
