"""``torch.autograd.functional``: Jacobians, Hessians, and products with them.

Products of a Jacobian with a vector on the right are had from backward twice: backward is linear in the gradient that
it starts from, and the derivative of that linear function, transposed, is the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import enable_grad
from mt_core.tensor import Tensor

from . import tangents
from .api import grad
from .func.jacobians import identity_blocks, split_blocks
from .gradcheck_forward import elements

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]
Function = Callable[..., Any]


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's result, and the product of `v` with its Jacobian: the inputs' gradients if `v` is the outputs'.

    Parameters
    ----------
    func
        Takes tensors, returns a tensor or a tuple of tensors.
    inputs
        A tensor or a tuple of tensors.
    v
        As the outputs; may be left out for a scalar output.
    create_graph
        Record the computation, so that the result can be differentiated.
    strict
        Make it an error if an output does not depend on an input, instead of counting the derivative as zero.

    Raises
    ------
    RuntimeError, TypeError
        In PyTorch's words, for arguments or outputs that do not fit.
    """
    with enable_grad():
        call = _Call(func, inputs, "vjp", create_graph, strict)
        seeds = call.seeds_for_outputs(v)
        products = call.checked("jacobian", call.gradients(call.outputs, seeds, create_graph))
    return call.as_outputs(call.outputs), call.as_inputs(products)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's result, and the product of its Jacobian with `v`: its change where `v` is that of the inputs.

    `v` is as the inputs, and may be left out for a scalar input. Other parameters and errors are those of `vjp`.
    """
    with enable_grad():
        call = _Call(func, inputs, "jvp", create_graph, strict)
        directions = call.seeds_for_inputs(v)
        products = call.checked("jacobian", call.right_product(call.outputs, directions, create_graph))
    return call.as_outputs(call.outputs), call.as_outputs(products)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The result of a scalar function, and the product of `v` with its Hessian.

    Parameters and errors are those of `jvp`.
    """
    with enable_grad():
        call = _Call(func, inputs, "vhp", create_graph, strict)
        directions = call.seeds_for_inputs(v)
        first = call.first_derivative()
        products = call.checked("hessian", call.gradients(first, directions, create_graph))
    return call.as_outputs(call.outputs), call.as_inputs(products)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The result of a scalar function, and the product of its Hessian with `v`; `vhp` is faster, mostly the same."""
    with enable_grad():
        call = _Call(func, inputs, "hvp", create_graph, strict)
        directions = call.seeds_for_inputs(v)
        products = call.checked("hessian", call.right_product(call.first_derivative(), directions, create_graph))
    return call.as_outputs(call.outputs), call.as_inputs(products)


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of a function, of shape (output's shape, input's shape).

    Parameters
    ----------
    vectorize
        Compute all rows by one backward pass, under ``vmap``.
    strategy
        ``"reverse-mode"``, row by row, or ``"forward-mode"``, column by column, which as in PyTorch must be vectorized;
        columns are computed one after the other all the same.

    Returns
    -------
    Tensor, or for a tuple of outputs or inputs a tuple of them; for both, a tuple over outputs of tuples over inputs.
    """
    _check_strategy("jacobian", strategy)
    if strategy == "forward-mode":
        return _jacobian_forward(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        call = _Call(func, inputs, "jacobian", create_graph, strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                "Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            blocks = call.jacobian_at_once(create_graph)
        else:
            blocks = [call.jacobian_of(i, create_graph) for i in range(len(call.outputs))]
    rows = tuple(block if call.many_inputs else block[0] for block in blocks)
    return rows if call.many_outputs else rows[0]


def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of a scalar function: the Jacobian of its gradient. Parameters and errors are those of `jacobian`."""
    _check_strategy("hessian", outer_jacobian_strategy)
    if outer_jacobian_strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
    many = isinstance(inputs, tuple)
    _tensors(inputs, "inputs", "hessian")

    def first_derivative(*values: Tensor) -> Tensors:
        call = _Call(func, values, "hessian", True, strict, prepared=True)
        return call.first_derivative()

    given = inputs if many else (inputs,)
    if outer_jacobian_strategy == "forward-mode":
        given = tuple(x.detach().requires_grad_() for x in given)
    blocks = jacobian(
        first_derivative, given, create_graph=create_graph, strict=strict, vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )  # fmt: skip
    return blocks if many else blocks[0][0]


def _check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
            "`vectorize=True`."
        )


def _jacobian_forward(func: Function, inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """The Jacobian by forward mode: one run of the function for each element of each input."""
    given = _tensors(inputs, "inputs", "jacobian")
    _check_forward(create_graph, strict, vectorize)
    results = func(*given)
    outputs = _tensors(results, "outputs of the user-provided function", "jacobian")
    columns = [[_column(func, given, index, d) for d in elements(x)] for index, x in enumerate(given)]
    blocks = [
        [_from_columns([c[nr] for c in of_input], y, x) for of_input, x in zip(columns, given, strict=True)]
        for nr, y in enumerate(outputs)
    ]
    rows = blocks if isinstance(inputs, tuple) else [block[0] for block in blocks]
    return rows if isinstance(results, tuple) else rows[0]


def _column(func: Function, given: Tensors, index: int, direction: Tensor) -> Tensors:
    """The tangents of the outputs where one input moves along a direction."""
    level = tangents.enter_level()
    try:
        dual = tangents.make_dual(given[index], direction, level)
        results = func(*given[:index], dual, *given[index + 1 :])
        found = [tangents.unpack(y, level) for y in (results if isinstance(results, tuple) else (results,))]
    finally:
        tangents.exit_level(level)
    return tuple(ops.zeros_like(y) if t is None else t for y, t in found)


def _from_columns(columns: list[Tensor], y: Tensor, x: Tensor) -> Tensor:
    """(output's shape, input's shape) from a column for each element of the input."""
    shape = (*y.shape, *x.shape)
    return ops.stack(columns, -1).reshape(shape) if columns else y.new_zeros(shape)


def _construct_standard_basis_for(tensors: Sequence[Tensor], tensor_numels: Sequence[int]) -> tuple[Tensor, ...]:
    """The columns that belong to each tensor, (all elements, its elements), of the identity over all elements."""
    blocks = identity_blocks(tensors)
    return tuple(block.reshape(len(block), count) for block, count in zip(blocks, tensor_numels, strict=True))


def _check_strategy(name: str, strategy: str) -> None:
    if strategy not in ("reverse-mode", "forward-mode"):
        hint = (
            " Hint: If your function has more outputs than inputs, "
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode".' + (hint if name == "jacobian" else "")
        )


class _Call:
    """One call of a user's function at one point, and derivatives of it."""

    def __init__(
        self, func: Function, inputs: Any, name: str, create_graph: bool, strict: bool, *, prepared: bool = False
    ) -> None:
        self.name = name
        self.strict = strict
        self.create_graph = create_graph
        #: Whether the inputs are those of a call around this one, which looks at what is missing.
        self.prepared = prepared
        self.many_inputs = isinstance(inputs, tuple)
        given = _tensors(inputs, "inputs", name)
        self.inputs = given if prepared else tuple(_differentiable(x, create_graph) for x in given)
        results = func(*self.inputs)
        self.many_outputs = isinstance(results, tuple)
        self.outputs = _tensors(results, "outputs of the user-provided function", name)
        if strict:
            self._check_dependence()

    def _check_dependence(self) -> None:
        for index, output in enumerate(self.outputs):
            if not output.requires_grad:
                raise RuntimeError(
                    f"Output {index} of the user-provided function does not require gradients. The outputs must be "
                    "computed in a differentiable manner from the input when running in strict mode."
                )

    def as_outputs(self, tensors: Tensors) -> Any:
        return self._finished(tensors, self.many_outputs)

    def as_inputs(self, tensors: Tensors) -> Any:
        return self._finished(tensors, self.many_inputs)

    def _finished(self, tensors: Tensors, many: bool) -> Any:
        final = tuple(t if self.create_graph else t.detach() for t in tensors)
        return final if many else final[0]

    # Vectors to multiply with

    def seeds_for_outputs(self, v: Any) -> Tensors:
        if v is None:
            if len(self.outputs) != 1 or self.outputs[0].numel() != 1:
                raise RuntimeError(
                    "The vector v can only be None if the user-provided function returns a single Tensor with a "
                    "single element."
                )
            return (ops.ones_like(self.outputs[0]),)
        return _vectors(v, self.outputs, self.many_outputs, self.name)

    def seeds_for_inputs(self, v: Any) -> Tensors:
        if v is None:
            if len(self.inputs) != 1 or self.inputs[0].numel() != 1:
                raise RuntimeError(
                    "The vector v can only be None if the input to the user-provided function is a single Tensor with "
                    "a single element."
                )
            return (ops.ones_like(self.inputs[0]),)
        return _vectors(v, self.inputs, self.many_inputs, self.name)

    # Derivatives

    def gradients(self, outputs: Sequence[Tensor], seeds: Sequence[Tensor], create_graph: bool) -> Tensors:
        """Gradients of the inputs; zeros where there is no dependence, or in strict mode an error."""
        pairs = [(y, s) for y, s in zip(outputs, seeds, strict=True) if y.requires_grad]
        if not pairs:
            return tuple(ops.zeros_like(x) for x in self.inputs)
        found = grad(
            [y for y, _ in pairs], self.inputs, [s for _, s in pairs], create_graph=create_graph, allow_unused=True,
            retain_graph=True,
        )  # fmt: skip
        return tuple(self._present(g, x, i) for i, (g, x) in enumerate(zip(found, self.inputs, strict=True)))

    def checked(self, what: str, products: Tensors) -> Tensors:
        """The products; in strict mode, if they are to be differentiated, an error where that gives nothing."""
        for index, product in enumerate(products if self.strict and self.create_graph else ()):
            if not product.requires_grad:
                raise RuntimeError(
                    f"The {what} of the user-provided function is independent of input {index}. This is not allowed "
                    "in strict mode when create_graph=True."
                )
        return products

    def _present(self, gradient: Tensor | None, x: Tensor, index: int) -> Tensor:
        if gradient is not None:
            return gradient
        if self.strict and not self.prepared:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {index}. This is not allowed in "
                "strict mode."
            )
        return ops.zeros_like(x)

    def first_derivative(self) -> Tensors:
        """The recorded gradients of a scalar function."""
        if self.many_outputs:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )
        first = self.gradients(self.outputs, (ops.ones_like(self.outputs[0]),), create_graph=True)
        if self.strict:
            for index, derivative in enumerate(first):
                if not derivative.requires_grad:
                    raise RuntimeError(
                        "While computing the hessian, found that the jacobian of the user-provided function with "
                        f"respect to input {index} is independent of the input. This is not allowed in strict mode. "
                        "You should ensure that your function is twice differentiable and that the jacobian depends "
                        "on the inputs (this would be violated by a linear function for example)."
                    )
        return first

    def right_product(self, outputs: Sequence[Tensor], directions: Tensors, create_graph: bool) -> Tensors:
        """Change of the outputs along directions of the inputs."""
        seeds = tuple(ops.zeros_like(y).requires_grad_() for y in outputs)
        transposed = self.gradients(outputs, seeds, create_graph=True)
        pairs = [(t, d) for t, d in zip(transposed, directions, strict=True) if t.requires_grad]
        if not pairs:
            return tuple(ops.zeros_like(y) for y in outputs)
        found = grad(
            [t for t, _ in pairs],
            seeds,
            [d for _, d in pairs],
            create_graph=create_graph,
            allow_unused=True,
            retain_graph=True,
        )
        return tuple(ops.zeros_like(y) if g is None else g for g, y in zip(found, outputs, strict=True))

    def jacobian_of(self, output_nr: int, create_graph: bool) -> Tensors:
        """The blocks of the Jacobian that belong to one output, one per input."""
        output = self.outputs[output_nr]
        if not output.requires_grad:
            return tuple(output.new_zeros((*output.shape, *x.shape)) for x in self.inputs)
        rows: list[list[Tensor]] = [[] for _ in self.inputs]
        flat = output.reshape(-1)
        for element in range(output.numel()):
            found = grad(flat[element], self.inputs, create_graph=create_graph, allow_unused=True, retain_graph=True)
            for index, (column, g, x) in enumerate(zip(rows, found, self.inputs, strict=True)):
                column.append(self._row(g, x, output_nr, index))
        blocks = [self._block(column, output, x) for column, x in zip(rows, self.inputs, strict=True)]
        return tuple(block if create_graph else block.detach() for block in blocks)

    def jacobian_at_once(self, create_graph: bool) -> list[Tensors]:
        """The blocks of all outputs, by one backward pass of the rows of the identity."""
        counts = [output.numel() for output in self.outputs]
        pairs = [
            (output, rows)
            for output, rows in zip(self.outputs, identity_blocks(self.outputs), strict=True)
            if output.requires_grad
        ]
        found: Any = [None] * len(self.inputs)
        if pairs and sum(counts):
            found = grad(
                [output for output, _ in pairs], self.inputs, [rows for _, rows in pairs], create_graph=create_graph,
                allow_unused=True, retain_graph=True, is_grads_batched=True,
            )  # fmt: skip
        columns = [
            split_blocks(x.new_zeros((sum(counts), *x.shape)) if g is None else g, counts)
            for g, x in zip(found, self.inputs, strict=True)
        ]
        return [
            tuple(column[i].view((*output.shape, *x.shape)) for column, x in zip(columns, self.inputs, strict=True))
            for i, output in enumerate(self.outputs)
        ]

    def _row(self, gradient: Tensor | None, x: Tensor, output_nr: int, index: int) -> Tensor:
        if gradient is None:
            if self.strict:
                raise RuntimeError(
                    f"Output {output_nr} of the user-provided function is independent of input {index}. This is not "
                    "allowed in strict mode."
                )
            return ops.zeros_like(x)
        if self.strict and self.create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {index}. This is not allowed in "
                "strict mode when create_graph=True."
            )
        return gradient

    @staticmethod
    def _block(rows: list[Tensor], output: Tensor, x: Tensor) -> Tensor:
        return ops.stack(rows).view((*output.shape, *x.shape))


def _tensors(value: Any, what: str, name: str) -> Tensors:
    """The value as a tuple of tensors.

    Raises
    ------
    TypeError
        In PyTorch's words for anything else.
    """
    subject = f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the"
    if not isinstance(value, tuple):
        if not isinstance(value, Tensor):
            raise TypeError(f"{subject} given {what} has type {type(value)}.")
        return (value,)
    for index, item in enumerate(value):
        if not isinstance(item, Tensor):
            raise TypeError(f"{subject} value at index {index} has type {type(item)}.")
    return value


def _differentiable(x: Tensor, create_graph: bool) -> Tensor:
    """The input as a variable of its own; with `create_graph` connected to what it was computed from."""
    if create_graph and x.requires_grad:
        return x.view_as(x)
    return x.detach().requires_grad_()


def _vectors(v: Any, like: Tensors, many: bool, name: str) -> Tensors:
    vectors = _tensors(v, "v", name)
    if len(vectors) != len(like):
        if many:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != tensor.shape:
            prefix = f"Entry {index} in " if many else ""
            raise RuntimeError(f"{prefix}v has invalid size: should be {tensor.shape} but got {vector.shape}.")
    return vectors
