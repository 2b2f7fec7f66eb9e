"""Names that libraries and training scripts ask for, found by running them: each works, or raises when it is called.

``works`` are called or read by a test of their own; here they must be there and be no refusal. ``raises`` say what is
not supported and what to do instead.
"""

from __future__ import annotations

import importlib

import pytest

import mindtorch as torch
from mindtorch._unsupported import _Refused

WORKS = """
    Generator Tensor.new Tensor.new_tensor Tensor.to_dense Tensor.apply_ Tensor.map_ vmap set_default_device
    _C.DispatchKeySet _C.DisableTorchFunctionSubclass _C._nn._parse_to
    _C._log_api_usage_once _C._get_tracing_state
    __config__.show __config__.parallel_info _assert _check _check_index _check_is_size _check_not_implemented
    _check_tensor_all _check_tensor_all_with _check_type _check_value _check_with _custom_ops _dirichlet_grad
    _dynamo.OptimizedModule _dynamo.mark_static_address _dynamo.utils _foreach_add_ _foreach_lerp_ _is_all_true
    _logging.set_logs _sample_dirichlet _standard_gamma _utils
    autocast autograd.forward_ad autograd.profiler.EventList autograd.profiler.profile
    autograd.profiler.record_function autograd.profiler_util.FunctionEventAvg
    distributed.TCPStore distributed.ProcessGroup distributed.device_mesh.DeviceMesh distributed.fsdp
    distributed.init_process_group distributed.tensor.DTensor
    distributions.MultivariateNormal distributions.Normal distributions.multivariate_normal
    export.export func.functional_call func.grad_and_value func.vmap
    futures.Future futures.collect_all futures.wait_all fx.Graph fx.GraphModule fx.Tracer fx.symbolic_trace
    hub.HASH_REGEX hub._get_torch_home hub.download_url_to_file hub.load hub.load_state_dict_from_url
    jit.ScriptModule jit.TracerWarning jit._overload_method jit._script_if_tracing jit.annotations jit.load jit.save
    jit.script jit.trace
    monitor.Aggregation monitor.Event monitor.Stat monitor.TensorboardEventHandler monitor.log_event
    monitor.register_event_handler monitor.unregister_event_handler
    multiprocessing.get_all_sharing_strategies multiprocessing.set_sharing_strategy multiprocessing.spawn
    nn.parallel.DistributedDataParallel nn.parallel.distributed
    onnx.OperatorExportTypes onnx.errors onnx.is_in_onnx_export onnx.register_custom_op_symbolic
    onnx.symbolic_helper.parse_args onnx.symbolic_opset11 onnx.symbolic_opset9 onnx.unregister_custom_op_symbolic
    optim.SparseAdam ao.quantization.quantize_dynamic fake_quantize_per_tensor_affine quantize_per_tensor
    package.PackagingError package.is_from_package
    profiler.ProfilerAction profiler.ProfilerActivity profiler.profile profiler.record_function profiler.schedule
    profiler.supported_activities profiler.tensorboard_trace_handler quasirandom.SobolEngine
    return_types.all_return_types return_types.max sparse_coo_tensor sparse_csr_tensor types._Number types.Number
    masked.masked_tensor nested.nested_tensor
    utils._python_dispatch.TorchDispatchMode utils.benchmark.Compare utils.benchmark.Measurement utils.benchmark.Timer
    utils.bottleneck.__main__ utils.checkpoint.CheckpointPolicy
    utils.checkpoint.create_selective_checkpoint_contexts utils.checkpoint.get_device_states
    utils.collect_env.get_pretty_env_info utils.deterministic.fill_uninitialized_memory
    utils.flop_counter.FlopCounterMode utils.model_zoo.load_url utils.module_tracker.ModuleTracker
""".split()

#: Name -> arguments that PyTorch would take.
RAISES = {
    "_C.PyTorchFileReader": ("file",),
    "_C.ScriptModule": (),
    "autograd.profiler.emit_itt": (),
    "autograd.profiler.emit_nvtx": (),
    "autograd.profiler.load_nvprof": ("file",),
    "hub.help": ("a/b", "c"),
    "hub.list": ("a/b",),
    "onnx.ExportableModule": (),
    "onnx.ONNXProgram": (),
    "onnx.export": (None, (), "file"),
    "package.PackageExporter": ("file",),
    "package.PackageImporter": ("file",),
    "profiler.ExecutionTraceObserver": (),
}


