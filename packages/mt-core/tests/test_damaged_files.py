"""A fixed sample of damaged and hostile files: every one loads or is refused in the three ways that are documented."""

from __future__ import annotations

import importlib.util
import io
import pickle
import random
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mt_core.interop import from_numpy
from mt_core.serialization import load, save
from mt_core.serialization.signatures import SIGNATURES
from mt_core.tensor import Tensor

_spec = importlib.util.spec_from_file_location("pickle_builder", Path(__file__).parent / "pickle_builder.py")
build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build)
Call, Global = build.Call, build.Global

REFUSALS = (RuntimeError, pickle.UnpicklingError, EOFError)
SECONDS = 5


def ways_it_ends(data, **options):
    """The loaded object, or the refusal; any other exception fails the test, and so does a load without end."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = load(io.BytesIO(data), **options)
        except REFUSALS as error:
            assert type(error) in REFUSALS or isinstance(error, NotImplementedError)
            result = error
    assert time.perf_counter() - begin < SECONDS
    return result


def read_all(obj):
    """Read every element that loaded tensors claim to have."""
    if isinstance(obj, Tensor):
        if obj.device.type == "cpu" and obj.numel() < 10**6:
            obj.detach().resolve_conj().resolve_neg().clone()
    elif isinstance(obj, dict):
        read_all(list(obj.values()))
    elif isinstance(obj, (list, tuple)):
        for item in obj:
            read_all(item)


def valid_files():
    numbers = from_numpy(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    tagged = from_numpy(np.ones(3, np.int64))
    tagged.tag = "mark"
    objects = [
        numbers,
        {"a.weight": numbers[0], "a.bias": numbers[:, 1], "step": 3, "lr": 0.5},
        [numbers.transpose(0, 2), numbers[..., ::2], numbers.expand(2, 2, 3, 4)],
        {"text": "x" * 30, "big": 2**70, "bytes": b"\x00\xff", "set": {1, "b"}, "pair": (1, [2, None, True])},
        [from_numpy(np.array([1 + 2j], np.complex64)).conj(), tagged, from_numpy(np.empty((0, 3), np.float16))],
    ]
    for obj in objects:
        for zip_format in (True, False):
            buffer = io.BytesIO()
            save(obj, buffer, _use_new_zipfile_serialization=zip_format)
            yield buffer.getvalue()


FILES = list(valid_files())
NUMBERS = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    2**40,
    2**62,
    2**63,
    2**64 - 1,
]


def damaged(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data))
        width = rng.choice([1, 2, 4, 8])
        match rng.randrange(5):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at : at + width] = (rng.choice(NUMBERS) % 256**width).to_bytes(width, "little")
            case 2:
                del data[at : at + rng.choice([1, 3, 50])]
            case 3:
                data[at:at] = data[at : at + rng.choice([1, 4, 60])]
            case 4:
                data[at] = rng.choice(b"(]}).NR\x81QbtuaesX\x85\x86\x87q h\x8f")
    return bytes(data[: rng.randrange(len(data))]) if rng.random() < 0.15 else bytes(data)


def with_damaged_pickle(rng, data):
    """The archive made anew around its damaged pickle, so that reading reaches it."""
    source, buffer = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, damaged(rng, content) if name.endswith("data.pkl") else content)
    return buffer.getvalue()


@pytest.mark.parametrize("options", [{}, {"map_location": "meta"}], ids=["cpu", "meta"])
def test_damaged_files_load_or_are_refused(options):
    rng = random.Random(17)
    for _ in range(1200):
        data = rng.choice(FILES)
        reaches_pickle = data.startswith(b"PK") and rng.random() < 0.6
        file = with_damaged_pickle(rng, data) if reaches_pickle else damaged(rng, data)
        read_all(ways_it_ends(file, **options))


# Calls with arguments of every kind

BLOCK = build.storage(numel=4)


def doubled(depth=31):
    """Tuples that hold one another twice: a few bytes in a file, endless for whoever walks them."""
    value = (1,)
    for _ in range(depth):
        value = (value, value)
    return value


VALUES = [
    None, True, 7, -1, 2**63, 2**40, 10**400, 0.5, float("nan"), b"\xff", [], [1], [[1, 2]], [(1, [])],
    "", "cpu", "cuda:0", "latin1", "utf-7", "\u0416", "x" * 40, {}, {"conj": True}, {"_array": 1},
    (), (2, 2), (2, 1), (-1, 2), (2**62, 2**62), ("2", 2), doubled(),
    BLOCK, build.tensor(), build.tensor(size=(2**40,), stride=(0,)), build.NO_HOOKS,
    Global("torch", "float32"), Global("torch", "Tensor"), Global("torch", "FloatStorage"), Global("torch", "Size"),
    Global("torch._utils", "_rebuild_tensor_v2"),
]  # fmt: skip


def names_of_callables():
    for full_name in SIGNATURES:
        if not full_name.startswith("torch.") or "arameter" not in full_name:
            yield Global(*full_name.replace("builtins", "__builtin__").rsplit(".", 1))


@pytest.mark.parametrize("function", names_of_callables(), ids=lambda function: function.line.split()[1].decode())
def test_calls_with_any_arguments_are_refused_as_the_file_is(function):
    rng = random.Random(3)
    for _ in range(150):
        args = rng.choices(VALUES, k=rng.randrange(9))
        ways_it_ends(build.archive(build.pickled(Call(function, *args)), {"0": bytes(16)}).getvalue())


@pytest.mark.parametrize("function", ["_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3"])
def test_each_argument_of_a_tensor_may_be_wrong(function):
    named = Global("torch._utils", function)
    good = [BLOCK, 0, (2, 2), (2, 1), False, build.NO_HOOKS, Global("torch", "float32"), {}]
    good = {"_rebuild_tensor": good[:4], "_rebuild_tensor_v2": good[:6], "_rebuild_tensor_v3": good}[function]
    assert ways_it_ends(file_of(Call(named, *good))).shape == (2, 2)
    for place in range(len(good)):
        for value in VALUES:
            read_all(ways_it_ends(file_of(Call(named, *good[:place], value, *good[place + 1 :]))))


def file_of(obj):
    return build.archive(build.pickled(obj), {"0": bytes(16)}).getvalue()


# What would not end, or take all memory


@pytest.mark.parametrize(
    "obj",
    [
        Call(Global("__builtin__", "set"), [doubled()]),
        Call(Global("collections", "OrderedDict"), [[doubled(), 1]]),
        Call(Global("torch.serialization", "_get_layout"), doubled()),
        Call(Global("torch._utils", "_rebuild_sparse_tensor"), doubled(), ()),
        Call(Global("torch", "Size"), build.tensor(size=(2**40,), stride=(0,))),
        Call(Global("collections", "Counter"), build.tensor(size=(2**40,), stride=(0,))),
        build.storage(location=doubled()),
    ],
)
def test_doubling_tuples_and_endless_tensors_are_refused(obj):
    assert isinstance(ways_it_ends(file_of(obj)), REFUSALS)


@pytest.mark.parametrize("target", [b"}", b"ccollections\nOrderedDict\n)R", b"ccollections\nCounter\n)R"])
@pytest.mark.parametrize("depth", [14, 31])
def test_doubling_tuples_are_refused_as_keys(target, depth):
    key = build.pickled(doubled(depth))[2:-1]
    pickled = b"\x80\x02" + target + key + b"K\x01s."
    assert "nested too deep" in str(ways_it_ends(build.archive(pickled).getvalue()))


def test_keys_of_ordinary_tuples_are_keys():
    key = (("layer", 1), (2.5, None), tuple(range(500)))
    assert ways_it_ends(file_of({key: 1})) == {key: 1}


@pytest.mark.parametrize("announced", [b"X\xff\xff\xff\xff", b"U\xff", b"\x8a\xff"])
def test_announced_bytes_are_not_asked_for_before_they_come(tmp_path, announced):
    path = tmp_path / "short.pt"
    path.write_bytes(b"\x80\x02" + announced + b"abc.")
    tracemalloc.start()
    try:
        with pytest.raises(EOFError, match=r"truncated \(the file, before byte"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_a_compressed_archive_may_not_expand_without_end():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("a/data.pkl", pickle.dumps([0], 2) + bytes(80 << 20))
        target.writestr("a/version", "3\n")
    with pytest.raises(RuntimeError, match="compressed records expand to"):
        load(io.BytesIO(buffer.getvalue()))


def test_what_a_compressed_record_holds_is_in_memory_once():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("a/data.pkl", pickle.dumps([7], 2) + bytes(50 << 20))
        target.writestr("a/version", "3\n")
    tracemalloc.start()
    try:
        assert load(io.BytesIO(buffer.getvalue())) == [7]
        assert 50 << 20 < tracemalloc.get_traced_memory()[1] < 70 << 20
    finally:
        tracemalloc.stop()


def test_a_record_may_not_hide_another():
    buffer = io.BytesIO(FILES[0])
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "a") as target:
        warnings.simplefilter("ignore")
        target.writestr("archive/data/0", bytes(96))
    with pytest.raises(RuntimeError, match="two records archive/data/0"):
        load(io.BytesIO(buffer.getvalue()))


def test_errors_name_the_record_and_the_place():
    with pytest.raises(RuntimeError, match=r"negative dimension.*\(data.pkl, before byte \d+\)"):
        load(io.BytesIO(file_of(build.tensor(size=(-1,), stride=(1,)))))
    with pytest.raises(RuntimeError, match=r"record data/0\)"):
        load(io.BytesIO(file_of(build.tensor(block=build.storage(numel=9)))))


def test_a_trusted_file_without_the_header_runs_no_code() -> None:
    """Python's pickles of anything but tensors: what is in them is not looked at, to say that they are none of ours."""
    ran: list[int] = []
    evil = b'cbuiltins\neval\n(S\'__import__("sys").modules["mt_core"].ran_code\'\ntR.'
    for data in (evil, pickle.dumps(ran), b"\x80\x3f", b"Ie\n.", b"Fx\n.", b"ch\nx\n."):
        with pytest.raises((RuntimeError, EOFError), match=r"byte \d"):
            load(io.BytesIO(data), weights_only=False)
