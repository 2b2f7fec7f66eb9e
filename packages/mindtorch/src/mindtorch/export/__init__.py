"""``torch.export``: a module as a graph of operators."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from mt_core import pytree
from mt_nn import Module

from .._dynamo.exc import UserError
from .._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)
from .._unsupported import refusal
from ..fx.passes.infra.pass_base import PassResult
from ._draft_export import DraftExportReport
from ._files import load, save
from ._shape_sources import AdditionalInputs, ShapesCollection
from ._trace import trace
from .decomp_utils import CustomDecompTable
from .dynamic_shapes import Dim, dims
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, default_decompositions
from .graph_signature import ExportBackwardSignature, ExportGraphSignature
from .unflatten import FlatArgsAdapter, UnflattenedModule, unflatten

__all__ = [
    "AdditionalInputs",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "PassResult",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "draft_export",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: Sequence[str] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """The graph of the operators that a module calls for these arguments.

    The module runs once, on fake tensors. What it decides by shapes and by arguments that are no tensors is part of the
    graph, and compared when the graph is called.

    Parameters
    ----------
    args, kwargs
        Arguments of the module, tensors and plain values in nested containers.
    dynamic_shapes
        Which sizes may vary: for each argument, by name or in order, None or, for each dimension of a tensor, a `Dim`
        (sizes of one name are equal), ``Dim.AUTO`` (what the program lets vary), ``Dim.DYNAMIC`` (it must), or None.
        A `ShapesCollection` says it by tensors, and `AdditionalInputs` by further arguments, for which the program is
        called once.

    Raises
    ------
    NotImplementedError
        For ``strict=True``, signatures of submodules, and checks that are put off.
    ValueError
        When `mod` is no module.
    torch._dynamo.exc.UserError
        When `args` is no tuple, when `dynamic_shapes` does not go with the arguments, and when the program does not let
        a size vary as was declared.
    torch._subclasses.fake_tensor.DataDependentOutputException
        When the module reads elements of a tensor.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise UserError(f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    if strict:
        raise refusal("torch.export.export(strict=True)", "Leave it out: the module is run, and not read.")
    if preserve_module_call_signature:
        raise refusal("torch.export.export(preserve_module_call_signature=...)", "Leave it out.")
    if prefer_deferred_runtime_asserts_over_guards:
        raise refusal("torch.export.export(prefer_deferred_runtime_asserts_over_guards=True)", "Guards come first.")
    given = dict(kwargs or {})
    shapes = dynamic_shapes
    if isinstance(shapes, (ShapesCollection, AdditionalInputs)):
        shapes = shapes.dynamic_shapes(mod, args, given)
    program = ExportedProgram.of_module(mod, trace(mod, args, given, shapes), args, given)
    if isinstance(dynamic_shapes, AdditionalInputs):
        dynamic_shapes.verify(program)
    return program


def draft_export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    preserve_module_call_signature: Sequence[str] = (),
    strict: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """`export`, with a report that nothing was found that would have to be mended.

    PyTorch's goes on where something was, and reports it; here that is refused with the reason.

    Raises
    ------
    NotImplementedError
        Where the module reads elements, has an operator without a fake form, or does not let a size vary as declared.
    """
    try:
        program = export(
            mod, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict,
            preserve_module_call_signature=preserve_module_call_signature,
            prefer_deferred_runtime_asserts_over_guards=prefer_deferred_runtime_asserts_over_guards,
        )  # fmt: skip
    except (
        UserError, DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException
    ) as error:  # fmt: skip
        raise refusal(
            "torch.export.draft_export of a program that torch.export.export refuses", f"It says: {error}"
        ) from error
    program._report = DraftExportReport()
    return program


def register_dataclass(cls: type[Any], *, serialized_type_name: str | None = None) -> None:
    """Let instances of a dataclass be arguments and results, with their fields as parts; what is None has no part.

    Raises
    ------
    AssertionError
        When it is no dataclass.
    """
    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    names = [field.name for field in dataclasses.fields(cls) if field.init]

    def flatten(value: Any) -> tuple[list[Any], Any]:
        held = [name for name in names if getattr(value, name) is not None]
        return [getattr(value, name) for name in held], [held, [name for name in names if name not in held]]

    def flatten_with_keys(value: Any) -> tuple[list[Any], Any]:
        parts, context = flatten(value)
        return [(pytree.MappingKey(name), part) for name, part in zip(context[0], parts, strict=True)], context

    def unflatten(parts: Iterable[Any], context: Any) -> Any:
        held, absent = context
        return cls(**dict(zip(held, parts, strict=True)), **dict.fromkeys(absent))

    pytree.register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )
