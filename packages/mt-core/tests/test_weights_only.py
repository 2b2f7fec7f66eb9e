"""``torch.load(..., weights_only=True)`` runs nothing, whatever a file says."""

from __future__ import annotations

import importlib.util
import io
import os
import pickle
import warnings
from collections import Counter, OrderedDict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mt_core as mt
from mt_core import serialization
from mt_core.serialization import load, save

_spec = importlib.util.spec_from_file_location("pickle_builder", Path(__file__).parent / "pickle_builder.py")
build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build)
Global, Call, New, Persistent = build.Global, build.Call, build.New, build.Persistent

FOUR_FLOATS = {"0": bytes(16)}
PROTOCOL = b"\x80\x02"


def load_object(obj, storages=FOUR_FLOATS, **options):
    return load(build.archive(build.pickled(obj), storages), **options)


def load_opcodes(opcodes):
    return load(build.archive(PROTOCOL + opcodes, FOUR_FLOATS))


class Harmful:
    """Runs a command when unpickled."""

    def __reduce__(self):
        return os.mkdir, ("harm-was-done",)


class Point:
    def __init__(self, x):
        self.x = x


class Sluggish:
    __slots__ = ("x",)


@pytest.fixture(autouse=True)
def nothing_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    serialization.clear_safe_globals()
    assert not (tmp_path / "harm-was-done").exists()


def saved(obj, **options):
    buffer = io.BytesIO()
    save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize("zip_format", [True, False])
def test_a_function_of_a_blocked_module_is_refused(zip_format):
    module = os.mkdir.__module__
    blocked = f"Trying to load unsupported GLOBAL {module}.mkdir whose module {module} is blocked"
    with pytest.raises(pickle.UnpicklingError, match=f"(?s)Weights only load failed.*{blocked}"):
        load(saved(Harmful(), _use_new_zipfile_serialization=zip_format))


@pytest.mark.parametrize(
    "name",
    [
        "builtins eval",
        "__builtin__ eval",
        "builtins getattr",
        "builtins exec",
        "os.path join",
        "subprocess Popen",
        "importlib import_module",
        "torch load",
        "torch.nn.modules.linear Linear",
        "mt_core.serialization.loading load",
        "numpy dtype",
        "copyreg _reconstructor",
        "functools partial",
        "__main__ Anything",
        "torch.hub load",
        "torch._tensor _rebuild_from_type_v2.__globals__",
        "torch Tensor.__class__",
        "torch.storage _load_from_bytes",
    ],
)
def test_other_functions_are_refused_by_name(name):
    module, attribute = name.split()
    shown = f"{module}.{attribute}".replace("__builtin__.", "").replace("builtins.", "").replace("copy_reg", "copyreg")
    with pytest.raises(pickle.UnpicklingError) as caught:
        load_object(Global(module, attribute))
    text = str(caught.value)
    assert f"Unsupported global: GLOBAL {shown} was not an allowed global by default." in text
    assert f"`torch.serialization.add_safe_globals([{shown}])`" in text
    assert "do those steps only if you trust the source of the checkpoint" in text


@pytest.mark.parametrize("module", ["sys", "os", "posix", "nt"])
def test_blocked_modules_stay_blocked_when_allowed(module):
    with (
        serialization.safe_globals([(os.mkdir, f"{module}.mkdir")]),
        pytest.raises(pickle.UnpicklingError, match="is blocked"),
    ):
        load_object(Call(Global(module, "mkdir"), "harm-was-done"))


