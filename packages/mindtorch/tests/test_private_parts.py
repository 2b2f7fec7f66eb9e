"""``torch._C``, ``torch._ops`` and ``torch._utils``: parts that libraries use, each as in PyTorch."""

import logging

import pytest

import mindtorch as torch
from mindtorch import _C, _ops, _utils
from mindtorch._C import DispatchKey, _SchemaArgType, _SchemaArgument, _SchemaInfo
from mindtorch._subclasses.fake_tensor import FakeTensorMode
from mindtorch.utils._dtype_abbrs import dtype_abbrs


def _facts(overload, values=None):
    """(names of what is written to, pairs that may alias, pairs of which one may contain an alias of the other)."""
    schema = overload._schema
    info = _SchemaInfo(schema)
    info.add_argument_values(values or {})
    places = [_SchemaArgument(_SchemaArgType.input, i) for i in range(len(schema.arguments))]
    places += [_SchemaArgument(_SchemaArgType.output, i) for i in range(len(schema.returns))]
    names = [a.name for a in schema.arguments] + [f"result{i}" for i in range(len(schema.returns))]
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
    return (
        " ".join(name for name, place in zip(names, places, strict=True) if info.is_mutable(place)),
        [f"{names[i]} {names[j]}" for i, j in pairs if info.may_alias(places[i], places[j])],
        [f"{names[i]} {names[j]}" for i, j in pairs if info.may_contain_alias(places[i], places[j])],
    )


def test_schemas_and_values_tell_what_is_written_to_and_shares_memory():
    x, aten = torch.ones(4), torch.ops.aten
    y = x[1:]
    told = {"self": x, "other": y}
    everything = ["self other", "self result0", "other result0"]
    assert _facts(aten.add_.Tensor) == ("self result0", ["self result0"], ["self result0"])
    assert _facts(aten.add_.Tensor, told) == ("self other result0", everything, everything)
    assert _facts(aten.add.Tensor, told) == ("", ["self other"], ["self other"])
    assert _facts(aten.add.Tensor, {"self": x, "other": y.clone()}) == ("", [], [])
    assert _facts(aten.split.Tensor) == ("", [], ["self result0"])
    assert _facts(aten.view.default) == ("", ["self result0"], ["self result0"])
    assert _facts(aten._foreach_add_.List, {"self": [x], "other": [y]}) == ("self", [], ["self other"])
    for overload, tells in ((aten.batch_norm.default, "training"), (aten.instance_norm.default, "use_input_stats")):
        assert [_facts(overload, values)[0] for values in ({}, {tells: True}, {tells: False})] == [
            "running_mean running_var", "running_mean running_var", "",
        ]  # fmt: skip
    info = _SchemaInfo(aten.add_.Tensor._schema)
    assert info.is_mutable() and info.is_mutable("self") and not info.is_mutable("other") and info.has_argument("alpha")
    for wrong in (lambda: info.is_mutable("z"), lambda: info.add_argument_value("z", 1)):
        with pytest.raises(RuntimeError, match="Schema has no argument named z"):
            wrong()
    with pytest.raises(RuntimeError, match="Invalid index for schema"):
        info.may_alias(_SchemaArgument(_SchemaArgType.input, 9), _SchemaArgument(_SchemaArgType.input, 0))


def test_operators_by_name_and_the_key_at_which_a_call_finds_its_kernel():
    operator, at_key, tags = _C._get_operation_overload("aten::mul", "Tensor")
    x = torch.ones(2, requires_grad=True)
    assert operator(x, x).requires_grad and torch.Tag.pointwise in tags
    assert not at_key(DispatchKey.CPU, x, x).requires_grad
    assert _C._get_operation_overload("aten::mul", "none") is _C._get_operation_overload("aten::none", "") is None
    add, dropout = torch.ops.aten.add.Tensor, torch.ops.aten.dropout.default
    assert issubclass(_ops.OpOverload, _ops.OperatorBase) and issubclass(_ops.HigherOrderOperator, _ops.OperatorBase)
    assert _ops.DispatchKey is DispatchKey
    found = {key: _ops.resolve_key(add, DispatchKey[key]).name for key in ("CPU", "Meta", "AutogradCPU", "AutocastCPU")}
    assert found == {"CPU": "CPU", "Meta": "Meta", "AutogradCPU": "Autograd", "AutocastCPU": "AutocastCPU"}
    for key in ("CPU", "AutogradCPU"):
        assert _ops.resolve_key(dropout, DispatchKey[key]).name == "CompositeImplicitAutograd"
    assert _ops.resolve_key(add, DispatchKey.BackendSelect) is DispatchKey.BackendSelect
    assert add.has_kernel_for_any_dispatch_key(_C.DispatchKeySet(DispatchKey.CPU))
    with pytest.raises(NotImplementedError, match="could not find kernel for aten.add.Tensor at dispatch key"):
        _ops.resolve_key(add, DispatchKey.QuantizedCPU)


