"""``torch.autograd.gradcheck``: gradients by formula against gradients by finite differences.

Every output is seen as real functions of its inputs (the real and the imaginary part of each element); the gradient of
each, as backward gives it, must agree with central differences. For a complex input z = x + iy both mean ``dL/dx + i
dL/dy``. In fast mode the two are compared along one random direction of inputs and outputs instead of element by
element. Directions are drawn from a generator of the check's own: a function that draws from the default one and puts
its state back is the same function at every evaluation.
"""

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mt_core.api import _functions as ops
from mt_core.autograd_state import no_grad
from mt_core.dtypes import complex128, float64
from mt_core.formats import strided
from mt_core.random import Generator
from mt_core.tensor import Tensor

from .api import grad
from .gradcheck_forward import ForwardCheck, elements
from .gradcheck_sparse import by_values, tells_zeros_apart
from .node import Node, output_spec
from .recording import make_output
from .views import edge_of

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """The gradients disagree, or the function cannot be checked; the message says which."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check gradients computed by backward, or by forward mode, against central differences.

    Parameters
    ----------
    func
        Takes `inputs`, returns a tensor or a tuple of tensors.
    inputs
        A tensor or a tuple; those that require grad are checked, and should be float64 or complex128.
    eps, atol, rtol
        Step of the differences, and how far the two may be apart.
    raise_exception
        Raise when the check fails, instead of returning False.
    nondet_tol
        How far two runs of the same backward may be apart.
    check_undefined_grad
        Also check that gradients which did not arrive count as zeros.
    check_grad_dtypes
        Also check that gradients have their input's dtype.
    check_forward_ad, check_backward_ad
        Whether the tangents of forward mode are checked, and the gradients of backward.
    masked
        Whether of sparse inputs only the elements count that they hold; it says nothing of ordinary ones. Sparse
        results are refused: call ``to_dense(masked_grad=masked)`` on them.
    fast_mode
        Compare along one random direction only.

    Raises
    ------
    GradcheckError
        When the check fails.
    ValueError
        When there is nothing to check.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_forward_grad:
        if not check_forward_ad:
            raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    given = _as_tuple(inputs)
    if not masked and tells_zeros_apart(func, given):
        if raise_exception:
            raise GradcheckError(
                "The function tells zeros that a sparse input holds from those that it does not hold: its gradient is "
                "that of masked=True."
            )
        return False
    func, inputs = by_values(func, given, bool(masked))
    check = _Check(func, inputs, eps, atol, rtol)
    try:
        if check_backward_ad:
            check.gradients(fast_mode, nondet_tol, check_grad_dtypes)
        if check_forward_ad:
            check.tangents(fast_mode, check_undefined_grad)
            if check_batched_forward_grad:
                check.batched_tangents()
        if check_backward_ad and check_batched_grad:
            check.batched_gradients()
        if check_backward_ad and check_undefined_grad:
            check.undefined_gradients()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check second derivatives: `gradcheck` of the function that computes the gradients.

    Parameters
    ----------
    grad_outputs
        Gradients of the outputs to start from; random ones by default.
    gen_non_contig_grad_outputs
        Make the random ones non-contiguous.
    check_fwd_over_rev, check_rev_over_rev
        Whether gradients are differentiated by forward mode, and by backward.

    Other parameters and errors are those of `gradcheck`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    inputs = _as_tuple(inputs)
    outputs = _as_tuple(func(*inputs))
    checked = [i for i, y in enumerate(outputs) if isinstance(y, Tensor) and y.requires_grad]
    if grad_outputs is None:
        gradients = [_random_gradient(outputs[i], gen_non_contig_grad_outputs) for i in checked]
    else:
        gradients = [g for g in _as_tuple(grad_outputs) if g is not None]
    differentiable = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def gradient_function(*args: Any) -> tuple[Tensor, ...]:
        values, given = args[: len(inputs)], args[len(inputs) :]
        wanted = [values[i] if values[i].requires_grad else values[i].requires_grad_() for i in differentiable]
        results = _as_tuple(func(*values))
        found = grad([results[i] for i in checked], wanted, given, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    if not differentiable:
        raise ValueError(_NOTHING_TO_CHECK)
    return gradcheck(
        gradient_function, (*inputs, *gradients), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


_NOTHING_TO_CHECK = (
    "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
)


class _Check:
    """One check of one function at one point."""

    def __init__(self, func: Callable[..., Any], inputs: Any, eps: float, atol: float, rtol: float) -> None:
        self.func = func
        self.inputs = _as_tuple(inputs)
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self.generator = Generator()
        self.checked = [x for x in self.inputs if isinstance(x, Tensor) and x.requires_grad]
        if not self.checked:
            raise ValueError(_NOTHING_TO_CHECK)
        _check_inputs(self.inputs)

    def outputs(self) -> list[Tensor]:
        """The results with a gradient, computed afresh."""
        return self.outputs_of(*self.inputs)

    def outputs_of(self, *inputs: Any) -> list[Tensor]:
        """The results with a gradient, for other inputs."""
        results = _as_tuple(self.func(*inputs))
        if any(isinstance(y, Tensor) and y.layout is not strided and y.requires_grad for y in results):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output "
                "of fn for gradcheck."
            )
        return [y for y in results if isinstance(y, Tensor) and (y.dtype.is_floating_point or y.dtype.is_complex)]

    def tangents(self, fast: bool, check_undefined: bool) -> None:
        """Tangents of forward mode must be differences, and missing ones count as zeros."""
        check = ForwardCheck(self.outputs_of, self.inputs, self.checked, self.eps)
        for input_nr, x in enumerate(self.checked):
            directions = [self._unit(x, real=True).to(x.dtype)] if fast else elements(x)
            for part in (1, 1j) if x.dtype.is_complex else (1,):
                pairs = check.jacobians(x, [part * direction for direction in directions])
                for output_nr, (analytical, numerical) in enumerate(pairs):
                    if not _close(analytical, numerical.to(analytical.dtype), self.atol, self.rtol):
                        raise _forward_mismatch(
                            output_nr, input_nr, analytical, numerical, part if x.is_complex() else 0
                        )
        for zeros, missing in check.undefined() if check_undefined else ():
            if not all(_close(a, b, self.atol, self.rtol) for a, b in zip(zeros, missing, strict=True)):
                raise GradcheckError("Expected tangents to be the same where undefined ones are given as zeros.")

    def gradients(self, fast: bool, nondet_tol: float, check_dtypes: bool) -> None:
        count = len(self.outputs())
        for output_nr in range(count):
            output = self.outputs()[output_nr]
            if not output.requires_grad:
                self._constant(output_nr)
                continue
            self._reentrant(output_nr, nondet_tol, check_dtypes)
            for imaginary in (True, False) if output.dtype.is_complex else (False,):
                (self._along_direction if fast else self._by_elements)(output_nr, imaginary)

    # Element by element

    def _by_elements(self, output_nr: int, imaginary: bool) -> None:
        analytical = self._analytical(output_nr, imaginary)
        for input_nr, x in enumerate(self.checked):
            numerical = self._numerical(x, output_nr, imaginary)
            self._compare(analytical[input_nr], numerical, output_nr, input_nr, imaginary)

    def _analytical(self, output_nr: int, imaginary: bool) -> list[Tensor]:
        """Per input the matrix of gradients: a row per element of the input, a column per element of the output."""
        output = self.outputs()[output_nr]
        columns: list[list[Tensor]] = [[] for _ in self.checked]
        for index in _indices(output):
            seed = ops.zeros_like(output)
            seed[index] = 1j if imaginary else 1
            for column, g in zip(columns, self._backward(output, seed, retain_graph=True), strict=True):
                column.append(g.reshape(-1))
        return [ops.stack(c, 1) if c else x.new_zeros([x.numel(), 0]) for c, x in zip(columns, self.checked)]

    def _backward(self, output: Tensor, seed: Tensor, retain_graph: bool = False) -> list[Tensor]:
        found = grad([output], self.checked, [seed], retain_graph=retain_graph, allow_unused=True)
        return [ops.zeros_like(x) if g is None else g.detach() for g, x in zip(found, self.checked, strict=True)]

    def _numerical(self, x: Tensor, output_nr: int, imaginary: bool) -> Tensor:
        rows = []
        for index in _indices(x):
            row = self._difference(x, index, self.eps, output_nr, imaginary)
            if x.dtype.is_complex:
                row = ops.complex(row, self._difference(x, index, self.eps * 1j, output_nr, imaginary))
            rows.append(row)
        return ops.stack(rows) if rows else x.new_zeros([0, self.outputs()[output_nr].numel()])

    def _difference(self, x: Tensor, index: tuple[int, ...], step: complex, output_nr: int, imaginary: bool) -> Tensor:
        """Change of the output, per unit, along one element of an input."""
        data = x.data
        original = data[index].item()
        try:
            data[index] = original + step
            after = self._snapshot(output_nr)
            data[index] = original - step
            before = self._snapshot(output_nr)
        finally:
            data[index] = original
        return self._central(before, after, imaginary, f"on index {index} by {step}")

    def _snapshot(self, output_nr: int) -> Tensor:
        return self.outputs()[output_nr].detach().clone()

    def _central(self, before: Tensor, after: Tensor, imaginary: bool, where: str) -> Tensor:
        """The central difference, per unit, of the outputs at two perturbed inputs."""
        _check_alike(before, after, where)
        change = (after - before).reshape(-1)
        if change.dtype.is_complex:
            change = change.imag if imaginary else change.real
        return change / (2 * self.eps)

    # Along one direction

    def _along_direction(self, output_nr: int, imaginary: bool) -> None:
        """Compare u^T J v for a random direction v of each input and a random weighting u of the output's elements.

        An absolute error of `atol` in every element of J adds up to ``atol sum(u) sum(v)``.
        """
        output = self.outputs()[output_nr]
        weights = self._unit(output, real=True)
        seed = weights * 1j if imaginary else (weights + 0j if output.dtype.is_complex else weights)
        for input_nr, (x, g) in enumerate(zip(self.checked, self._backward(output, seed.to(output.dtype)))):
            direction = self._unit(x, real=False)
            analytical = (
                g.real * direction.real + g.imag * direction.imag if x.dtype.is_complex else g * direction
            ).sum()
            numerical = (self._directional(x, direction, output_nr, imaginary) * weights.reshape(-1)).sum()
            atol = self.atol * float(weights.abs().sum().item()) * float(direction.abs().sum().item())
            self._compare(analytical, numerical, output_nr, input_nr, imaginary, atol)

    def _directional(self, x: Tensor, direction: Tensor, output_nr: int, imaginary: bool) -> Tensor:
        data = x.data
        original = data.clone()
        try:
            data.copy_(original + self.eps * direction)
            after = self._snapshot(output_nr)
            data.copy_(original - self.eps * direction)
            before = self._snapshot(output_nr)
        finally:
            data.copy_(original)
        return self._central(before, after, imaginary, f"by {self.eps}")

    def _unit(self, like: Tensor, *, real: bool) -> Tensor:
        """A random vector of length 1 in a tensor's shape, every part of which is positive: no error can hide."""
        dtype = like.dtype.to_real()
        numbers = self._positive(like.shape, dtype)
        if like.dtype.is_complex and not real:
            numbers = ops.complex(numbers, self._positive(like.shape, dtype))
        length = (numbers.abs() ** 2).sum().sqrt()
        return (numbers / length).to(like.device) if numbers.numel() else numbers.to(like.device)

    def _positive(self, shape: Sequence[int], dtype: Any) -> Tensor:
        return ops.rand(shape, generator=self.generator, dtype=dtype) + 0.5

    # Comparing

    def _compare(
        self,
        analytical: Tensor,
        numerical: Tensor,
        output_nr: int,
        input_nr: int,
        imaginary: bool,
        atol: float | None = None,
    ) -> None:
        if _close(analytical, numerical.to(analytical.dtype), self.atol if atol is None else atol, self.rtol):
            return
        part = ""
        if self.outputs()[output_nr].dtype.is_complex:
            part = f"While considering the {'imaginary' if imaginary else 'real'} part of complex outputs only, "
        raise GradcheckError(
            f"{part}Jacobian mismatch for output {output_nr} with respect to input {input_nr},\n"
            f"numerical:{numerical}\nanalytical:{analytical}\n"
        )

    def _constant(self, output_nr: int) -> None:
        """An output that does not require grad must not change with the inputs."""
        for x in self.checked:
            if bool((self._numerical(x, output_nr, False) != 0).any().item()):
                raise GradcheckError("Numerical gradient for function expected to be zero")

    def _reentrant(self, output_nr: int, nondet_tol: float, check_dtypes: bool) -> None:
        output = self.outputs()[output_nr]
        seed = _random_gradient(output, False, self.generator)
        first = self._backward(output, seed, retain_graph=True)
        second = self._backward(output, seed, retain_graph=True)
        for x, a, b in zip(self.checked, first, second, strict=True):
            if check_dtypes and a.dtype is not x.dtype:
                raise GradcheckError(f"Backward's gradient has dtype {a.dtype}, and the input {x.dtype}.")
            if not _close(a, b, nondet_tol, 0.0):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    "gives different values, although analytical gradient matches numerical gradient.The tolerance "
                    f"for nondeterminism was {nondet_tol}."
                )

    def undefined_gradients(self) -> None:
        """Gradients that do not arrive must count as zeros."""
        outputs = [y for y in self.outputs() if y.requires_grad]
        if not outputs:
            return
        for undefined in _subsets(len(outputs)):
            cut = _Withholding.of(outputs, undefined)
            seeds = [ops.zeros_like(y) for y in outputs]
            try:
                found = grad(cut, self.checked, seeds, retain_graph=True, allow_unused=True)
            except RuntimeError as error:
                raise _undefined_error("Expected backward function to handle undefined output grads.") from error
            if any(g is not None and bool((g != 0).any().item()) for g in found):
                raise _undefined_error(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
                )

    def batched_tangents(self) -> None:
        """A batch of directions must give the batch of tangents."""
        check = ForwardCheck(self.outputs_of, self.inputs, self.checked, self.eps)
        for x in self.checked:
            directions = ops.stack([_random_gradient(x, False, self.generator) for _ in range(2)])
            try:
                for batch, *single in check.batches(x, directions):
                    if not _close(batch, ops.stack(single), self.atol, self.rtol):
                        raise GradcheckError("For input, batched tangents differ from the tangents one by one.")
            except RuntimeError as error:
                if isinstance(error, GradcheckError):
                    raise
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\n\ngradcheck failed while testing batched "
                    "gradient computation with forward-mode AD."
                ) from error

    def batched_gradients(self) -> None:
        """A batch of gradients must give the batch of results."""
        for y in (y for y in self.outputs() if y.requires_grad):
            seeds = ops.stack([_random_gradient(y, False, self.generator) for _ in range(2)])
            each = [self._backward(y, seed, retain_graph=True) for seed in seeds]
            together = grad([y], self.checked, [seeds], retain_graph=True, allow_unused=True, is_grads_batched=True)
            for batch, *single in zip(together, *each, strict=True):
                if batch is not None and not _close(batch, ops.stack(single), self.atol, self.rtol):
                    raise GradcheckError("For output, batched gradients differ from the gradients one by one.")


