"""Fake tensors: every operator describes them as it describes real ones, and what needs elements is refused."""

from __future__ import annotations

import copy
import doctest
import gc
import io
import re
import weakref
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch._functorch import config as functorch_config
from mindtorch._prims_common import compare_tensor_meta
from mindtorch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorDeviceMismatchError,
    FakeTensorMode,
    MetadataMismatchError,
    UnsupportedOperatorException,
    unset_fake_temporarily,
)
from mindtorch.fx.passes.fake_tensor_prop import FakeTensorProp
from mt_core import pytree
from mt_core.autograd_state import no_grad
from mt_core.block import block_of
from mt_core.testing.arguments import REFUSALS, Arguments, samples_on, tensors_in
from mt_core.testing.sample import declared_operators, sample_functions

#: Operators whose results' shapes, or whose errors, depend on elements.
_DATA = (DataDependentOutputException, DynamicOutputShapeException)
#: The exam of the backend compares ``out=`` forms with these.
_OPERATORS = [o for o in declared_operators() if sample_functions(o) and o.declaration.form != "out"]
_FAMILIES = sorted({o.declaration.family for o in _OPERATORS})


def _described(tensor):
    return tuple(tensor.shape), tensor.stride(), tensor.dtype, str(tensor.device), tensor.storage_offset()


def _aliasing(results, arguments):
    """For each result: is it an argument, and on whose memory it lies."""
    found = []
    for result in tensors_in(results):
        same = [i for i, a in enumerate(arguments) if a is result]
        shared = [i for i, a in enumerate(arguments) if block_of(a) is block_of(result)]
        found.append((same, shared))
    return found


def _compare(overload, sample, strided):
    bound = Arguments(overload, sample).bound
    mode = FakeTensorMode()
    fakes = pytree.tree_map_only(torch.Tensor, mode.from_tensor, bound)
    before, before_fake = tensors_in(bound), tensors_in(fakes)
    others = None if strided else pytree.tree_map_only(torch.Tensor, FakeTensorMode().from_tensor, bound)
    failure = None
    try:
        expected = overload.call(*bound)
    except REFUSALS as error:
        failure = error
    try:
        with mode:
            found = overload.call(*fakes)
    except _DATA:
        return
    except UnsupportedOperatorException:
        raise AssertionError(f"{overload.name}{sample}: the meta device does not know it") from failure
    except REFUSALS as error:
        assert failure is not None, f"{overload.name}{sample} (strided={strided}): only fakes are refused: {error!r}"
        return
    if failure is not None:
        return  # of elements, or of a dtype without a kernel here: the exam of the backend compares these with meta
    real, fake = tensors_in(expected), tensors_in(found)
    assert all(isinstance(t, FakeTensor) for t in fake), f"{overload.name}{sample}"
    assert [_described(t) for t in fake] == [_described(t) for t in real], f"{overload.name}{sample}"
    assert _aliasing(found, before_fake) == _aliasing(expected, before), f"{overload.name}{sample}"
    assert [_described(t) for t in before_fake] == [_described(t) for t in before], f"{overload.name}{sample}"
    if others is not None and fake:
        _compare_with_kept(overload, others, sample, found, before_fake)


def _compare_with_kept(overload, others, sample, found, written):
    """The same call on other fake tensors gives the same, which is taken from the cache."""
    arguments = tensors_in(others)
    with arguments[0].fake_mode if arguments else FakeTensorMode():
        again = overload.call(*others)
    for one, other in zip(tensors_in(again), tensors_in(found), strict=True):
        assert _described(one) == _described(other), f"{overload.name}{sample}"
        assert one.untyped_storage().nbytes() == other.untyped_storage().nbytes(), f"{overload.name}{sample}"
    assert _aliasing(again, arguments) == _aliasing(found, written), f"{overload.name}{sample}"
    assert [t._version for t in arguments] == [t._version for t in written], f"{overload.name}{sample}"


def test_the_cache_is_used_for_most_of_the_samples():
    FakeTensorMode.cache_clear()
    for overload in _OPERATORS[::40]:
        with no_grad():
            for sample in list(samples_on(overload, "cpu", strided=False))[:2]:
                _compare(overload, sample, strided=False)
    told = FakeTensorMode.cache_info()
    assert told.hits > 0.7 * (told.misses + sum(told.bypasses.values()))


