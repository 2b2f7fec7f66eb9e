"""The exam of derivatives: every sample of every differentiable operator, by formula and by finite differences.

A distribution that brings a backend, or derivatives, takes it as it takes `mt_core.testing.BackendExam`::

    class TestDerivatives(DerivativeExam):
        device_type = "toy"
        gaps = read_gaps(Path(__file__).with_name("gaps.toml"))

Samples are taken in double precision. Those that differ in nothing but a dtype that this makes equal count once.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from mt_core.api import _functions as ops
from mt_core.autograd_state import enable_grad
from mt_core.devices import device
from mt_core.dispatch.registry import Overload, find_overload
from mt_core.dtypes import dtype as Dtype
from mt_core.dtypes import float64
from mt_core.random import Generator
from mt_core.tensor import Tensor
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on, tensors_in
from mt_core.testing.gaps import Gaps, run_unless_known
from mt_core.testing.oracle import StoredReference
from mt_core.testing.sample import (
    Sample,
    constant_results_of,
    constants_of,
    domain_of,
    examined_operators,
    has_values,
    public_results,
    start_streams,
)

from . import tangents
from .api import grad
from .gradcheck import gradcheck, gradgradcheck

__all__ = ["DerivativeExam", "Differentiation", "check_recording", "differentiations", "is_chosen", "product_forward"]

#: Inputs of more elements than this are checked along one direction, which no error in one element escapes.
MANY_ELEMENTS = 24


class Differentiation:
    """One sample as a function of those of its tensors that can have gradients.

    Attributes
    ----------
    name : str
        The operator and the words of the sample.
    inputs : tuple of Tensor
        Floating point and complex arguments, which require grad.
    """

    def __init__(self, overload: Overload, sample: Sample, device_type: str) -> None:
        self.name = f"{overload.name}{sample}"
        self._overload = overload
        self._device_type = device_type
        arguments = Arguments(overload, sample)
        self._written = arguments.may_change
        self.inputs: tuple[Tensor, ...] = ()
        constant = constants_of(overload.name)
        named = zip(overload.schema.arguments, arguments.bound, strict=True)
        self._bound = [v if a.name in constant else self._with_gradients(v) for a, v in named]

    def _with_gradients(self, value: Any) -> Any:
        """The argument with leaves that require grad in place of its tensors, and `Place` where those stand."""
        if isinstance(value, Tensor) and (value.dtype.is_floating_point or value.dtype.is_complex):
            self.inputs += (value.detach().requires_grad_(),)
            return _Place(len(self.inputs) - 1)
        if isinstance(value, Dtype) and value.is_floating_point:
            return float64
        return [self._with_gradients(v) for v in value] if isinstance(value, list) else value

    def __call__(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """The results that can have gradients."""
        result = self._call(*inputs)
        constant = constant_results_of(self._overload.name)
        results = [t for i, t in enumerate(tensors_in(result)) if i not in constant]
        return tuple(t for t in results if t.dtype.is_floating_point or t.dtype.is_complex)

    def recorded(self) -> list[bool]:
        """Which of all tensors that the call returns require grad."""
        return [t.requires_grad for t in tensors_in(self._call(*self.inputs))]

    def _call(self, *inputs: Tensor) -> Any:
        """What the operator returns; what it writes is written to a copy."""
        bound = [_filled(value, inputs) for value in self._bound]
        for i in self._written:
            bound[i] = bound[i].clone() if isinstance(bound[i], Tensor) else bound[i]  # may be None
        form = domain_of(self._overload.name)
        bound = bound if form is None else form(*bound)
        start_streams()
        with device(self._device_type):
            return self._overload.call(*bound)

    def is_differentiable(self) -> bool:
        """Whether a result depends on the inputs in a way that the operator's rules follow, at a regular point.

        Raises
        ------
        AssertionError
            When an argument has no derivative and is not declared by `mt_core.testing.sample.constants`: the others'
            derivatives would never be looked at.
        """
        if not self.inputs:
            return False
        try:
            results = self(*self.inputs)
        except REFUSALS as error:
            assert "is not differentiable with respect to argument" not in str(error), f"{self.name}: {error}"
            return False
        return any(t.requires_grad for t in results) and all(map(_is_finite, (*self.inputs, *results)))

    def check(self, order: int) -> None:
        """Compare first or second derivatives with differences.

        Raises
        ------
        GradcheckError
            Where they differ.
        """
        check = gradcheck if order == 1 else gradgradcheck
        fast = sum(x.numel() for x in self.inputs) > MANY_ELEMENTS or order == 2
        # Devices add up what goes to one place in any order.
        apart = 0.0 if self._device_type == "cpu" else 1e-9
        try:
            check(self, self.inputs, fast_mode=fast, nondet_tol=apart)
        except RuntimeError as error:
            raise AssertionError(f"{self.name}: {error}") from error

    def check_tangents(self, order: int) -> None:
        """Compare the product u J t that forward mode computes with that of backward, for random u and t.

        In second order J is that of the gradients: forward over reverse, and reverse over reverse.

        Raises
        ------
        AssertionError
            Where they differ.
        """
        function = self if order == 1 else self._gradients()
        directions = [_random_like(x) for x in self.inputs]
        results = function(*self.inputs)
        weights = [_random_like(y) for y in results]
        backward, size = product_backward(results, weights, self.inputs, directions)
        forward = product_forward(function, self.inputs, directions, weights)
        assert abs(forward - backward) <= 1e-7 * (1 + size), f"{self.name}: {forward} forward, {backward} backward"

    def _gradients(self) -> Callable[..., tuple[Tensor, ...]]:
        """The function of the inputs that gives their gradients, for random gradients of the results."""
        weights = [_random_like(y) for y in self(*self.inputs)]

        def gradients(*inputs: Tensor) -> tuple[Tensor, ...]:
            results = [(y, w) for y, w in zip(self(*inputs), weights, strict=True) if y.requires_grad]
            outputs, seeds = zip(*results, strict=True)
            found = grad(outputs, inputs, seeds, create_graph=True, allow_unused=True)
            return tuple(g for g in found if g is not None)  # type: ignore[union-attr]

        return gradients


def product_backward(
    results: Sequence[Tensor], weights: Sequence[Tensor], inputs: Sequence[Tensor], directions: Sequence[Tensor]
) -> tuple[float, float]:
    """``u J t`` by backward, and the sum of the sizes of what it adds up."""
    pairs = [(y, w) for y, w in zip(results, weights, strict=True) if y.requires_grad]
    if not pairs:
        return 0.0, 0.0
    outputs, seeds = zip(*pairs, strict=True)
    found = grad(outputs, inputs, seeds, allow_unused=True)
    products = [_dot(g, t) for g, t in zip(found, directions, strict=True) if g is not None]  # type: ignore[arg-type]
    sizes = [float((g * t.conj()).abs().sum().item()) for g, t in zip(found, directions, strict=True) if g is not None]  # type: ignore[operator]
    return sum(products), sum(sizes)


def product_forward(
    function: Callable[..., Sequence[Tensor]], inputs: Sequence[Tensor], directions: Sequence[Tensor],
    weights: Sequence[Tensor],
) -> float:  # fmt: skip
    """``u J t`` by forward mode.

    Raises
    ------
    AssertionError
        Where a tangent has not the shape and dtype of its result.
    """
    level = tangents.enter_level()
    try:
        results = function(*[tangents.make_dual(x, t, level) for x, t in zip(inputs, directions, strict=True)])
        found = [tangents.unpack(y, level) for y in results]
    finally:
        tangents.exit_level(level)
    for primal, tangent in found:
        alike = tangent is None or (tangent.shape, tangent.dtype) == (primal.shape, primal.dtype)
        assert alike, f"a tangent {tangent} of {primal}"
    return sum(_dot(t, w) for (_, t), w in zip(found, weights, strict=True) if t is not None)


def _dot(a: Tensor, b: Tensor) -> float:
    """The real scalar product."""
    product = a.detach() * b.conj()
    return float((product.real if product.is_complex() else product).sum().item())


def _random_like(tensor: Tensor) -> Tensor:
    """Random numbers in a tensor's form, the same for every tensor of the form."""
    generator = Generator()
    generator.manual_seed(tensor.numel() + 1)
    numbers = ops.randn(tensor.shape, dtype=tensor.dtype, generator=generator)
    return numbers.to(tensor.device)


