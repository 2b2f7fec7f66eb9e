"""Runs PyTorch programs without PyTorch: ``import mindtorch as torch``, or ``mindtorch run program.py``.

This is the `torch` namespace. Operators, `Tensor` and dtypes are the core's; everything else is loaded when first asked
for, so that ``import mindtorch`` costs little more than ``import numpy``.
"""

from __future__ import annotations

import importlib
import sys as _sys
from types import ModuleType as _ModuleType
from typing import Any as _Any

import mt_core as _core
from mt_core import device_methods as _device_methods
from mt_core.api import _functions
from mt_core.api._functions import *  # noqa: F403 - every operator, as the generated module lists them
from mt_core.api._functions import segment_reduce as _segment_reduce  # noqa: F401 - PyTorch's two names of it
from mt_core.formats import _mkldnn as _mkldnn
from mt_core.plugins import discovery as _discovery
from mt_core.process_hook import IMPORTED_FIRST as _IMPORTED_FIRST

from . import _activation, _importer, _naming
from ._constants import e as e
from ._constants import inf as inf
from ._constants import nan as nan
from ._constants import newaxis as newaxis
from ._constants import pi as pi
from .stand_in import install_as_torch as install_as_torch
from .stand_in import is_torch_free as _is_torch_free
from .version import __version__ as __version__

globals().update(
    {
        name: value
        for name, value in vars(_core).items()
        if not name.startswith("_") and not isinstance(value, _ModuleType)
    }
)


def _leave_out_what_is_elsewhere() -> None:
    """Forget operators that PyTorch has in ``torch.linalg``, ``torch._C._nn`` or ``torch.ops``, and not here."""
    here = {own for _, own in _functions.NAMESPACES["torch"]}
    for space in _functions.NAMESPACES.values():
        for _, own in space:
            if own not in here and globals().get(own) is vars(_functions)[own]:
                del globals()[own]


_leave_out_what_is_elsewhere()
_importer.install()

_SUBMODULES = frozenset(
    """
    _C _VF __config__ __future__ _custom_op _custom_ops _decomp _dispatch _dynamo _export _functorch _guards
    _library _logging _ops _prims _prims_common _subclasses _tensor _tensor_str _utils accelerator amp ao autograd
    backends compiler cpu cuda distributed distributions export fft func functional futures fx hub jit library
    linalg masked monitor mps mtia multiprocessing nested nn onnx optim overrides package profiler quasirandom
    random return_types serialization signal sparse special storage testing torch_version types utils version xpu
    """.split()
)