@pytest.mark.parametrize(
    ("opcodes", "message"),
    [
        (b"K\x01)R.", "Trying to call reduce for unrecognized function 1"),
        (b"ctorch\nFloatStorage\n)R.", "unrecognized function"),
        (b"ctorch\nTensor\n(K\x02K\x03tR.", "unrecognized function"),
        (b"ctorch.storage\nUntypedStorage\n\x8a\x06\0\0\0\0\0\x10\x85R.", "unrecognized function"),
        (b"ctorch\nfloat32\n)R.", "unrecognized function"),
        (
            b"K\x01)\x81.",
            "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got 1",
        ),
        (b"ctorch.storage\nUntypedStorage\nK\x05\x85\x81.", "Can only create new object"),
        (
            b"]}b.",
            "Can only build Tensor, Parameter, OrderedDict or types allowlisted via .*, but got <class 'list'>",
        ),
        (b"}}b.", "Can only build .* got <class 'dict'>"),
        (b"ctorch\nTensor\n}X\x01\0\0\0aK\x01sb.", "Can only build"),
        (b"ccollections\nOrderedDict\n}X\x01\0\0\0aK\x01sb.", "Can only build"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n}X\x0c\0\0\0__defaults__NsN\x86b.", "Can only build"),
        (b"K\x01K\x02a.", "Can only append to lists, but got <class 'int'>"),
        (b"K\x01(K\x02e.", "Can only extend lists, but got <class 'int'>"),
        (
            b"]K\x00K\x02s.",
            "Can only SETITEM for dict, collections.OrderedDict, collections.Counter, but got <class 'list'>",
        ),
        (b"K\x01(K\x00K\x02u.", "Can only SETITEMS for dict"),
        (b"Phello\n.", "Unsupported operand 80"),
        (b"\x82\x01.", "Unsupported operand 130"),
        (b"(ios\nsystem\n.", "Unsupported operand 105"),
        (b"(ctorch\nTensor\no.", "Unsupported operand 111"),
        (b"X\x03\0\0\0abc\x85Q.", "Only persistent_load of storage is allowed, but got <class 'str'>"),
        (b")Q.", "Only persistent_load of storage"),
        (b"K\x01Q.", "saved_id must be a tuple"),
    ],
)
def test_instructions_are_refused_with_pytorchs_words(opcodes, message):
    with pytest.raises(
        pickle.UnpicklingError, match=f"(?s)Weights only load failed.*WeightsUnpickler error: .*{message}"
    ):
        load_opcodes(opcodes)


@pytest.mark.parametrize(
    "opcodes",
    [
        b".",
        b"\x87.",
        b"t.",
        b"h\x05.",
        b"j\x05\0\0\0.",
        b"}(K\0u.",
        b"}]K\x01s.",
        b"X\x02\0\0\0\xff\xfe.",
        b"(.",
        b"(\x85.",
        b"(q\x00.",
    ],
)
def test_nonsense_is_refused(opcodes):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load_opcodes(opcodes)


@pytest.mark.parametrize(
    "opcodes", [b"", b"K", b"K\x01", b"X\x05\0\0\0ab", b"J\x01", b"ccollections\nOrdered", b"G\0\0"]
)
def test_truncated_pickles_end_early(opcodes):
    with pytest.raises(EOFError):
        load_opcodes(opcodes)


@given(st.binary(max_size=64))
@settings(max_examples=300, deadline=None)
def test_random_pickles_load_or_raise(noise):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            load_opcodes(noise)
        except (pickle.UnpicklingError, EOFError, RuntimeError, TypeError, ValueError):
            pass


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_pickles_load_or_raise(data):
    pickled = bytearray(build.pickled({"a": build.tensor(), "b": OrderedDict(x=[1, 2.5, "text", (1, 2)])}))
    for _ in range(data.draw(st.integers(1, 3))):
        pickled[data.draw(st.integers(0, len(pickled) - 1))] = data.draw(st.integers(0, 255))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            load(build.archive(bytes(pickled), FOUR_FLOATS))
        except (pickle.UnpicklingError, EOFError, RuntimeError, TypeError, ValueError, KeyError, LookupError):
            pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": (3, 2)}, "Trying to resize storage that is not resizable"),
        ({"offset": 1}, "Trying to resize storage that is not resizable"),
        ({"stride": (200, 1)}, "Trying to resize storage that is not resizable"),
        ({"offset": -1}, "Tensor: invalid storage offset -1"),
        ({"stride": (-2, 1), "offset": 2}, "Storage size calculation overflowed with sizes"),
        ({"size": (-2, 2)}, "negative dimension"),
        ({"size": (2**40, 2**40), "stride": (0, 0)}, "numel: integer multiplication overflow"),
        ({"size": (2**33, 2**33), "stride": (2**33, 2**33)}, "numel: integer multiplication overflow"),
        ({"size": (0, 2**70), "stride": (1, 1)}, "overflow"),
        ({"size": (0, 2**40, 2**40), "stride": (1, 1, 1)}, "overflow"),
        ({"size": (0,), "stride": (1,), "offset": 2**62}, "overflow"),
        ({"size": (2, 2), "stride": (1,)}, r"unequal size length \(2\) and stride length \(1\)"),
        ({"size": (1,) * 65, "stride": (1,) * 65}, "dimensions"),
    ],
)
def test_tensors_beyond_their_storage_are_refused(options, message):
    with pytest.raises(RuntimeError, match=message):
        load_object(build.tensor(**options))


@pytest.mark.parametrize(
    "options",
    [
        {"size": (2.0, 2)},
        {"size": "ab"},
        {"size": 4},
        {"stride": (None, 1)},
        {"offset": "0"},
        {"offset": 0.0},
        {"size": (True, 2)},
    ],
)
def test_tensors_of_odd_types_are_refused(options):
    with pytest.raises(pickle.UnpicklingError, match=r"must be an? .*\(data.pkl, before byte"):
        load_object(build.tensor(**options))