def test_the_mode_of_a_kind():
    kind = _C._TorchDispatchModeKey
    with FakeTensorMode() as mode:
        assert _C._get_dispatch_mode(kind.FAKE) is mode and _C._get_dispatch_mode(kind.PROXY) is None
    assert _C._get_dispatch_mode(kind.FAKE) is None
    with pytest.raises(RuntimeError, match="_TorchDispatchModeKey"):
        _C._get_dispatch_mode(0)


def test_callbacks_are_called_whatever_those_before_them_raise(caplog):
    seen, registry = [], _utils.CallbackRegistry("work")
    registry.add_callback(lambda *args: 1 / 0)
    registry.add_callback(lambda *args: seen.append(args))
    with caplog.at_level(logging.ERROR):
        registry.fire_callbacks(1, 2)
    assert seen == [(1, 2)] and "Exception in callback for work" in caplog.text


def test_seeds_wait_in_the_order_of_the_last_calls():
    seeds = _utils._LazySeedTracker()
    assert seeds.get_calls() == []
    seeds.queue_seed("one", 1)
    assert seeds.get_calls() == [None, ("one", 1)]
    seeds.queue_seed_all("all", 2)
    assert seeds.get_calls() == [("one", 1), ("all", 2)]
    seeds.queue_seed("two", 3)
    assert seeds.get_calls() == [("all", 2), ("two", 3)]


def test_chunks_that_are_put_beside_each_other_are_a_view_where_the_order_is_kept():
    x = torch.arange(24.0).reshape(4, 6)
    joined = _utils._maybe_view_chunk_cat
    assert joined(x, 2, 0) is x
    y, z = x.reshape(2, 2, 6), x.reshape(4, 1, 6)
    for tensor, group, dim, is_view in (
        (x, 4, 1, True), (x, 2, 1, False), (y, 2, 1, True), (y, 2, 2, False), (z, 2, 2, False),
    ):  # fmt: skip
        made = joined(tensor, group, dim)
        assert made.tolist() == torch.cat(tensor.chunk(group), dim).tolist()
        assert (made.data_ptr() == tensor.data_ptr()) is is_view


def test_a_stream_can_be_a_name_and_tracebacks_tell_frames():
    stream = torch.Stream(stream_id=1, device_index=2, device_type=3)
    assert (stream.stream_id, stream.device_index, stream.device_type) == (1, 2, 3)
    assert str(stream.device) == "opengl:2" and stream == torch.Stream(stream_id=1, device_index=2, device_type=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'stream_id'"):
        torch.Stream(stream_id=1)
    with pytest.raises(RuntimeError, match="is a name"):
        stream.synchronize()
    (frames,) = _C._profiler.symbolize_tracebacks([_C._profiler.gather_traceback(python=True)])
    assert frames[0]["name"] == "test_a_stream_can_be_a_name_and_tracebacks_tell_frames"
    assert frames[0]["filename"] == __file__ and frames[0]["line"] > 100


def test_dtypes_have_short_names_of_their_own():
    short = dtype_abbrs
    assert (short[torch.float32], short[torch.bfloat16], short[torch.bool], short[torch.complex64]) == (
        "f32", "bf16", "b8", "c64",
    )  # fmt: skip
    assert len(set(short.values())) == len(short)
    assert {d for d in vars(torch).values() if isinstance(d, torch.dtype)} >= set(short)