class _Withholding(Node):
    """Passes gradients on, except for some outputs, for which it passes none."""

    __slots__ = ("undefined",)
    undefined: tuple[int, ...]

    @classmethod
    def of(cls, outputs: Sequence[Tensor], undefined: tuple[int, ...]) -> list[Tensor]:
        """The tensors again, behind such a node."""
        node = cls()
        node.undefined = undefined
        node.attach([edge_of(y) for y in outputs], [output_spec(y) for y in outputs])
        results = [y.detach() for y in outputs]
        for nr, result in enumerate(results):
            make_output(result, node, nr, False)
        return results

    def apply(self, grads: Sequence[Any], needed: Sequence[bool] | None) -> Sequence[Any]:
        return [None if nr in self.undefined else g for nr, g in enumerate(grads)]


class UndefinedGrad:
    """``UndefinedGrad()(*tensors)``: the tensors, with a history that no gradient passes, without an error."""

    def __call__(self, *tensors: Tensor) -> Any:
        """The tensors; one as itself, several as a tuple."""
        results = _Withholding.of(tensors, tuple(range(len(tensors))))
        return results[0] if len(results) == 1 else tuple(results)


# Helpers


def _check_alike(before: Tensor, after: Tensor, where: str) -> None:
    """Refuse outputs that differ in more than their values.

    Raises
    ------
    AssertionError
        In PyTorch's words.
    """
    for what, a, b in (("shape", before.shape, after.shape), ("dtype", before.dtype, after.dtype)):
        if a != b:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}, but got: "
                f"{what}s {a} and {b}."
            )