def test_a_huge_broadcast_takes_no_memory():
    assert load_object(build.tensor(size=(2**40,), stride=(0,))).shape == (2**40,)


@pytest.mark.parametrize("block", [5, None, Global("torch", "float32"), [1, 2]])
def test_tensors_are_rebuilt_from_storages_only(block):
    with pytest.raises((TypeError, pickle.UnpicklingError)):
        load_object(Call(build.REBUILD, block, 0, (1,), (1,), False, build.NO_HOOKS))


@pytest.mark.parametrize(
    "storage",
    [
        build.storage(numel=-2),
        build.storage(numel="x"),
        build.storage(numel=2.0),
        build.storage(kind=5),
        build.storage(kind=Global("torch", "float32")),
        build.storage(kind=Global("torch", "Tensor")),
        build.storage(kind=Global("torch.storage", "TypedStorage")),
        Persistent("storage", build.FLOATS, "0"),
        Persistent("module", build.FLOATS, "file", "source"),
    ],
)
def test_descriptions_of_storages_are_checked(storage):
    with pytest.raises(pickle.UnpicklingError):
        load_object(storage)


@pytest.mark.parametrize("numel", [3, 5, 10**15])
def test_a_storage_must_have_the_size_of_its_record(numel):
    with pytest.raises(
        RuntimeError, match=rf"record size \(16 bytes\) does not match expected size \({numel * 4} bytes"
    ):
        load_object(build.storage(numel=numel))


@pytest.mark.parametrize("key", ["1", "../data.pkl", "/etc/passwd", ""])
def test_a_storage_must_be_a_record_of_the_file(key):
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed locating file data/"):
        load_object(build.storage(key=key))


def test_sizes_cannot_ask_for_memory():
    calls = [
        Call(Global("__builtin__", "bytearray"), 2**50),
        Call(
            Global("torch._utils", "_rebuild_tensor_v3"),
            build.storage(),
            0,
            (2**50,),
            (1,),
            False,
            build.NO_HOOKS,
            Global("torch", "int8"),
        ),
        Call(Global("_codecs", "encode"), "abc", "rot13"),
    ]
    for call in calls:
        with pytest.raises((RuntimeError, pickle.UnpicklingError)):
            load_object(call)
    assert load_object(
        Call(
            Global("torch._utils", "_rebuild_meta_tensor_no_storage"), Global("torch", "float32"), (2**40,), (1,), False
        )
    ).is_meta


def test_from_type_calls_only_what_makes_tensors():
    rebuild = Global("torch._tensor", "_rebuild_from_type_v2")
    tensor_class = Global("torch", "Tensor")
    args = (build.storage(), 0, (2,), (1,), False, build.NO_HOOKS)
    assert load_object(Call(rebuild, build.REBUILD, tensor_class, args, {"mark": 1})).mark == 1
    for function in (5, Global("torch.storage", "UntypedStorage"), Global("collections", "OrderedDict"), rebuild):
        with pytest.raises(pickle.UnpicklingError, match="'func' must be a function that rebuilds tensors"):
            load_object(Call(rebuild, function, tensor_class, (), None))
    with pytest.raises(pickle.UnpicklingError, match="'new_type' must be a class of tensors"):
        load_object(Call(rebuild, build.REBUILD, Global("collections", "OrderedDict"), args, None))
    for slot in ("_array", "data", "__class__", "requires_grad"):
        with pytest.raises(RuntimeError, match="may not set"):
            load_object(Call(rebuild, build.REBUILD, tensor_class, args, (None, {slot: 5})))
        with pytest.raises(RuntimeError, match="may not set"):
            load_object(Call(rebuild, build.REBUILD, tensor_class, args, {slot: 5}))
    with pytest.raises(RuntimeError, match="Invalid serialized state"):
        load_object(Call(rebuild, build.REBUILD, tensor_class, args, 5))


def test_tensors_of_the_first_releases():
    make = New(Global("torch", "Tensor"), state=(build.storage(), 1, (3,), (1,)))
    assert load_object(make).storage_offset() == 1
    for state in ((build.storage(), 2, (3,), (1,)), (build.storage(), 0, (-1,), (1,))):
        with pytest.raises(RuntimeError):
            load_object(New(Global("torch", "Tensor"), state=state))
    for state in ({"data": 1}, (1,), (True, 0, 1), [build.storage()]):
        with pytest.raises(pickle.UnpicklingError):
            load_object(New(Global("torch", "Tensor"), state=state))