@pytest.mark.parametrize("family", _FAMILIES)
def test_fake_results_are_laid_out_and_alias_as_real_ones(family):
    for overload in _OPERATORS:
        if overload.declaration.family == family:
            for strided in (False, True):
                with no_grad():
                    for sample in samples_on(overload, "cpu", strided=strided):
                        _compare(overload, sample, strided)


def test_what_was_kept_is_dropped_when_a_library_registers_and_asked_for_by_all_that_counts():
    with FakeTensorMode() as mode:
        x = torch.ones(2, 3)
        FakeTensorMode.cache_clear()
        for _ in range(2):
            several = (x, x.t(), x.double(), x[:, 1:], torch.ones(2, 3, requires_grad=True))
            assert [(t + 1).stride() for t in several] == [(3, 1), (1, 3), (3, 1), (2, 1), (3, 1)]
            assert (x.double() + 1).dtype is torch.float64
            assert (torch.ones(2, dtype=torch.int32) + 1.0).dtype == torch.get_default_dtype()
        assert FakeTensorMode.cache_info().hits >= 6
        y = x[0]
        y.mul_(2)
        assert y._is_view() and x._version == y._version == 1
        mode.cache_enabled = False
        told = FakeTensorMode.cache_info()
        assert (x * 2).shape == (2, 3) and FakeTensorMode.cache_info() == told
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl("digamma", lambda t: t.new_empty(7), "Meta")
        with FakeTensorMode():
            assert torch.digamma(torch.ones(2)).shape == (7,)
    with FakeTensorMode():
        assert torch.digamma(torch.ones(2)).shape == (2,)
        FakeTensorMode.cache_clear()
        x = torch.ones(2)
        x.unsqueeze_(0)
        assert FakeTensorMode.cache_info().bypasses["inplace view"] == 1


def test_devices_need_not_be_there():
    with FakeTensorMode():
        x = torch.ones(2, 3, device="cuda:1")
        number = torch.tensor(2.0)
        assert x.is_cuda and (x + number).device == torch.device("cuda:1")
        assert x.to("cpu").device.type == "cpu" and torch.zeros_like(x, device="npu").device.type == "npu"
        assert x.new_zeros(3).device == x.device and str(torch.ones(1, device="cuda").device) == "cuda:0"
        for mixed in (lambda: x + torch.ones(3), lambda: torch.cat([x, torch.ones(1, 3)])):
            with pytest.raises(FakeTensorDeviceMismatchError, match="found at least two devices, cuda:1 and cpu!"):
                mixed()


def test_what_depends_on_elements_is_refused():
    with FakeTensorMode():
        x = torch.ones(3)
        for read in (x.sum().item, lambda: bool(x.sum()), lambda: torch.equal(x, x), x.tolist):
            with pytest.raises(DataDependentOutputException):
                read()
        for grown in (x.nonzero, lambda: x[x > 0], x.unique):
            with pytest.raises(DynamicOutputShapeException):
                grown()


def test_one_known_element_is_carried_along_until_its_memory_is_written_to():
    with FakeTensorMode():
        x = torch.tensor(4.0)
        y = x.add_(1)
        assert x.item() == y.item() == 5.0 and (x * 2).item() == 10.0
        view = torch.tensor([1.0])[:]
        view.add_(torch.rand(1))
        assert view.constant is None
        wide = torch.tensor([1])
        wide.expand(4)[0] = 1
        assert wide.constant is None and torch.tensor([1, 2]).constant is None
        resized = torch.tensor([1])
        resized.resize_(2)
        assert resized.constant is None


def test_views_and_storages_of_real_tensors_are_those_of_fake_ones():
    x = torch.ones(4, 3)
    mode = FakeTensorMode()
    fake_view, fake = mode.from_tensor(x.t()[1:]), mode.from_tensor(x)
    assert fake_view._base is fake and fake_view.storage_offset() == 1
    assert fake_view.untyped_storage() is fake.untyped_storage() and mode.from_tensor(x) is fake
    fake_view.add_(1)
    assert fake._version == 1 and x._version == 0
    parameter = torch.nn.Parameter(x)
    parameter.grad = torch.ones(4, 3)
    made = mode.from_tensor(parameter)
    assert isinstance(made, torch.nn.Parameter) and made.requires_grad and made.is_leaf
    assert isinstance(made.grad, FakeTensor) and made.grad.shape == (4, 3)
    assert repr(mode.from_tensor(parameter * 2)) == "FakeTensor(..., size=(4, 3), grad_fn=<Error>)"