def _found(path: str):
    """What a dotted name below ``torch`` means, modules imported on the way."""
    found, done = torch, "mindtorch"
    for name in path.split("."):
        done += f".{name}"
        if not hasattr(found, name):
            importlib.import_module(done)
        found = getattr(found, name)
    return found


@pytest.mark.parametrize("path", WORKS)
def test_what_works_is_there(path):
    found = _found(path)
    assert not isinstance(found, _Refused)
    assert not (getattr(found, "__doc__", None) or "").startswith("Not supported")


@pytest.mark.parametrize("path", RAISES)
def test_what_is_refused_names_itself_and_the_remedy(path):
    with pytest.raises(
        NotImplementedError, match=rf"torch\.{path} is not supported by mindtorch\. [A-Z]".replace(".", r"\.", 0)
    ):
        _found(path)(*RAISES[path])


def test_functions_for_onnx_are_noted_and_refuse_to_be_called():
    from mindtorch.onnx import _symbolic

    @torch.onnx.symbolic_helper.parse_args("v", "i")
    def symbolic(graph, x):
        return graph.op("Relu", x)

    torch.onnx.register_custom_op_symbolic("mine::relu", symbolic, 11)
    assert _symbolic.SYMBOLIC_FUNCTIONS["mine::relu"] == {11: symbolic}
    torch.onnx.unregister_custom_op_symbolic("mine::relu", 11)
    assert _symbolic.SYMBOLIC_FUNCTIONS["mine::relu"] == {}
    with pytest.raises(NotImplementedError, match="symbolic"):
        symbolic(None, None)
    with pytest.raises(ValueError, match="format domain::name"):
        torch.onnx.register_custom_op_symbolic("relu", symbolic, 11)
    assert not hasattr(torch.onnx.symbolic_opset11, "select")


def test_classes_of_results_have_names_and_fields():
    classes = torch.return_types.all_return_types
    assert torch.return_types.max in classes and torch.return_types.linalg_svd_out in classes
    for made in classes:
        assert getattr(torch.return_types, made.__name__) is made and made.n_fields == len(made._fields) > 0


def test_the_build_is_told():
    assert "mt-core" in torch.__config__.show()
    assert f"get_num_threads() : {torch.get_num_threads()}" in torch.__config__.parallel_info()
    assert torch.__config__._cxx_flags() == ""


def test_bottleneck_tells_functions_and_operators(tmp_path, capsys, monkeypatch):
    from mindtorch.utils.bottleneck.__main__ import main

    program = tmp_path / "program.py"
    program.write_text("import sys\nimport mindtorch as torch\nassert sys.argv[1:] == ['--x']\ntorch.ones(3).exp()\n")
    monkeypatch.setattr("sys.path", ["", *__import__("sys").path])
    monkeypatch.setattr("sys.argv", ["pytest"])
    assert main([str(program), "--x"]) == 0
    text = capsys.readouterr().out
    assert "cProfile output" in text and "aten::exp" in text


def test_weights_of_a_model_zoo_are_fetched(tmp_path):
    torch.save({"w": torch.arange(2)}, tmp_path / "w.pth")
    loaded = torch.utils.model_zoo.load_url((tmp_path / "w.pth").as_uri(), model_dir=tmp_path / "kept")
    assert loaded["w"].tolist() == [0, 1]


def test_the_package_that_tensorboard_needs_is_named(run_python):
    run_python("""
        import sys

        class Without:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "tensorboard":
                    raise ModuleNotFoundError("withheld", name="tensorboard")

        sys.meta_path.insert(0, Without())
        import mindtorch
        try:
            import mindtorch.utils.tensorboard
        except ModuleNotFoundError as error:
            assert "pip install tensorboard" in str(error) and error.name == "tensorboard"
        else:
            raise AssertionError("no error")
    """)