def _forward_mismatch(
    output_nr: int, input_nr: int, analytical: Tensor, numerical: Tensor, part: complex
) -> GradcheckError:
    """The error of a tangent that is no difference; `part` is the direction of a complex input, 0 of a real one."""
    which = (
        f"While considering the {'real' if part == 1 else 'imaginary'} part of complex inputs only, " if part else ""
    )
    return GradcheckError(
        f"{which}Jacobian computed with forward mode mismatch for output {output_nr} with respect to input "
        f"{input_nr},\nnumerical:{numerical}\nanalytical:{analytical}\n"
    )


def _undefined_error(message: str) -> GradcheckError:
    """The error for a backward that takes undefined gradients wrongly, after the warning that this was checked."""
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may "
        "break existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        stacklevel=2,
    )
    return GradcheckError(
        f'{message} Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
    )


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return value
    return tuple(value) if isinstance(value, list) else (value,)


def _check_inputs(inputs: Sequence[Any]) -> None:
    for index, x in enumerate(inputs):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if x.dtype not in (float64, complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This "
                "check will likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if x.numel() and any(stride == 0 and size > 1 for size, stride in zip(x.shape, x.stride())):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )


def _indices(tensor: Tensor) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, tensor.shape))


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    """All outputs at once, and each alone."""
    yield tuple(range(count))
    if count > 1:
        yield from ((i,) for i in range(count))


