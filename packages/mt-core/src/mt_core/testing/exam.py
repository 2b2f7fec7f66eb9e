"""The exam: what every backend must do, checked on the samples of every declared operator.

The oracle says what every sample's result is: another device (the CPU), or results that PyTorch gave. The operator's
own facts say the rest: the meta device which shape, dtype and strides a result has, the functional form what the
in-place and ``out=`` forms write, and a row-major input what a strided one must give.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ..autograd_state import no_grad
from ..devices import device
from ..dispatch.registry import Overload, find_overload
from ..dtypes import can_cast
from ..keys import OTHER_INDEX
from ..plugins.runtime_access import count_devices
from ..tensor import Tensor
from .arguments import HOLDS_NONE, REFUSALS, Arguments, call_with, samples_on, state_of, tensors_in, written_positions
from .gaps import Gaps, run_unless_known
from .oracle import DeviceReference, Outcome, Reference, assert_agrees, assert_same_strides, host_elements, run_sample
from .sample import (
    Sample,
    TensorMaker,
    examined_operators,
    has_values,
    is_random,
    reads_memory,
    sample_functions,
    start_streams,
    support_of,
)

__all__ = ["BackendExam"]

#: What the meta device says of operators whose results' shapes depend on elements.
NO_DATA = (NotImplementedError, RuntimeError)


class BackendExam:
    """Subclass it in a test file, name the device type, and pytest runs every check on every operator.

    Attributes
    ----------
    device_type
        The device type that is examined.
    calculates : bool
        Whether results have elements; the null backend's have not.
    partial : bool
        Whether the backend may lack kernels: an operator that one of its samples finds no kernel for is passed over.
    reference
        The oracle: where expected results come from.
    gaps
        Check -> operator -> reason; a check that passes although it is listed fails the exam.
    """

    device_type: ClassVar[str] = "cpu"
    calculates: ClassVar[bool] = True
    partial: ClassVar[bool] = False
    reference: ClassVar[Reference] = DeviceReference("cpu")
    gaps: ClassVar[Gaps] = {}

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """One test per check and operator that it applies to."""
        if "operator" in metafunc.fixturenames:
            metafunc.parametrize("operator", self.operators(metafunc.function.__name__))

    def operators(self, check: str) -> list[str]:
        """The operators that a check is made of; a subclass may take some of them."""
        applies = APPLIES[check]
        return [o.name for o in examined_operators() if applies(o)] if self._has(check) else []

    def _has(self, check: str) -> bool:
        """The CPU is one device without an index: nothing can be on another."""
        return check != "test_stays_on_its_device" or self.device_type != "cpu"

    def test_agrees_with_meta(self, operator: str) -> None:
        """Results have the shape, dtype and strides that the meta device gives; inputs stay as they were."""
        self._check("agrees_with_meta", operator, self._agree_with_meta)

    def test_agrees_with_reference(self, operator: str) -> None:
        """Results are the oracle's: elements, shapes, dtypes, what is written, and what is refused; and the strides.

        Strides have gaps of their own, ``strides_of_reference``.
        """
        outcomes = lru_cache(lambda overload: list(self._outcomes(overload)))
        self._check("agrees_with_reference", operator, lambda o: self._agree_with_reference(o, outcomes(o)))
        self._check("strides_of_reference", operator, lambda o: _have_strides_of_reference(outcomes(o)))

    def test_strided_inputs(self, operator: str) -> None:
        """Inputs with gaps in memory give the same elements as row-major ones."""
        self._check("strided_inputs", operator, self._agree_when_strided)

    def test_inplace_form(self, operator: str) -> None:
        """The in-place form writes what the functional one returns, returns its first argument, counts a version."""
        self._check("inplace_form", operator, self._inplace_agrees)

    def test_out_form(self, operator: str) -> None:
        """The out= form writes what the functional form returns, into an empty tensor and into a strided one."""
        self._check("out_form", operator, self._out_agrees)

    def test_stays_on_its_device(self, operator: str) -> None:
        """Results are where the arguments are, to the index: on the last of several devices."""
        self._check("stays_on_its_device", operator, self._stays_on_its_device)

    def test_views_alias(self, operator: str) -> None:
        """A view has the memory and the version of what it is a view of."""
        self._check("views_alias", operator, self._views_alias)

    def test_refusal_harms_nothing(self, operator: str) -> None:
        """An operator that refuses where it should write leaves elements and versions of all arguments alone."""
        self._check("refusal_harms_nothing", operator, self._refusal_harms_nothing)

    def _check(self, check: str, name: str, run: Callable[[Overload], None]) -> None:
        overload = find_overload(name)

        with no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not self.partial or not self.lacks(overload):
                run_unless_known(self.gaps, check, name, lambda: run(overload))

    def lacks(self, overload: Overload) -> bool:
        """Whether a sample of an operator, or of what it is a form of, finds no kernel."""
        functional = find_overload(overload.declaration.functional or overload.name)
        for sample in self._samples(functional):
            try:
                for made in tensors_in(self._run(functional, Arguments(functional, sample).bound)):
                    self._elements(made)  # a lazy conjugate finds none when it is read
            except REFUSALS as refusal:
                if "could not find kernel" in str(refusal):
                    return True
        return False

    # The checks

    def _agree_with_meta(self, overload: Overload) -> None:
        succeeded = 0
        for strided in (False, True):
            ours = self._samples(overload, strided=strided)
            metas = self._samples(overload, "meta", strided=strided)
            for sample, on_meta in zip(ours, metas, strict=True):
                arguments = Arguments(overload, sample)
                before = arguments.snapshot(self.calculates)
                try:
                    result = self._run(overload, arguments.bound)
                except REFUSALS as refusal:
                    self._meta_refuses(overload, on_meta, sample, refusal)
                    continue
                succeeded += 1
                arguments.check_unharmed(before)
                self._compare_layout(overload, result, on_meta, sample)
        assert succeeded or not self.calculates, f"no sample of {overload.name} was accepted"

    def _meta_refuses(self, overload: Overload, on_meta: Sample, sample: Sample, refusal: Exception) -> None:
        """A dtype may have no kernel here; all other refusals come from rules, and are the meta device's too."""
        if isinstance(refusal, NotImplementedError):
            return
        try:
            self._run(overload, Arguments(overload, on_meta).bound, on="meta")
        except REFUSALS:
            return
        raise AssertionError(f"{overload.name}{sample} is refused here ({refusal!r}) and accepted on meta") from refusal

    def _compare_layout(self, overload: Overload, result: Any, on_meta: Sample, sample: Sample) -> None:
        try:
            expected = self._run(overload, Arguments(overload, on_meta).bound, on="meta")
        except NO_DATA as refusal:
            assert _depends_on_elements(refusal), f"{overload.name}{sample} is refused on meta: {refusal!r}"
            return
        got, wanted = _layouts(result), _layouts(expected)
        assert got == wanted, f"{overload.name}{sample}: the kernel gives {got}, the shape rule {wanted}"

    def _outcomes(self, overload: Overload) -> Iterator[tuple[Outcome, Outcome, str]]:
        """Each sample's outcome, the oracle's, and the words for it; without elements for inputs with gaps in memory.

        Whether such inputs give the same elements is another check's.
        """
        for strided in (False, True):
            elements = self.calculates and not strided
            expected = self.reference.expected(overload, strided=strided, elements=elements)
            for sample, wanted in zip(self._samples(overload, strided=strided), expected, strict=True):
                got = run_sample(overload, sample, self.device_type, elements=elements)
                yield got, wanted, f"{overload.name}{sample}{' with gaps in memory' if strided else ''}"

    def _agree_with_reference(self, overload: Overload, outcomes: list[tuple[Outcome, Outcome, str]]) -> None:
        drawn_elsewhere = is_random(overload.name) and not self.reference.same_streams
        for index, (got, wanted, what) in enumerate(outcomes):
            if self._may_be_missing(got, wanted):
                continue
            if drawn_elsewhere:
                self._check_support(overload, got, what)
                got, wanted = got._replace(values=()), wanted._replace(values=())
            try:
                assert_agrees(got, wanted, what)
            except AssertionError:
                assert_agrees(got, self.reference.widened(overload, index, wanted), what)

    def _may_be_missing(self, got: Outcome, wanted: Outcome) -> bool:
        """A backend may lack a kernel for a dtype that its oracle knows; that it has any is another check's."""
        lacks = got.refusal.startswith("NotImplementedError") and (not wanted.refusal or HOLDS_NONE in got.refusal)
        return self.device_type != "cpu" and lacks

    def _check_support(self, overload: Overload, got: Outcome, what: str) -> None:
        """Another device draws other numbers: they only lie where they must."""
        allowed = support_of(overload.name)
        for value in got.values:
            assert allowed(value.elements).all(), f"{what}: {value.elements} are not numbers that it may draw"

    def _agree_when_strided(self, overload: Overload) -> None:
        plain, strided = self._samples(overload), self._samples(overload, strided=True)
        for sample, spread in zip(plain, strided, strict=True):
            try:
                expected = self._run(overload, Arguments(overload, sample).bound)
            except REFUSALS:
                continue
            result = self._run(overload, Arguments(overload, spread).bound)
            self._compare_elements(result, expected, f"{overload.name}{sample}")

    def _inplace_agrees(self, overload: Overload) -> None:
        functional, succeeded = find_overload(overload.declaration.functional or ""), 0
        for sample, again in zip(self._samples(functional), self._samples(functional), strict=True):
            arguments = Arguments(functional, sample)
            target = arguments.bound[written_positions(overload)[0]]
            expected = self._accepted(functional, arguments.bound)
            if overload.declaration.kind != "view" and not _fits(expected, target) or expected is None:
                continue
            bound = Arguments(functional, again).bound
            written = bound[written_positions(overload)[0]]
            version = written._version
            result = self._accepted(overload, bound)
            if result is None:
                continue
            succeeded += 1
            assert result is written, f"{overload.name}{sample} returns another tensor than it writes"
            assert written._version > version, f"{overload.name}{sample} counts no version"
            if overload.declaration.kind == "view":
                assert _layouts(result) == _layouts(expected), (
                    f"{overload.name}{sample}: {_layouts(result)}, not {_layouts(expected)}"
                )
            else:
                assert _layouts(result) == _layouts(target), (
                    f"{overload.name}{sample} changes the layout of what it writes"
                )
            self._compare_elements(result, expected.to(target.dtype), f"{overload.name}{sample}")
        assert succeeded or not self.calculates, f"no sample of {overload.name} was accepted in place"

    def _out_agrees(self, overload: Overload) -> None:
        functional = find_overload(overload.declaration.functional or "")
        for strided in (False, True):
            for sample in self._samples(functional):
                bound = Arguments(functional, sample).bound
                expected = self._accepted(functional, bound)
                if expected is None:
                    continue
                wanted = tensors_in(expected)
                outs = [self._target(w, strided) for w in wanted]
                if strided and is_random(functional.name):
                    continue
                given = dict(zip((a.name for a in functional.schema.arguments), bound, strict=True))
                in_one = any(a.writes and a.is_list for a in overload.schema.arguments)
                written = [outs] if in_one else outs
                names = [a.name for a in overload.schema.arguments][: -len(written)]
                result = self._run(overload, [given.get(name) for name in names] + written)
                # What takes them in one argument returns nothing.
                for out, returned, want in zip(outs, outs if in_one else tensors_in(result), wanted, strict=True):
                    assert returned is out, f"{overload.name}{sample} returns another tensor than out="
                    assert out.shape == want.shape, (
                        f"{overload.name}{sample}: out= has shape {out.shape}, not {want.shape}"
                    )
                    self._compare_elements(out, want, f"{overload.name}{sample}")

    def _stays_on_its_device(self, overload: Overload) -> None:
        last = count_devices(self.device_type) - 1
        place = TensorMaker(self.device_type, index=last)().device  # without an index, if the only one is nameless
        for sample in samples_on(overload, self.device_type, index=last):
            start_streams()
            try:
                with place:
                    result = call_with(overload, Arguments(overload, sample).bound, self.device_type)
            except REFUSALS:
                continue
            for made in tensors_in(result):
                assert made.device == place, f"{overload.name}{sample} is on {made.device}, not on {place}"
                marked = bool(made._keys & OTHER_INDEX)
                assert marked == bool(place.index), f"the index of {overload.name}{sample} would not be checked"

    def _views_alias(self, overload: Overload) -> None:
        for sample in self._samples(overload):
            arguments = Arguments(overload, sample)
            base = arguments.bound[0]
            result = self._accepted(overload, arguments.bound)
            if result is None:
                continue
            views = [made for made in tensors_in(result) if made is not base]
            assert all(v._base is (base if base._base is None else base._base) for v in views), (
                f"{overload.name}{sample} is no view"
            )
            versions = [v._version for v in views]
            base.zero_()
            for v, before in zip(views, versions, strict=True):
                assert v._version > before, f"{overload.name}{sample}: the view does not see that its base was written"
                assert not self.calculates or not self._elements(v).any(), (
                    f"{overload.name}{sample} has memory of its own"
                )

    def _refusal_harms_nothing(self, overload: Overload) -> None:
        """A target that overlaps itself is refused by every operator that writes, but where it is only warned of."""
        if overload.declaration.on_expanded:
            return
        functional = find_overload(overload.declaration.functional or overload.name)
        for sample in self._samples(functional):
            given = Arguments(functional, sample)
            result = self._accepted(functional, given.bound)
            if result is None:
                continue
            written = written_positions(overload)
            bound = self._with_overlap(overload, functional, sample, tensors_in(result))
            if bound is None:
                continue
            before = [state_of(bound[i], self.calculates) for i in written]
            try:
                self._run(overload, bound)
            except RuntimeError:
                after = [state_of(bound[i], self.calculates) for i in written]
                assert after == before, f"{overload.name}{sample} refuses, and has written"
                continue
            raise AssertionError(f"{overload.name}{sample} writes to a tensor that overlaps itself")

    def _with_overlap(
        self, overload: Overload, functional: Overload, sample: Sample, results: list[Tensor]
    ) -> list[Any] | None:
        """Arguments whose written tensors overlap themselves; None where the sample has too few elements for that."""
        bound = list(Arguments(functional, sample).bound)
        if overload.declaration.form == "out":
            bound = bound + [None] * len(results)
        written = written_positions(overload)
        shapes = list(results) if overload.declaration.form == "out" else [bound[written[0]]]
        if any(t is None or t.numel() < 2 for t in shapes) or len(bound) != len(overload.schema.arguments):
            return None
        for i, like in zip(written, shapes, strict=False):
            bound[i] = TensorMaker(self.device_type).of(np.ones(1), like.dtype).expand(like.shape)
        return bound

    # Their parts

    def _samples(
        self, overload: Overload, device_type: str | None = None, *, strided: bool = False
    ) -> Iterator[Sample]:
        return samples_on(overload, device_type or self.device_type, strided=strided)

    def _run(self, overload: Overload, bound: list[Any], on: str | None = None) -> Any:
        """Call on the examined device, or another; random operators start from one seed."""
        start_streams()
        with device(on or self.device_type):
            return call_with(overload, bound, on or self.device_type)

    def _accepted(self, overload: Overload, bound: list[Any]) -> Any:
        """The result, or None where the operator refuses its arguments."""
        try:
            return self._run(overload, bound)
        except REFUSALS:
            return None

    def _target(self, like: Tensor, strided: bool) -> Tensor:
        """What an out= form is to fill: empty, or of the right shape with gaps in memory."""
        if not strided:
            return TensorMaker(self.device_type).of(np.zeros(0), like.dtype)
        return TensorMaker(self.device_type, strided=True).of(np.zeros(like.shape), like.dtype)

    def _elements(self, tensor: Tensor) -> np.ndarray:
        return host_elements(tensor)

    def _compare_elements(self, result: Any, expected: Any, what: str) -> None:
        got, wanted = tensors_in(result), tensors_in(expected)
        assert [(t.shape, t.dtype) for t in got] == [(t.shape, t.dtype) for t in wanted], (
            f"{what}: shapes or dtypes differ"
        )
        if not self.calculates or not has_values(what.partition("(")[0]):
            return
        for ours, theirs in zip(got, wanted, strict=True):
            _assert_close(self._elements(ours), self._elements(theirs), ours.dtype, what)