def _is_finite(tensor: Tensor) -> bool:
    return bool(tensor.detach().isfinite().all())


class _Place:
    """Where the `index`-th input stands among the arguments."""

    def __init__(self, index: int) -> None:
        self.index = index


def _filled(value: Any, inputs: Sequence[Tensor]) -> Any:
    if isinstance(value, _Place):
        return inputs[value.index]
    return [_filled(v, inputs) for v in value] if isinstance(value, list) else value


def is_chosen(name: str, share: float) -> bool:
    """Whether a sample belongs to a fixed share of all: by its name, the same everywhere and always."""
    return zlib.crc32(name.encode()) % 1000 < 1000 * share


def differentiations(overload: Overload, device_type: str) -> Iterator[Differentiation]:
    """The differentiable samples of an operator, in double precision, equal ones once."""
    if not has_values(overload.name):
        return
    seen = set()
    for sample in samples_on(overload, device_type, precise=True):
        made = Differentiation(overload, sample, device_type)
        layouts = tuple((tuple(x.shape), x.stride()) for x in made.inputs)
        if (made.name, layouts) not in seen and made.is_differentiable():
            seen.add((made.name, layouts))
            yield made


def check_recording(operator: str, reference: StoredReference, gaps: Gaps) -> None:
    """See that of the results of all samples those require grad that do in PyTorch, when all inputs do.

    Raises
    ------
    AssertionError
        Where another does, or where a gap of the check ``recording`` has none.
    """
    overload = find_overload(operator)

    def compare() -> None:
        flags_of_all = reference.recorded(overload)
        for sample, flags in zip(samples_on(overload, "cpu", precise=True), flags_of_all, strict=False):
            if flags is not None:
                found = public_results(operator, Differentiation(overload, sample, "cpu").recorded())
                assert found == flags, f"{operator}{sample}: {found} require grad, where PyTorch has {flags}"

    with enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_unless_known(gaps, "recording", operator, compare)