def _close(a: Tensor, b: Tensor, atol: float, rtol: float) -> bool:
    with no_grad():
        difference = (a - b).abs()
        return bool((difference <= atol + rtol * b.abs()).all().item())


def _random_gradient(output: Tensor, non_contiguous: bool, generator: Generator | None = None) -> Tensor:
    shape = (*output.shape, 2) if non_contiguous else output.shape
    gradient = ops.randn(shape, generator=generator, dtype=output.dtype).to(output.device)
    gradient = gradient.select(-1, 0) if non_contiguous else gradient
    return gradient.detach().requires_grad_()


# Jacobians, as programs of long ago ask for them


def get_numerical_jacobian(
    fn: Callable[[Any], Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """The Jacobian of a function's first output by central differences, for each input that requires grad.

    Parameters
    ----------
    fn
        Takes all of `inputs` as one argument.
    target
        The inputs to differentiate by, if not all of them.

    Raises
    ------
    ValueError
        For any `grad_out` but 1.
    """
    _warn_of_private("get_numerical_jacobian", grad_out)
    check = _Check(lambda *args: fn(inputs if isinstance(inputs, Tensor) else args), inputs, eps, 0.0, 0.0)
    wanted = check.checked if target is None else [x for x in _as_tuple(target) if x.requires_grad]
    return tuple(check._numerical(x, 0, False) for x in wanted)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobian of an output by backward, for each input that requires grad.

    Returns
    -------
    tuple
        The Jacobians, whether a second backward gave the same within `nondet_tol`, whether all gradients had the
        input's shape, and whether they had its dtype.

    Raises
    ------
    ValueError
        For any `grad_out` but 1.
    """
    _warn_of_private("get_analytical_jacobian", grad_out)
    check = _Check(lambda *args: output, inputs, 0.0, 0.0, 0.0)
    first, second = check._analytical(0, False), check._analytical(0, False)
    reentrant = all(_close(a, b, nondet_tol, 0.0) for a, b in zip(first, second, strict=True))
    found = grad([output], check.checked, [ops.ones_like(output)], retain_graph=True, allow_unused=True)
    pairs = [(g, x) for g, x in zip(found, check.checked, strict=True) if g is not None]
    return (
        tuple(first),
        reentrant,
        all(g.shape == x.shape for g, x in pairs),
        all(g.dtype is x.dtype for g, x in pairs),
    )


def _warn_of_private(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be "
        "a stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")
