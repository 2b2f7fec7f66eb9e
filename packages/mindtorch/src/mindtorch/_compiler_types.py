"""Classes of PyTorch's compiler and files that programs name in annotations and ``isinstance``; none has instances."""

from __future__ import annotations

from ._unsupported import unsupported_class, unsupported_function

_GRAPHS = "There are no graphs of TorchScript: torch.fx and torch.export have graphs of operators."
_FILES = "Use torch.load and torch.save."
_ARCHIVES = "torch.jit.load runs archives of TorchScript, and torch.jit.save writes them."
_TYPES = "torch.jit.script reads the annotations of Python."
_BENCHMARKS = "Use torch.utils.benchmark, or torch.profiler."

Block = unsupported_class("torch.Block", _GRAPHS)
Graph = unsupported_class("torch.Graph", _GRAPHS)
Node = unsupported_class("torch.Node", _GRAPHS)
Use = unsupported_class("torch.Use", _GRAPHS)
Value = unsupported_class("torch.Value", _GRAPHS)
PyTorchFileWriter = unsupported_class("torch.PyTorchFileWriter", _FILES)

#: Reason -> names of others.
_CLASSES = {
    _GRAPHS: """AggregationType AliasDb ArgumentSpec CallStack Code CompleteArgumentSpec ConcreteModuleType
        ConcreteModuleTypeBuilder ErrorReport ExecutionPlan Gradient GraphExecutorState IODescriptor
        OperatorInfo StaticModule TracingState""",
    _FILES: "DeserializationStorageContext SerializationStorageContext",
    _ARCHIVES: """BufferDict Capsule DeepCopyMemoTable LiteScriptModule ModuleDict ParameterDict ScriptClass
        ScriptClassFunction ScriptDict ScriptDictIterator ScriptDictKeyIterator ScriptList ScriptListIterator
        ScriptMethod ScriptModuleSerializer ScriptObject ScriptObjectProperty""",
    _TYPES: "ClassType EnumType InferredType InterfaceType PyObjectType UnionType",
    _BENCHMARKS: "BenchmarkConfig BenchmarkExecutionStats LockingLogger NoopLogger ThroughputBenchmark",
}
_FUNCTIONS = {
    _GRAPHS: "parse_ir sym_fresh_size",
    _ARCHIVES: "import_ir_module import_ir_module_from_buffer",
    _TYPES: "merge_type_from_type_comment parse_type_comment unify_type_list",
}
globals().update(
    {name: unsupported_class(f"torch.{name}", why) for why, names in _CLASSES.items() for name in names.split()}
)
globals().update(
    {name: unsupported_function(f"torch.{name}", why) for why, names in _FUNCTIONS.items() for name in names.split()}
)

__all__ = [
    "Block",
    "Graph",
    "Node",
    "PyTorchFileWriter",
    "Use",
    "Value",
    *(name for names in (*_CLASSES.values(), *_FUNCTIONS.values()) for name in names.split()),
]