class DerivativeExam:
    """Subclass it in a test file and pytest checks a share of all samples, or with ``share = 1`` all of them.

    Attributes
    ----------
    device_type
        Where the samples live.
    share : float
        Which part of the samples is checked; a sample's name decides.
    gaps
        Check (``first_derivative``, ``second_derivative``) -> operator, or one of its samples -> reason.
    """

    device_type: ClassVar[str] = "cpu"
    share: ClassVar[float] = 0.1
    gaps: ClassVar[Gaps] = {}

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """One test per operator that has a chosen sample."""
        if "operator" in metafunc.fixturenames:
            metafunc.parametrize("operator", self.operators())

    def operators(self) -> list[str]:
        """The operators of which a sample is chosen; whether it is differentiable is seen when it runs."""
        functional = [o for o in examined_operators() if o.declaration.form == "functional"]
        return [o.name for o in functional if any(self._is_chosen(o, s) for s in samples_on(o, "cpu", precise=True))]

    def _is_chosen(self, overload: Overload, sample: Sample) -> bool:
        return is_chosen(f"{overload.name}{sample}", self.share)

    def test_first_derivative(self, operator: str) -> None:
        """Gradients by formula are those of finite differences."""
        self._check("first_derivative", operator, lambda d: d.check(1))

    def test_second_derivative(self, operator: str) -> None:
        """So are gradients of gradients."""
        self._check("second_derivative", operator, lambda d: d.check(2))

    def test_tangent(self, operator: str) -> None:
        """What forward mode computes along a direction agrees with backward."""
        self._check("tangent", operator, lambda d: d.check_tangents(1))

    def test_tangent_of_gradient(self, operator: str) -> None:
        """So does forward mode over backward."""
        self._check("tangent_of_gradient", operator, lambda d: d.check_tangents(2))

    def _check(self, check: str, operator: str, run: Callable[[Differentiation], None]) -> None:
        def all_of_them() -> None:
            for differentiation in self.chosen(operator):
                run_unless_known(self.gaps, check, differentiation.name, partial(run, differentiation))

        # In a share of an operator's samples, a gap need not show.
        gaps = self.gaps if self.share == 1 else {}
        with enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.share == 1 or operator not in self.gaps.get(check, {}):
                run_unless_known(gaps, check, operator, all_of_them)

    def chosen(self, operator: str) -> Iterator[Differentiation]:
        """The differentiable samples of an operator that belong to the share."""
        found = differentiations(find_overload(operator), self.device_type)
        return (d for d in found if is_chosen(d.name, self.share))
