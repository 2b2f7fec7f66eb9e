"""``torch.autograd.backward`` and ``torch.autograd.grad``."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from mt_core.api import _functions as ops
from mt_core.deprecation import warn_once
from mt_core.formats import preserve_format
from mt_core.overriding import asking, handed_over_from_python, must_ask
from mt_core.state import settle, tls, unqueued
from mt_core.tensor import Tensor
from mt_core.transforms.batched import batched, lanes_of
from mt_core.transforms.vmap import VmapInterpreter

from .engine import run_backward
from .hooks import node_of
from .node import Edge, Node
from .views import edge_of

__all__ = ["GradientEdge", "backward", "get_gradient_edge", "grad"]


class GradientEdge(NamedTuple):
    """Where a tensor's gradient goes: its node, and as which output of it.

    Stands for the tensor in `backward` and `grad`.
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The gradient edge of a tensor that requires grad."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*node_of(tensor))


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradients of leaves and add them to their ``.grad``.

    Parameters
    ----------
    tensors
        One tensor or gradient edge, or a sequence of them, from which to go back.
    grad_tensors
        Their gradients, one each; None for a scalar's is 1.
    retain_graph
        Keep what the graph saved, so that it can be run again; by default as `create_graph`.
    create_graph
        Record the computation of the gradients, so that they can be differentiated.
    inputs
        Fill ``.grad`` of these only; they need not be leaves.

    Raises
    ------
    RuntimeError
        In PyTorch's words: for tensors that do not require grad, gradients of the wrong shape, a graph already freed.
    """
    settle()
    if tls.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )
    outputs = as_tuple(tensors)
    grads = make_gradients(outputs, as_tuple(grad_tensors, len(outputs)))
    targets = None
    if inputs is not None:
        chosen = as_tuple(inputs)
        if not chosen:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        targets = [_accumulating_edge(tensor) for tensor in chosen]
    if create_graph:
        _warn_of_cycle()
    retain = create_graph if retain_graph is None else retain_graph
    run_backward(root_edges(outputs), grads, retain_graph=retain, create_graph=create_graph, targets=targets)


def _warn_of_cycle() -> None:
    """Warn, once, of what ``backward(create_graph=True)`` may leave behind."""
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
        "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
        "the cycle and avoid the leak.",
        stacklevel=4,
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...] | dict[Any, Tensor | None]:
    """The gradients of the sum of `outputs` with respect to `inputs`, without touching any ``.grad``.

    Parameters
    ----------
    outputs, grad_outputs, retain_graph, create_graph
        As in `backward`.
    inputs
        Tensors or gradient edges, leaves or not; a dict of them gives a dict of gradients.
    allow_unused
        Return None for inputs that the outputs do not depend on, instead of raising.
    is_grads_batched
        The first dimension of every gradient in `grad_outputs` counts independent gradients, and so does that of the
        results.
    materialize_grads
        Return zeros in place of None.

    Raises
    ------
    RuntimeError
        As `backward`; and for an unused input.
    """
    settle()
    if materialize_grads:
        if allow_unused is False:
            raise ValueError(
                "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                "allow_unused=False."
            )
        allow_unused = True
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    names = tuple(inputs) if isinstance(inputs, dict) else None
    outputs, inputs = as_tuple(outputs), as_tuple(inputs if names is None else tuple(inputs.values()))
    if must_ask((*outputs, *inputs)):
        options = {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph,
            "only_inputs": only_inputs, "allow_unused": allow_unused, "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }  # fmt: skip
        given = inputs if names is None else dict(zip(names, inputs, strict=True))
        return handed_over_from_python(grad, (*outputs, *inputs), (outputs, given), options)
    grads = make_gradients(outputs, as_tuple(grad_outputs, len(outputs)), batched=is_grads_batched)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        results = _batched(outputs, inputs, grads, retain, create_graph)
    else:
        results = _gradients(outputs, inputs, grads, retain, create_graph)
    if not allow_unused:
        _refuse_unused(results)
    if materialize_grads:
        results = [_zeros_like(x, create_graph) if g is None else g for g, x in zip(results, inputs, strict=True)]
    return tuple(results) if names is None else dict(zip(names, results, strict=True))


def _gradients(
    outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], retain: bool, create_graph: bool
) -> list[Any]:
    roots = root_edges(outputs)
    targets = [_target_edge(x) for x in inputs]
    return run_backward(roots, grads, retain_graph=retain, create_graph=create_graph, targets=targets, accumulate=False)


def _batched(
    outputs: Sequence[Any], inputs: Sequence[Any], grads: Sequence[Any], retain: bool, create_graph: bool
) -> list[Any]:
    """One run for all gradients of the batch, whose number is a dimension that the graph does not see."""
    size = next(g.shape[0] for g in grads if g is not None)
    with VmapInterpreter(size) as level:
        lanes = [None if g is None else batched(g, 0, level) for g in grads]
        results = _gradients(outputs, inputs, lanes, retain, create_graph)
    return [None if result is None else lanes_of(result, level).spread(size) for result in results]


def _refuse_unused(results: Sequence[Any]) -> None:
    for index, result in enumerate(results):
        if result is None:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior."
            )


def _zeros_like(target: Any, requires_grad: bool) -> Tensor:
    """Zeros in place of a gradient that is not there; they can be differentiated where the others can."""
    if isinstance(target, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    return ops.zeros_like(target, requires_grad=requires_grad)


# Arguments


def as_tuple(value: Any, length: int = 1) -> tuple[Any, ...]:
    """Tensors as a tuple: one stands for itself, None for `length` times None."""
    if value is None:
        return (None,) * length
    return (value,) if isinstance(value, (Tensor, GradientEdge)) or asking(type(value)) else tuple(value)


def root_edges(outputs: Sequence[Any]) -> list[Edge]:
    """The edges from which to go back.

    Raises
    ------
    RuntimeError
        In PyTorch's words for an output without history.
    """
    edges = []
    for index, output in enumerate(outputs):
        edge = _edge(output)
        if edge[0] is None:
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
        edges.append(edge)
    return edges


def _edge(tensor: Any) -> Edge:
    return (tensor.node, tensor.output_nr) if isinstance(tensor, GradientEdge) else edge_of(tensor)


def _target_edge(tensor: Any) -> Edge:
    if not isinstance(tensor, GradientEdge) and not tensor.requires_grad:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return _edge(tensor)


def _accumulating_edge(tensor: Any) -> Edge:
    if not isinstance(tensor, GradientEdge):
        tensor.retain_grad()
    return _edge(tensor)


def make_gradients(outputs: Sequence[Any], grads: Sequence[Any], *, batched: bool = False) -> list[Any]:
    """The gradients to start from: those given, checked against their outputs, and 1 for scalars without.

    Raises
    ------
    RuntimeError, TypeError
        In PyTorch's words, where a gradient does not fit or cannot be made.
    """
    if len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    with unqueued():
        return [_gradient_for(i, output, g, batched) for i, (output, g) in enumerate(zip(outputs, grads, strict=True))]


def _gradient_for(index: int, output: Any, grad: Any, batched: bool) -> Any:
    if isinstance(grad, Tensor):
        _check_gradient(index, output, grad, batched)
        return grad
    if grad is not None:
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    shape, dtype = _shape_and_dtype(output)
    if not isinstance(output, GradientEdge) and not output.requires_grad:
        return None
    if any(size != 1 for size in shape):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
    if isinstance(output, GradientEdge):
        return ops.ones(shape, dtype=dtype)
    return ops.ones_like(output, memory_format=preserve_format)


def _shape_and_dtype(output: Any) -> tuple[Any, Any]:
    if isinstance(output, GradientEdge):
        metadata = output.node._input_metadata[output.output_nr]
        return metadata.shape, metadata.dtype
    return _shape_of(output), output.dtype


def _shape_of(tensor: Tensor) -> Any:
    """The shape; of nested tensors, which tell none, what stands for it."""
    return tensor._array.shape if tensor.is_nested else tensor.shape


_BATCH_MISMATCH = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
    "detected: "
)
_BATCH_HINT = " If you only want some tensors in `grad_output` to be considered batched, consider using vmap."


def _check_gradient(index: int, output: Any, grad: Tensor, batched: bool) -> None:
    shape, dtype = _shape_and_dtype(output)
    whole = _shape_of(grad)
    given = whole[1:] if batched else whole
    if given != shape:
        subject, hint = (_BATCH_MISMATCH, _BATCH_HINT) if batched else ("Mismatch in shape: ", "")
        raise RuntimeError(
            f"{subject}grad_output[{index}] has a shape of {whole} and output[{index}] has a shape of {shape}.{hint}"
        )
    if dtype.is_complex != grad.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {grad.dtype} and output[{index}] has a dtype of {dtype}."
        )