def test_attributes_of_a_dict_cannot_hide_its_methods():
    loaded = load_object(Call(Global("collections", "OrderedDict"), state={"_metadata": 1}))
    assert loaded._metadata == 1
    for state in ({"items": 1}, {"__class__": 1}, {1: 2}, [1]):
        with pytest.raises(pickle.UnpicklingError):
            load_object(Call(Global("collections", "OrderedDict"), state=state))


def test_deeply_nested_keys_cannot_exhaust_the_stack():
    deep = b")" + b"\x85" * 200_000
    for opcodes in (
        b"}" + deep + b"K\x01s.",
        b"c__builtin__\nset\n]" + deep + b"a\x85R.",
        b"ccollections\nOrderedDict\n]" + deep + b"K\x01\x86a\x85R.",
        b"ccollections\nCounter\n]" + deep + b"K\x01\x86a\x85R.",
    ):
        with pytest.raises(pickle.UnpicklingError, match="nested too deep"):
            load_opcodes(opcodes)
    load_opcodes(deep + b".")


def test_messages_do_not_print_endless_containers():
    doubling = b"]q\x00" + b"".join(b"]h" + bytes([i]) + b"ah" + bytes([i]) + b"aq" + bytes([i + 1]) for i in range(60))
    with pytest.raises(pickle.UnpicklingError, match="unrecognized function of <class 'list'>"):
        load_opcodes(doubling + b")R.")


def test_other_protocols_warn():
    with pytest.warns(
        UserWarning,
        match="Detected pickle protocol 3 in the checkpoint, which was not the default pickle protocol used by "
        "`torch.load`",
    ):
        assert load(saved({"a": 1}, pickle_protocol=3)) == {"a": 1}
    with (
        pytest.warns(UserWarning, match="protocol 4"),
        pytest.raises(pickle.UnpicklingError, match="Unsupported operand 149"),
    ):
        load(saved({"a": 1}, pickle_protocol=4))


def test_containers_of_python():
    obj = {
        "set": {1, 2},
        "counter": Counter("aab"),
        "ordered": OrderedDict(a=1),
        "bytes": b"\x00\xff",
        "array": bytearray(b"x"),
        3: 1 + 2j,
    }
    assert load(saved(obj)) == obj


# What the user allows


def test_added_globals_load():
    with pytest.raises(
        pickle.UnpicklingError, match=r"Please use `torch.serialization.add_safe_globals\(\[.*Point\]\)`"
    ):
        load(saved(Point(3)))
    serialization.add_safe_globals([Point])
    assert load(saved(Point(3))).x == 3
    assert serialization.get_safe_globals() == [Point]
    serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        load(saved(Point(3)))


def test_safe_globals_is_undone():
    serialization.add_safe_globals([Sluggish])
    with serialization.safe_globals([Point, Sluggish]):
        assert load(saved(Point(3))).x == 3
    assert serialization.get_safe_globals() == [Sluggish]


def test_globals_by_another_name():
    with serialization.safe_globals([(Point, "elsewhere.Point")]):
        assert load_object(New(Global("elsewhere", "Point"), state={"x": 5})).x == 5
    with (
        serialization.safe_globals([(Point, 5)]),
        pytest.raises(TypeError, match="Expected second item in tuple to be str of callable full path"),
    ):
        load(saved(1))


def test_added_classes_with_slots():
    slotted = Sluggish()
    slotted.x = 4
    with serialization.safe_globals([Sluggish]):
        assert load(saved(slotted)).x == 4


def test_unsafe_globals_are_listed():
    found = serialization.get_unsafe_globals_in_checkpoint(saved([Point(1), frozenset([1]), mt.ones(1), Harmful()]))
    assert set(found) == {f"{__name__}.Point", "builtins.frozenset", f"{os.mkdir.__module__}.mkdir"}
    with serialization.safe_globals([Point]):
        assert serialization.get_unsafe_globals_in_checkpoint(saved(Point(1))) == []
    several = saved([Point(1), Sluggish(), Sluggish, "Point", Harmful()], pickle_protocol=4)
    assert set(serialization.get_unsafe_globals_in_checkpoint(several)) == {
        f"{__name__}.Point",
        f"{__name__}.Sluggish",
        f"{os.mkdir.__module__}.mkdir",
    }
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by torch.save"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"other"))


# Switches


def test_pickle_module_excludes_weights_only():
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        load(saved(1), weights_only=True, pickle_module=pickle)
    assert load(saved(Point(2)), pickle_module=pickle).x == 2


def test_environment_variables(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    assert load(saved(Point(2))).x == 2
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="but both were set"):
        load(saved(1))
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        load(saved(Point(2)), weights_only=False)


def test_pickle_arguments_are_for_full_loads():
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        assert load(saved({"a": 1}), encoding="ascii") == {"a": 1}