def test_what_stands_for_a_tensor_goes_with_it():
    x, mode = torch.ones(3), FakeTensorMode()
    fake, converter = mode.from_tensor(x), mode.fake_tensor_converter
    assert len(converter.tensor_memo) == 1
    del fake
    gc.collect()
    assert len(converter.tensor_memo) == len(converter.meta_converter.storage_memo) == 0
    alive = weakref.ref(mode)
    del mode, converter
    gc.collect()
    assert alive() is None


def test_layouts_change_in_place():
    with FakeTensorMode():
        x = torch.ones(4, device="cuda")
        head = x[:2]
        x.resize_(8)
        assert x.untyped_storage().nbytes() == 32 == head.untyped_storage().nbytes() and x.device.type == "cuda"
        y = torch.ones(2, 3)
        y.t_().unsqueeze_(0)
        assert y.shape == (1, 3, 2) and y.stride() == (3, 1, 3)
        z = torch.ones(2, dtype=torch.complex64).conj()
        assert z.is_conj() and (z + 1).dtype is torch.complex64 and z.imag.is_neg()
        z.mul_(2)
        assert z.is_conj() and z.resolve_conj().shape == (2,)


def test_a_training_step_leaves_fake_gradients():
    with FakeTensorMode():
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.BatchNorm1d(8), torch.nn.Dropout(), torch.nn.Linear(8, 2)
        ).to("cuda")
        optimizer = torch.optim.Adam(net.parameters())
        target = torch.zeros(5, dtype=torch.long, device="cuda")
        torch.nn.functional.cross_entropy(net(torch.randn(5, 4, device="cuda")), target).backward()
        optimizer.step()
    assert all(isinstance(p.grad, FakeTensor) and p.grad.device == p.device for p in net.parameters())
    assert net[0].weight.device == torch.device("cuda:0")


def test_random_numbers_are_not_drawn():
    before = torch.get_rng_state()
    with FakeTensorMode():
        torch.rand(3), torch.nn.Dropout()(torch.ones(3)), torch.randperm(4)
    assert torch.equal(before, torch.get_rng_state())