def _layouts(result: Any) -> Any:
    """Shapes, dtypes and strides; strides of dimensions without a second element say nothing."""
    if isinstance(result, Tensor):
        shape = tuple(result.shape)
        strides = (
            None
            if math.prod(shape) == 0
            else tuple(s if n > 1 else None for n, s in zip(shape, result.stride(), strict=True))
        )
        return shape, result.dtype, strides
    return [_layouts(item) for item in result] if isinstance(result, (list, tuple)) else type(result)


def _depends_on_elements(refusal: Exception) -> bool:
    """Whether the meta device refused because the result's shape depends on elements that it does not have."""
    return "meta" in str(refusal).lower() or isinstance(refusal, NotImplementedError)


def _fits(result: Any, target: Any) -> bool:
    """Whether an in-place form can store this result; forms that refuse have a check of their own."""
    return isinstance(result, Tensor) and result.numel() == target.numel() and can_cast(result.dtype, target.dtype)


def _assert_close(got: np.ndarray, wanted: np.ndarray, d: Any, what: str) -> None:
    if d.is_floating_point or d.is_complex:
        wide = np.complex128 if d.is_complex else np.float64
        tolerance = 1e-9 if d.itemsize == 8 and not d.is_complex else 2e-2 if d.itemsize < 4 else 1e-5
        np.testing.assert_allclose(
            got.astype(wide), wanted.astype(wide), rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=what
        )
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=what)


