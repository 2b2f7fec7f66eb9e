"""Names that other libraries take from corners of PyTorch do what they do there."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

import mindtorch as torch


def test_structures_are_shared_and_never_divided_onto_the_cpu():
    from mindtorch.nn.parallel import gather, scatter
    from mindtorch.nn.parallel.scatter_gather import scatter_kwargs

    assert scatter([3, {"a": "x"}, (1, 2)], [0, 1]) == [[3, {"a": "x"}, (1, 2)]] * 2
    assert scatter_kwargs((3,), {"a": 4}, [0]) == (((3,),), ({"a": 4},))
    assert scatter_kwargs((3,), {}, [0, 1]) == (((3,), (3,)), ({}, {}))
    with pytest.raises(ValueError, match="Expected a non cpu device, but got: cpu"):
        scatter(torch.ones(4), ["cpu", "cpu"])
    assert gather([None, None], 0) is None
    with pytest.raises(AssertionError, match="Gather function not implemented for CPU tensors"):
        gather([torch.ones(2)], "cpu")


def test_tensors_are_divided_among_devices_and_joined():
    from mindtorch.nn.parallel import gather, scatter

    parts = scatter({"x": torch.ones(5, 2), "n": 7}, ["meta", "meta"])
    assert [(part["x"].shape, part["n"]) for part in parts] == [((3, 2), 7), ((2, 2), 7)]
    assert gather([part["x"] for part in parts], "meta").shape == (5, 2)
    with pytest.warns(UserWarning, match="will instead unsqueeze"):
        assert gather([torch.ones((), device="meta")] * 3, "meta").shape == (3,)
    with pytest.raises(ValueError, match="All dicts must have the same number of keys"):
        gather([{"a": torch.ones(1)}, {}], "meta")


def test_members_by_dotted_names():
    from mindtorch.nn.utils._named_member_accessor import NamedMemberAccessor

    module = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.BatchNorm1d(2))
    members = NamedMemberAccessor(module)
    named = {"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"}
    assert members.check_keys(["0.weight", "x"]) == (sorted(named - {"0.weight"}), ["x"])
    weight, zeros = module[0].weight, torch.nn.Parameter(torch.zeros(1, 1))
    before, missing = members.swap_tensors_dict({"0.weight": zeros})
    assert (before["0.weight"] is weight, module[0].weight is zeros, missing) == (True, True, [])
    with pytest.raises(RuntimeError, match="Missing key"):
        members.swap_tensors_dict({"0.weight": weight, "0.other": zeros})
    assert module[0].weight is zeros
    assert not hasattr(module[0], "other")
    with pytest.raises(AttributeError, match="Linear has no attribute `0.q`"):
        members.get_tensor("0.q")
    assert isinstance(members.swap_submodule("0", torch.nn.ReLU()), torch.nn.Linear)
    assert isinstance(module[0], torch.nn.ReLU)


def test_tensors_grouped_by_device_and_dtype():
    from mindtorch.utils._foreach_utils import _group_tensors_by_device_and_dtype

    one, two, other = torch.ones(1), torch.ones(1).double(), torch.ones(2)
    groups = _group_tensors_by_device_and_dtype([[one, two, one], [other, None, None]], with_indices=True)
    cpu = torch.device("cpu")
    lists, positions = groups[cpu, torch.float32]
    assert (lists[0][0] is one, lists[1][0] is other, lists[1][1], positions) == (True, True, None, [0, 2])
    assert groups[cpu, torch.float64][1] == [1]


def test_parts_of_printed_tensors():
    from mindtorch._tensor_str import _add_suffixes, _str_intern, _tensor_str

    assert _tensor_str(torch.tensor([[1.0, 2], [3, 4]]), 7) == "[[1., 2.],\n        [3., 4.]]"
    assert _add_suffixes("tensor([1.])", ["dtype=torch.int8"], 7, False) == "tensor([1.]), dtype=torch.int8)"
    assert _str_intern(torch.ones(2)) == "tensor([1., 1.])"


def test_what_became_of_ranks(tmp_path):
    from mindtorch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

    written = tmp_path / "error.json"
    written.write_text(json.dumps({"message": {"message": "ValueError: x", "extraInfo": {"timestamp": "5"}}}))
    raised, killed = ProcessFailure(0, 1, 1, str(written)), ProcessFailure(1, 2, -signal.SIGKILL, "<N/A>")
    assert (raised.message, raised.timestamp, raised.signal_name()) == ("ValueError: x", 5, "<N/A>")
    assert (killed.message, killed.signal_name()) == ("Signal 9 (SIGKILL) received by PID 2", "SIGKILL")
    error = ChildFailedError("train.py", {0: raised, 1: killed})
    assert error.get_first_failure() == (0, raised)
    assert "ValueError: x" in str(error)


def test_divergences_of_a_librarys_own_bases():
    from mindtorch.distributions import Distribution, kl

    class Base:
        pass

    class Other(Base, Distribution):
        pass

    before = dict(kl._KL_REGISTRY)
    kl.register_kl(Base, Base)(lambda p, q: torch.tensor(3.0))
    try:
        assert kl._KL_REGISTRY[Base, Base](None, None) == 3
        with pytest.raises(TypeError, match="arg 1 must be a class"):
            kl.register_kl(3, Base)
    finally:
        kl._KL_REGISTRY.clear()
        kl._KL_REGISTRY.update(before)


def test_marks_of_quantized_parts_do_nothing():
    from mindtorch.ao.quantization import DeQuantStub, QuantStub, QuantWrapper

    x = torch.ones(2)
    assert QuantStub()(x) is x
    assert DeQuantStub()(x) is x
    wrapped = QuantWrapper(torch.nn.ReLU().eval())
    assert (wrapped(-x).tolist(), wrapped.training) == ([0.0, 0.0], False)


def test_seeds_of_workers_are_numpys():
    from mindtorch.utils.data._utils.worker import _generate_state

    assert _generate_state(3, 1) == [4010755824, 4093133998, 1799442052, 773627024]  # as PyTorch says


def test_what_a_batch_refuses():
    from mindtorch.utils.data._utils.collate import collate_numpy_array_fn, np_str_obj_array_pattern

    assert np_str_obj_array_pattern.search(np.array(["a"]).dtype.str)
    with pytest.raises(TypeError, match="batch must contain tensors"):
        collate_numpy_array_fn([np.array(["a"])])


@pytest.mark.parametrize("name", ["Graph", "Value", "Node", "Block", "PyTorchFileWriter"])
def test_classes_without_instances_refuse(name):
    assert getattr(torch, name) is getattr(torch._C, name)
    with pytest.raises(NotImplementedError, match=rf"torch\.{name} is not supported"):
        getattr(torch, name)()


def test_names_that_mean_others():
    assert torch.torch.nn is torch.nn
    assert torch.Future is torch.futures.Future
    assert torch._dynamo.OptimizedModule is type(torch.compile(torch.nn.ReLU(), backend="eager"))
    assert torch.jit.annotations.BroadcastingList2[float] is None
    assert torch.hub.HASH_REGEX.search("resnet18-5c106cde.pth")[1] == "5c106cde"
    with pytest.raises(TypeError, match="mark_static_address expects a tensor but received <class 'int'>"):
        torch._dynamo.mark_static_address(3)


def test_what_has_come_is_told(tmp_path, capsys):
    source = tmp_path / "given"
    source.write_bytes(bytes(3000))
    for progress in (True, False):
        torch.hub.download_url_to_file(source.as_uri(), str(tmp_path / "kept"), progress=progress)
        assert bool(capsys.readouterr().err) is progress
    assert (tmp_path / "kept").stat().st_size == 3000


def test_a_bar_without_its_package(capsys):
    from mindtorch._progress import tqdm

    with tqdm(total=4, unit="B") as bar:
        bar.update(1)
    assert capsys.readouterr().err == "\r25.0%\n"