def test_inside_of_transforms_autocast_and_inference_mode():
    with FakeTensorMode():
        x = torch.randn(3, 4)
        assert torch.vmap(torch.func.grad(lambda row: (row * row).sum()))(x).shape == (3, 4)
        assert torch.func.jacrev(torch.sin)(x).shape == (3, 4, 3, 4)
        assert torch.func.jvp(torch.sin, (x,), (x,))[1].shape == (3, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.mm(x, x.t()).dtype is torch.bfloat16
        with torch.inference_mode():
            assert torch.ones(2).is_inference() and (torch.ones(2) + 1).is_inference()


def test_real_tensors_are_refused_unless_they_are_allowed():
    real = torch.ones(3)
    text = r"instantiate FakeTensorMode with 'allow_non_fake_inputs'. Found in aten.neg.default\(tensor\(\[...\], size="
    with FakeTensorMode(), pytest.raises(AssertionError, match=text):
        torch.neg(real)
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert isinstance(torch.neg(real), FakeTensor)
        assert real.add_(1) is real
    assert real.tolist() == [1.0, 1.0, 1.0]


def test_modes_do_not_mix():
    first, second = FakeTensorMode(), FakeTensorMode()
    x, y = first.from_tensor(torch.ones(2)), second.from_tensor(torch.ones(2))
    with pytest.raises(AssertionError, match="Mixing fake modes"):
        x + y
    with first, second, first:
        assert torch.ones(1).fake_mode is first
    with first:
        with second:
            assert torch.ones(1).fake_mode is second
        assert torch.ones(1).fake_mode is first
        with unset_fake_temporarily() as unset:
            assert unset is first and torch.ones(1).tolist() == [1.0]
        assert torch.ones(1).fake_mode is first
    assert (x + x).fake_mode is first


def test_other_modes_are_asked_before():
    class Counting(torch.utils._python_dispatch.TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

    with Counting() as counting, FakeTensorMode():
        assert isinstance(torch.ones(2) + 1, FakeTensor)
    assert counting.count == 2


def test_fake_implementations_are_told_of_fake_tensors():
    seen = []
    with torch.library._scoped_library("fake_tensor_tests", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.define("chosen(Tensor x) -> Tensor")
        library.define("unknown(Tensor x) -> Tensor")
        for name in ("twice", "chosen", "unknown"):
            library.impl(name, lambda x: x + x, "CPU")

        @torch.library.register_fake("fake_tensor_tests::twice", lib=library)
        def _(x):
            seen.append(x)
            return torch.empty_like(x)

        @torch.library.register_fake("fake_tensor_tests::chosen", lib=library)
        def _(x):
            return x.new_empty(torch.library.get_ctx().new_dynamic_size())

        with FakeTensorMode():
            x = torch.ones(2, device="cuda")
            assert torch.ops.fake_tensor_tests.twice(x).device == x.device and seen == [x]
            with pytest.raises(DynamicOutputShapeException, match="fake_tensor_tests.chosen.default"):
                torch.ops.fake_tensor_tests.chosen(x)
            with pytest.raises(UnsupportedOperatorException, match="fake_tensor_tests.unknown.default"):
                torch.ops.fake_tensor_tests.unknown(torch.ones(2))


def test_copies_and_files():
    net = torch.nn.Linear(3, 2)
    mode = FakeTensorMode()
    with FakeCopyMode(mode):
        copied = copy.deepcopy(net)
    assert isinstance(copied.weight, FakeTensor) and isinstance(copied.weight, torch.nn.Parameter)
    stream = io.BytesIO()
    both = torch.ones(3, 3)
    torch.save({"whole": both, "part": both[1:]}, stream)
    stream.seek(0)
    with mode:
        loaded = torch.load(stream)
    assert loaded["part"].shape == (2, 3) and loaded["part"].fake_mode is mode
    assert loaded["part"].untyped_storage() is loaded["whole"].untyped_storage()
    again = copy.deepcopy([loaded["whole"], loaded["part"]])
    assert again[0].untyped_storage() is again[1].untyped_storage() is not loaded["whole"].untyped_storage()


def test_what_is_not_there_is_refused_by_name():
    with pytest.raises(AssertionError, match="cannot set both static_shapes and symbolic_context"):
        FakeTensorMode().from_tensor(torch.ones(2), symbolic_context=object())
    with pytest.raises(AssertionError, match="must be 'meta', got cpu"):
        FakeTensor(FakeTensorMode(), torch.ones(2), "cpu")


def test_numbers_in_the_place_of_tensors_are_known():
    with FakeTensorMode():
        assert torch.div(7, 2, rounding_mode="trunc").item() == 3
        assert torch.zeros(()).constant is None


def test_fake_results_are_compared_with_real_ones():
    x = torch.rand(3, 4)
    with torch._subclasses.CrossRefFakeMode():
        y = torch.nn.functional.layer_norm(x.t(), (3,)).relu()[1:]
        x.add_(1)
        x[x > 0].nonzero()
    assert y.shape == (3, 3)
    with torch.library._scoped_library("cross_ref_tests", "DEF") as library:
        library.define("wrong(Tensor x) -> Tensor")
        library.impl("wrong", lambda x: x + 1, "CPU")
        torch.library.register_fake("cross_ref_tests::wrong", lambda x: x.new_empty(1), lib=library)
        with torch._subclasses.CrossRefFakeMode(), pytest.raises(MetadataMismatchError, match="Shapes"):
            torch.ops.cross_ref_tests.wrong(x)


def test_nodes_of_a_graph_are_told_of_fake_results():
    graph = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()))
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    result = FakeTensorProp(graph, mode).propagate(torch.ones(5, 4))
    assert isinstance(result, FakeTensor) and result.fake_mode is mode
    assert [tuple(n.meta["val"].shape) for n in graph.graph.nodes] == [(5, 4), (5, 3), (5, 3), (5, 3)]
    assert next(iter(graph.graph.nodes)).meta["tensor_meta"].shape == (5, 4)


def test_settings(monkeypatch):
    monkeypatch.setattr(functorch_config, "fake_tensor_allow_meta", False)
    with FakeTensorMode(), pytest.raises(AssertionError, match="meta"):
        torch.ones(1, device="meta")
    monkeypatch.undo()
    with FakeTensorMode():
        assert torch.ones(1, device="meta").is_meta


def test_metadata_is_compared():
    a = torch.ones(2, 3)
    compare_tensor_meta(a, FakeTensorMode().from_tensor(a), check_strides=True)
    compare_tensor_meta(torch.ones(1, 3).t(), torch.ones(3, 1), check_strides=True)
    for other in (torch.ones(3), a.double(), torch.ones(2, 3, device="meta")):
        with pytest.raises(AssertionError, match="are not equal"):
            compare_tensor_meta(a, other)
    with pytest.raises(RuntimeError, match="Stride mismatch"):
        compare_tensor_meta(a, torch.ones(3, 2).t(), check_strides=True)
    with pytest.raises(RuntimeError, match="Conj mismatch"):
        compare_tensor_meta(torch.ones(1, dtype=torch.complex64), torch.ones(1, dtype=torch.complex64).conj())


def test_the_page_runs():
    path = Path(__file__).parents[3] / "docs" / "fake-tensors.md"
    if not path.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    blocks = re.findall(r"^```pycon\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    page = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, path.name, str(path), 0)
    assert doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(page).failed == 0


#: Programs of a matrix A, x (2, 5) and i (2), which refuse some elements, but no fake tensors.
NOTHING_REFUSED = """
    torch.linalg.inv(A); torch.inverse(A); torch.linalg.solve(A, A); torch.linalg.cholesky(A); torch.linalg.lu_factor(A)
    torch.linalg.ldl_factor(A); torch.linalg.tensorinv(A.reshape(3, 1, 3), 2); torch.linalg.tensorsolve(A, A[0])
    torch.linalg.matrix_power(A, -2); torch.quantile(x, 0.5); torch.quantile(x, torch.tensor([0.2, 0.3]), dim=1)
    torch.nanquantile(x, 0.5, dim=0); F.one_hot(i, 4); torch.linspace(torch.tensor(0.0), 3, 4)
    torch.logspace(torch.tensor(1.0), torch.tensor(3.0), 4); F.embedding_bag(i, x, torch.tensor([0]))
    torch.randint_like(x, torch.tensor(5)); F.multilabel_margin_loss(x, torch.tensor([[0, 1, -1, 2, 3]] * 2))
    F.multi_margin_loss(x, i); F.binary_cross_entropy(x, x); torch._assert_async(x[0, 0] > 0); torch.normal(x, x)
    torch.cumprod(x.requires_grad_(), 0).sum().backward(); torch.prod(x.requires_grad_(), 0).sum().backward()
    torch.linalg.slogdet(A.requires_grad_())[1].backward(); torch.linalg.vander(x.requires_grad_()).sum().backward()
    torch.linalg.eig(A.requires_grad_())[0].abs().sum().backward()
""".replace("\n", ";")


@pytest.mark.parametrize("program", [text.strip() for text in NOTHING_REFUSED.split(";") if text.strip()])
def test_what_only_elements_tell_is_not_refused(program):
    space = {"torch": torch, "F": torch.nn.functional}

    def shapes():
        space.update(A=torch.eye(3) * 2, x=torch.rand(2, 5), i=torch.tensor([0, 1]))
        result = eval(program, space)  # noqa: S307 - the programs above
        grads = [space["A"].grad, space["x"].grad]
        return [
            (t.shape, t.stride(), t.dtype) for t in torch.utils._pytree.tree_leaves((result, grads)) if t is not None
        ]

    real = shapes()
    with FakeTensorMode():
        assert shapes() == real


def test_graphs_of_gradients_know_zeros_that_the_trace_did_not_see():
    from mindtorch._functorch.aot_autograd import aot_function
    from mindtorch._functorch.compilers import nop

    for function in (lambda x: x.cumprod(0).sum(), lambda x: x.prod(0).sum(), lambda x: x.prod()):
        for values in ([[1.0, 2.0], [3.0, 4.0]], [[0.0, 2.0], [3.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]):
            found, expected = (torch.tensor(values, requires_grad=True) for _ in range(2))
            aot_function(function, nop)(found).backward()
            function(expected).backward()
            assert torch.allclose(found.grad, expected.grad)


def test_graphs_keep_what_is_refused():
    from mindtorch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(torch.linalg.inv, tracing_mode="fake")(torch.eye(2))
    assert "_linalg_check_errors.default" in graph.code
    with pytest.raises(RuntimeError, match=r"linalg.inv: The diagonal element 1 is zero"):
        graph(torch.zeros(2, 2))