def _have_strides_of_reference(outcomes: list[tuple[Outcome, Outcome, str]]) -> None:
    for got, wanted, what in outcomes:
        if not got.refusal and not wanted.refusal:
            assert_same_strides(got, wanted, what)


def _is_functional(overload: Overload) -> bool:
    return overload.declaration.form == "functional"


#: Check -> the operators that it applies to.
APPLIES: dict[str, Callable[[Overload], bool]] = {
    "test_agrees_with_meta": _is_functional,
    "test_agrees_with_reference": _is_functional,
    "test_strided_inputs": lambda o: _is_functional(o) and has_values_after_loading(o) and not reads_memory(o.name),
    "test_inplace_form": lambda o: o.declaration.form == "inplace",
    "test_out_form": lambda o: o.declaration.form == "out" and has_values_after_loading(o),
    "test_stays_on_its_device": _is_functional,
    "test_views_alias": lambda o: o.declaration.kind == "view" and _is_functional(o),
    "test_refusal_harms_nothing": lambda o: (
        o.schema.is_mutable and o.declaration.kind != "view" and o.declaration.form != "functional"
    ),
}


def has_values_after_loading(overload: Overload) -> bool:
    """Whether results are determined by the arguments, whatever their layout in memory."""
    sample_functions(overload)
    name = overload.declaration.functional or overload.name
    return has_values(name) and not is_random(name)