#: Module -> what PyTorch has at the top level and that module defines.
_EXPORTS = {
    ".func": "vmap",
    "._C": "PyTorchFileReader ScriptModule",
    "._C._schemas": """AnyType Argument AwaitType BoolType ComplexType DeviceObjType DictType FloatType FunctionSchema
        FutureType IntType ListType NoneType NumberType OptionalType RRefType StreamObjType StringType SymBoolType
        SymIntType TensorType TupleType Type parse_schema""",
    "._checking": """_check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_tensor_all_with
        _check_type _check_value _check_with sym_constrain_range sym_constrain_range_for_size""",
    "._compile": "compile",
    "._compiler_types": """AggregationType AliasDb ArgumentSpec BenchmarkConfig BenchmarkExecutionStats Block
        BufferDict CallStack Capsule ClassType Code CompleteArgumentSpec ConcreteModuleType ConcreteModuleTypeBuilder
        DeepCopyMemoTable
        DeserializationStorageContext EnumType ErrorReport ExecutionPlan Gradient Graph GraphExecutorState IODescriptor
        InferredType InterfaceType LiteScriptModule LockingLogger ModuleDict Node NoopLogger OperatorInfo ParameterDict
        PyObjectType PyTorchFileWriter ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator
        ScriptDictKeyIterator ScriptList ScriptListIterator ScriptMethod ScriptModuleSerializer ScriptObject
        ScriptObjectProperty SerializationStorageContext StaticModule ThroughputBenchmark TracingState UnionType Use
        Value import_ir_module import_ir_module_from_buffer merge_type_from_type_comment parse_ir parse_type_comment
        sym_fresh_size unify_type_list""",
    "._build": """compiled_with_cxx11_abi has_lapack has_mkl has_openmp has_spectral init_num_threads
        is_vulkan_available""",
    "._operators_of_libraries": """batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
        batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats choose_qparams_optimized
        cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu
        cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable empty_quantized fbgemm_linear_fp16_weight
        fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation
        fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix
        fused_moving_avg_obs_fake_quant miopen_batch_norm miopen_convolution miopen_convolution_add_relu
        miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
        mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d
        mkldnn_rnn_layer quantized_batch_norm quantized_gru_cell quantized_lstm_cell quantized_max_pool1d
        quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell""",
    ".sparse._operators": """ccol_indices_copy col_indices_copy crow_indices_copy dsmm hsmm indices_copy native_norm
        row_indices_copy saddmm spmm values_copy""",
    ".testing._file_check": "FileCheck",
    "._C._dispatch_keys": "DispatchKey DispatchKeySet ExcludeDispatchKeyGuard",
    "mt_core.overriding": "DisableTorchFunction DisableTorchFunctionSubclass",
    ".jit": "CompilationUnit ScriptFunction fork wait",
    ".compiler": "_disable_dynamo",
    "._higher_order_ops": "cond",
    "._defaults": "get_default_device set_default_device set_default_tensor_type",
    "._errors": "AcceleratorError FatalError OutOfMemoryError",
    "._functionalization": """_disable_functionalization _enable_functionalization _freeze_functional_tensor
        _from_functional_tensor _functionalize_commit_update _functionalize_has_metadata_mutation _functionalize_replace
        _functionalize_sync _is_functional_tensor _is_functional_tensor_base _sync _to_functional_tensor""",
    "._legacy_types": """BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor
        LongTensor ShortTensor""",
    "._lobpcg": "lobpcg",
    "._predicates": """_assert can_cast detach detach_ get_device is_complex is_conj is_distributed
        is_floating_point is_inference
        is_neg is_nonzero is_same_size is_signed is_storage is_tensor numel resize_as_ result_type typename""",
    "._settings": """are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision
        is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled set_deterministic_debug_mode
        set_float32_matmul_precision set_warn_always use_deterministic_algorithms""",
    "._privateuse1": "_register_device_module get_device_module",
    "._symbolic": "SymBool SymFloat SymInt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum "
    "_sym_acos _sym_asin _sym_atan _sym_cos _sym_cosh _sym_log2 _sym_sin _sym_sinh _sym_sqrt _sym_tan _sym_tanh",
    "._threads": """get_num_interop_threads get_num_threads set_flush_denormal set_num_interop_threads
        set_num_threads""",
    ".amp": "GradScaler autocast",
    ".amp.autocast_mode": """autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache
        get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype
        is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled is_autocast_ipu_enabled
        is_autocast_xla_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled
        set_autocast_xla_dtype set_autocast_xla_enabled""",
    "mt_autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled set_anomaly_enabled",
    "mt_core.bridges": "from_mindspore set_interop_warning",
    "mt_core.functional_removed": "eig lstsq matrix_rank solve symeig",
    "mt_core.pipeline.context": "pipeline",
    "mt_core.printing": "set_printoptions",
    "mt_core.interop": "as_tensor asarray from_dlpack from_numpy frombuffer to_dlpack",
    "mt_core.random": """Generator default_generator get_rng_state initial_seed manual_seed seed set_rng_state
        thread_safe_generator""",
    "mt_core.serialization": "load save",
    "mt_core.sparse.construct": """sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor
        sparse_csc_tensor sparse_csr_tensor""",
    "mt_core.futures": "Future",
    "mt_core.storage": "StorageBase UntypedStorage",
    "mt_core.storage_tensors": "from_file",
    "mt_core.streams": "Event Stream",
    "mt_core.typed_storage": """BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage
        ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage QInt32Storage QInt8Storage
        QUInt2x4Storage QUInt4x2Storage QUInt8Storage ShortStorage TypedStorage""",
    "mt_library": "Tag ops",
    ".nested._internal.strided.creation": """_nested_from_padded _nested_from_padded_and_nested_example
        _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned _nested_tensor_from_tensor_list
        _nested_view_from_buffer""",
}
#: What PyTorch has under two names.
_OTHER_NAMES = {"bit": "uint1", "legacy_contiguous_format": "contiguous_format"}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}


def __getattr__(name: str) -> _Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "torch":  # PyTorch's package has its own name in it, and programs write torch.torch
        return _sys.modules[__name__ if __name__ in _sys.modules else __package__]
    if name == "JITException":  # PyTorch's name at the top level for an error of torch.jit
        return importlib.import_module(f"{__name__}.jit").Error
    if name == "quantization":
        return importlib.import_module(f"{__name__}.ao.quantization")
    if name in _OTHER_NAMES:
        return getattr(_core, _OTHER_NAMES[name])
    if name == "Storage":  # whichever class the default dtype has just now
        return _core.typed_storage.storage_class_of(_core.get_default_dtype())
    module = _MODULE_OF.get(name)
    if module is None:
        device_module = _module_of_device(name)
        if device_module is not None:
            return device_module
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = globals()[name] = getattr(importlib.import_module(module, __name__), name)
    return value


def _module_of_device(name: str) -> _ModuleType | None:
    """``torch.npu`` and the like, if a backend serves such devices."""
    if name.startswith("_") or name not in _discovery.backend_entry_points():
        return None
    from ._privateuse1 import module_of_backend  # lazy: few programs ask for such a device

    return module_of_backend(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, *_MODULE_OF, *_OTHER_NAMES, "JITException", "Storage", "quantization"})


if _is_torch_free():
    _importer.install_torch()
    _naming.install()
    _IMPORTED_FIRST.append("mindtorch")
_activation.activate_unless_command()
_device_methods.generate_for_backends()
