"""``torch.pipeline()``: what waits and what does not, who may look, and what is left when a call fails."""

from __future__ import annotations

import copy
import doctest
import inspect
import io
import pickle
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch as torch
from mindtorch import nn
from mindtorch._subclasses.fake_tensor import FakeTensorMode
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mt_core.keys import PIPELINE
from mt_core.pipeline import queue
from mt_core.state import tls
from mt_core.tensor import Tensor


def waits(tensor: Any) -> bool:
    return bool(tensor._keys & PIPELINE)


# What is known at once

SEEN: dict[str, Callable[[Any], Any]] = {
    "shape": lambda t: t.shape,
    "size": lambda t: t.size(),
    "stride": lambda t: t.stride(),
    "dtype": lambda t: t.dtype,
    "device": lambda t: t.device,
    "layout": lambda t: t.layout,
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "_version": lambda t: t._version,
    "storage_offset": lambda t: t.storage_offset(),
    "is_contiguous": lambda t: t.is_contiguous(),
    "numel": lambda t: t.numel(),
    "dim": lambda t: t.dim(),
    "len": lambda t: len(t),
    "type": lambda t: type(t),
    "is_floating_point": lambda t: t.is_floating_point(),
    "is_inference": lambda t: t.is_inference(),
    "element_size": lambda t: t.element_size(),
    "is_cpu": lambda t: t.is_cpu,
    "nbytes": lambda t: t.nbytes,
}


def several(x: Any) -> list[Any]:
    y = x.exp()
    view = y.transpose(0, 1)
    view.mul_(2)
    with torch.no_grad():
        z = y + 1
    with torch.inference_mode():
        w = z * 2
    return [y, view, z, w, y[1], y.sum(0), y > 1, y.to(torch.float64), y.argmax(1)]


@pytest.mark.parametrize("what", SEEN)
def test_what_is_known_of_a_result_is_told_without_computing_it(what: str) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    expected = []
    for tensor in several(x):
        expected.append("no version" if what == "_version" and tensor.is_inference() else SEEN[what](tensor))
    with torch.pipeline() as pipeline:
        found = [
            "no version" if what == "_version" and tensor.is_inference() else SEEN[what](tensor)
            for tensor in several(x)
        ]
        assert pipeline.flushes == pipeline.immediate == 0
    assert found == expected


# What asks for elements

ASKING: dict[str, Callable[[Any], Any]] = {
    "item": lambda t: t[0, 0].item(),
    "bool": lambda t: bool(t[0, 0]),
    "int": lambda t: int(t[0, 0]),
    "float": lambda t: float(t[0, 0]),
    "tolist": lambda t: t.tolist(),
    "numpy": lambda t: t.numpy(),
    "array": lambda t: np.asarray(t),
    "repr": repr,
    "format": lambda t: f"{t[0, 0]:.2f}",
    "data_ptr": lambda t: t.data_ptr() > 0,
    "dlpack": lambda t: torch.from_dlpack(t).tolist(),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "deepcopy": copy.deepcopy,
    "save": lambda t: torch.save(t, io.BytesIO()),
    "storage": lambda t: t.untyped_storage().nbytes(),
    "share_memory_": lambda t: t.share_memory_(),
    "set_": lambda t: t.set_(torch.ones(2)),
    "resize_": lambda t: t.resize_(1),
    "nonzero": lambda t: t.nonzero(),
    "masked_select": lambda t: t[t > 1],
    "unique": torch.unique,
    "equal": lambda t: torch.equal(t, t),
    "allclose": lambda t: torch.allclose(t, t),
    "get_rng_state": lambda t: torch.get_rng_state(),
    "manual_seed": lambda t: torch.manual_seed(0),
    "data": lambda t: t.data,
    "base": lambda t: t[0]._base is t,
    "Function": lambda t: Doubling.apply(t),
    "vmap": lambda t: torch.vmap(torch.sin)(t),
    "grad": lambda t: torch.func.grad(lambda x: x.sum())(t),
    "requires_grad_": lambda t: t.requires_grad_(),
    "Parameter": lambda t: nn.Parameter(t),
    "default dtype": lambda t: changed_default(),
    "map_": lambda t: t.apply_(lambda x: x),
    "in": lambda t: 1.0 in t,
    "flush": lambda t: None,
}


def changed_default() -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_default_dtype(torch.float32)


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


@pytest.mark.parametrize("what", ASKING)
def test_who_asks_for_elements_has_them_computed(what: str) -> None:
    x = torch.arange(1.0, 7.0).reshape(2, 3)
    expected = ASKING[what](x * 2 + 1)
    with torch.pipeline() as pipeline:
        y = x * 2 + 1
        assert waits(y)
        found = ASKING[what](y) if what != "flush" else pipeline.flush()
        assert pipeline.flushes >= 1
        assert not waits(y)
    if isinstance(expected, Tensor):
        assert expected.tolist() == found.tolist()
    elif not isinstance(expected, torch.Generator):
        assert repr(found) == repr(expected)


def test_what_asks_of_the_graph_has_nodes_made() -> None:
    x = torch.ones(2, requires_grad=True)
    questions: list[Callable[[Any], Any]] = [
        lambda y: y.grad_fn.name(), lambda y: y.register_hook(lambda g: None) and None, lambda y: y.retain_grad(),
        lambda y: y.sum().backward(), lambda y: torch.autograd.grad(y.sum(), x), lambda y: y.output_nr,
        lambda y: y.detach_(), lambda y: y.retains_grad,
    ]  # fmt: skip
    for question in questions:
        with torch.pipeline() as pipeline:
            y = x.exp()
            assert waits(y)
            question(y)
            assert pipeline.flushes == 1
            assert not waits(y)


def test_nodes_that_a_program_holds_see_what_was_written() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    node = y.grad_fn
    for question in (lambda: node._saved_result, lambda: node(torch.ones(2))):
        with torch.pipeline(), torch.no_grad():
            y.mul_(2)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                question()


# Memory


def test_views_of_what_waits_are_views() -> None:
    with torch.pipeline() as pipeline:
        x = torch.zeros(2, 3)
        row = x[1]
        row += 1
        alias = x.detach()
        alias[0, 0] = 7
        assert pipeline.flushes == 0
    assert x.tolist() == [[7, 0, 0], [1, 1, 1]]
    assert row._base is x
    assert alias.data_ptr() == x.data_ptr()
    assert x._version == row._version == 2


def test_tensors_that_were_there_are_written_to_in_order() -> None:
    x = torch.zeros(3)
    view = x[1:]
    with torch.pipeline() as pipeline:
        before = x + 1
        x.add_(2)
        after = view * 10
        assert pipeline.flushes == 0
        assert x.tolist() == [2, 2, 2]
        assert before.tolist() == [1, 1, 1]
        assert after.tolist() == [20, 20]


def test_memory_that_others_have_is_read_where_the_call_stands() -> None:
    array = np.ones(3, np.float32)
    x = torch.from_numpy(array)
    y = torch.ones(3)
    exported, storage = y.numpy(), torch.ones(3).untyped_storage()
    z = torch.empty(0).set_(storage)
    with torch.pipeline():
        first, second, third = x + 1, y * 2, z.view(torch.uint8) + 0
        array[0] = exported[0] = 5
        storage.fill_(0)
        y.add_(1)
        assert exported.tolist() == [6, 2, 2]
    assert first.tolist() == [2, 2, 2]
    assert second.tolist() == [2, 2, 2]
    assert sum(third.tolist()) > 0


def test_a_tensor_that_a_call_reads_is_not_changed_from_outside() -> None:
    x = torch.ones(3)
    with torch.pipeline():
        y = x + 1
        x.numpy()[0] = 5
        assert y.tolist() == [2, 2, 2]


def test_a_leaf_that_a_call_uses_keeps_its_part_in_the_graph() -> None:
    x = torch.ones(3, requires_grad=True)
    with torch.pipeline():
        y = x * 2
        x.requires_grad_(False)
    assert y.requires_grad
    assert y.grad_fn is not None


def test_shapes_given_as_lists_may_change_afterwards() -> None:
    shape = [2, 3]
    indices = [torch.tensor([0])]
    with torch.pipeline():
        x = torch.zeros(shape)
        y = torch.stack(indices)
        shape[0] = 5
        indices.append(indices[0])
    assert x.shape == (2, 3)
    assert y.shape == (1, 1)


# What is left out


def test_calls_whose_results_nobody_has_are_left_out() -> None:
    x = torch.ones(3)
    with torch.pipeline() as pipeline:
        for _ in range(5):
            x.exp().sin().sum()
        kept = x.exp().sin()
    assert pipeline.queued == 17
    assert pipeline.dropped == 15
    assert kept.tolist() == torch.ones(3).exp().sin().tolist()


def test_draws_writes_and_refusals_are_not_left_out() -> None:
    torch.manual_seed(0)
    torch.rand(3)
    expected = torch.rand(3).tolist()
    torch.manual_seed(0)
    x = torch.zeros(3)
    with torch.pipeline() as pipeline:
        torch.rand(3)
        x[0].add_(1)
        found = torch.rand(3)
    assert found.tolist() == expected
    assert x.tolist() == [1, 0, 0]
    assert pipeline.dropped == 0
    with pytest.raises(IndexError), torch.pipeline():
        torch.nn.functional.embedding(torch.tensor([9]), torch.ones(3, 2))


# Failure


def test_a_wrong_call_raises_where_it_stands() -> None:
    x, leaf = torch.ones(2, 3), torch.ones(2, requires_grad=True)
    wrong: list[Callable[[], Any]] = [
        lambda: x @ x, lambda: x + torch.ones(4), lambda: x.view(7), lambda: x.sum(5), lambda: leaf.add_(1),
        lambda: torch.cat([x, torch.ones(1)]), lambda: x.long().softmax(0), lambda: x.expand(3, 3).sort(9),
        lambda: x.expand(2, 2, 3).add_(1), lambda: torch.nn.functional.conv2d(x, x),
    ]  # fmt: skip
    for call in wrong:
        with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as eager:
            call()
        with torch.pipeline(), pytest.raises(type(eager.value)) as pipelined:
            call()
        assert str(pipelined.value) == str(eager.value)


def failing(table: Any) -> Any:
    return torch.nn.functional.embedding(torch.tensor([9]), table)


def test_a_failing_flush_names_the_call_and_leaves_results_without_values() -> None:
    table = torch.ones(3, 2)
    with torch.pipeline() as pipeline:
        before = table + 1
        failed = failing(table)
        after = failed * 2
        apart = table * 3
        table.add_(1)
        with pytest.raises(IndexError, match=r"raised by aten::embedding, a call that torch.pipeline\(\) had put off"):
            pipeline.flush()
        assert before.tolist() == [[2, 2]] * 3
        for lost in (failed, after, apart):
            assert lost.shape[-1] == 2
            with pytest.raises(RuntimeError, match="has no value.*aten::embedding.*failed"):
                lost.tolist()
            with pytest.raises(RuntimeError, match="has no value"):
                lost + 1
        assert table.tolist() == [[1, 1]] * 3, "as the calls before the failing one left it"
        assert (table + 1).tolist() == [[2, 2]] * 3, "the pipeline goes on"
    with pytest.raises(RuntimeError, match="has no value"):
        after.sum()
    with pytest.raises(RuntimeError, match="has no value"):
        repr(failed)


def test_debug_tells_the_line_of_the_call() -> None:
    with pytest.raises(IndexError) as found, torch.pipeline(debug=True):
        table = torch.ones(3, 2)
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        lost = torch.nn.functional.embedding(torch.tensor([9]), table)
    assert f"aten::embedding (called at {__file__}:{line})" in str(found.value)
    with pytest.raises(RuntimeError, match=f"{__file__}:{line}"):
        lost.tolist()


def test_leaving_by_an_error_carries_out_what_was_called_before() -> None:
    x = torch.zeros(2)
    with pytest.raises(ZeroDivisionError), torch.pipeline() as pipeline:
        y = x.add_(1) * 2
        raise ZeroDivisionError
    assert y.tolist() == [2, 2]
    assert pipeline.flushes == 1
    assert tls.pipeline is None
    assert not waits(x + 1)


def test_of_two_errors_the_one_that_came_first_is_raised() -> None:
    with pytest.raises(IndexError) as found, torch.pipeline():
        failing(torch.ones(3, 2))
        raise ZeroDivisionError
    assert isinstance(found.value.__context__, ZeroDivisionError)


# Nesting


def test_pipelines_nest_in_one_queue() -> None:
    with torch.pipeline() as outer:
        x = torch.ones(2) + 1
        with torch.pipeline() as inner:
            y = x * 2
            assert (outer.queued, inner.queued) == (3, 1)
        assert not waits(y)
        assert (outer.flushes, inner.flushes) == (1, 1)
        z = y + 1
        assert waits(z)
    assert z.tolist() == [5, 5]
    assert (outer.queued, inner.queued) == (4, 1)


def test_options_are_checked() -> None:
    with pytest.raises(TypeError, match="must be bool"):
        torch.pipeline(debug=1)


class Noting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_dispatch_modes_see_calls_where_they_stand() -> None:
    x = torch.ones(2)
    with torch.pipeline() as pipeline:
        y = x + 1
        with Noting() as noting:
            z = y * 2
        assert not waits(z)
        assert pipeline.flushes == 1
    with Noting() as around, torch.pipeline():
        assert (x * 3).tolist() == [3, 3]
    assert noting.names == ["aten.mul.Tensor"]
    assert "aten.mul.Tensor" in around.names
    assert z.tolist() == [4, 4]


class Overriding(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {})) if func is not torch.sin else torch.cos(*args)


def test_function_modes_see_calls_where_they_stand() -> None:
    x = torch.ones(2)
    with torch.pipeline() as pipeline:
        with Overriding():
            y = torch.sin(x)
            assert waits(y)
        z = torch.sin(x)
        assert pipeline.flushes == 0
    assert y.tolist() == torch.cos(x).tolist()
    assert z.tolist() == torch.sin(x).tolist()


class Tagged(torch.Tensor):
    """A subclass that is told of functions, and gives results its class."""


class Attributed(torch.Tensor):
    """A subclass with a ``__getattr__`` of its own."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def test_subclasses_take_part() -> None:
    x = torch.ones(2)
    with torch.pipeline():
        tagged = torch.ones(2).as_subclass(Tagged) + x
        attributed = torch.ones(2).as_subclass(Attributed)
        attributed.add_(x * 2)
    assert type(tagged) is Tagged
    assert tagged.tolist() == [2, 2]
    assert attributed.tolist() == [3, 3]


def step_under(context: Callable[[], Any], pipelined: bool) -> tuple[Any, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2), nn.Softmax(-1))
    x = torch.randn(3, 4)
    flushes = 0
    with torch.pipeline() if pipelined else context() as outer, context():
        for _ in range(2):
            model(x).float().square().sum().backward()
            if pipelined:
                flushes = outer.flushes
    return [p.grad.tolist() for p in model.parameters()], flushes


CONTEXTS: dict[str, Callable[[], Any]] = {
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "saved_tensors_hooks": lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t),
    "anomaly": lambda: torch.autograd.detect_anomaly(),
    "enable_grad": torch.enable_grad,
    "default_device": lambda: torch.device("cpu"),
    "deterministic": lambda: torch.backends.cudnn.flags(enabled=False),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_gradients_under_other_modes_are_those_of_eager_execution(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, _ = step_under(CONTEXTS[name], pipelined=False)
        found, flushes = step_under(CONTEXTS[name], pipelined=True)
    assert found == expected
    if name in ("autocast", "enable_grad"):
        assert flushes == 2


def test_forward_mode_and_transforms_inside_and_outside() -> None:
    x = torch.arange(3.0)
    with torch.pipeline() as pipeline:
        primal = x + 1
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(primal, torch.ones(3))
            tangent = torch.autograd.forward_ad.unpack_dual(dual.square() + x).tangent
        jacobian = torch.func.jacrev(torch.square)(primal * 1)
        pipeline.flush()
    assert tangent.tolist() == [2, 4, 6]
    assert jacobian.diagonal().tolist() == [2, 4, 6]

    def inside(row: Any) -> Any:
        with torch.pipeline() as inner:
            result = (row * 2).sin() + 1
            assert inner.queued == 0
        return result

    rows = torch.arange(6.0).reshape(2, 3)
    assert torch.vmap(inside)(rows).tolist() == ((rows * 2).sin() + 1).tolist()
    assert torch.func.grad(lambda v: inside(v).sum())(x).tolist() == ((x * 2).cos() * 2).tolist()


def test_custom_operators_and_functions_run_where_they_stand() -> None:
    calls = []

    @torch.library.custom_op("pipeline_tests::noted", mutates_args=())
    def noted(x: torch.Tensor) -> torch.Tensor:
        calls.append(len(calls))
        return x * 2

    x = torch.ones(2, requires_grad=True)
    with torch.pipeline():
        y = noted((x + 1).detach())
        assert calls == [0]
        z = Doubling.apply(x + 1).sum()
        z.backward()
    assert y.tolist() == [4, 4]
    assert x.grad.tolist() == [2, 2]


def test_programs_are_captured_where_they_are_called() -> None:
    graphs = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(len(list(graph.graph.nodes)))
        return graph.forward

    compiled = torch.compile(lambda t: (t.sin() + 1).relu(), backend=backend)
    wave = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with torch.pipeline():
        x = torch.ones(2) * 2
        y, z = compiled(x), compiled(x * 1)
        exported = torch.export.export(wave, (x + 1,)).module()(x)
        mode, w = FakeTensorMode(), x + 1
        assert (mode.from_tensor(w) @ mode.from_tensor(w)).shape == ()
    assert graphs == [5]
    assert y.tolist() == z.tolist() == (x.sin() + 1).tolist()
    assert exported.tolist() == wave(x).tolist()


def test_checkpoints_give_the_gradients_of_eager_execution() -> None:
    def grads(pipelined: bool, reentrant: bool) -> Any:
        torch.manual_seed(1)
        layer = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Tanh())
        x = torch.randn(2, 3, requires_grad=True)
        with torch.pipeline() if pipelined else torch.enable_grad():
            torch.utils.checkpoint.checkpoint(layer, x * 1, use_reentrant=reentrant).sum().backward()
        return x.grad.tolist(), layer[0].weight.grad.tolist()

    for reentrant in (False, True):
        assert grads(True, reentrant) == grads(False, reentrant)


def test_the_meta_device_has_nothing_to_wait_for() -> None:
    with torch.pipeline() as pipeline:
        x = torch.empty(2, 3, device="meta") @ torch.empty(3, 4, device="meta")
        assert x.is_meta
        assert (torch.ones(2) + 1).to("meta").shape == (2,)
    assert x.shape == (2, 4)
    assert pipeline.flushes == 1


def test_warnings_are_given_once_and_where_the_call_stands() -> None:
    out = torch.zeros(2)
    with warnings.catch_warnings(record=True) as caught, torch.pipeline() as pipeline:
        warnings.simplefilter("always")
        x = torch.ones(3) + 1
        torch.add(x, 1, out=out)
        assert [str(w.message)[:44] for w in caught] == ["An output with one or more elements was resi"]
        assert in_thread(lambda: warnings.warn("of another thread", stacklevel=1)) is None
        assert pipeline.immediate == 1
    assert out.tolist() == [3, 3, 3]
    assert len(caught) == 2
    assert not any("_Refused" in repr(entry) for entry in warnings.filters)


def test_deterministic_algorithms_are_asked_for_where_a_call_stands() -> None:
    unpool = nn.MaxUnpool1d(3)
    x, indices = torch.ones(1, 1, 2), torch.zeros(1, 1, 2, dtype=torch.int64)
    with torch.pipeline():
        before = unpool(x, indices)
        torch.use_deterministic_algorithms(True)
        try:
            with pytest.raises(RuntimeError, match="deterministic"):
                unpool(x, indices)
        finally:
            torch.use_deterministic_algorithms(False)
    assert before.shape == (1, 1, 6)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.pipeline])
def test_zeros_are_zero_bytes_in_every_mode(context: Callable[[], Any]) -> None:
    with context():
        made = torch.zeros(3, dtype=torch.float8_e8m0fnu)
        near = [made.new_zeros(2), torch.zeros_like(made), torch.zeros(2, dtype=made.dtype, device="cpu")]
    assert [t.view(torch.uint8).tolist() for t in near] == [[0, 0], [0, 0, 0], [0, 0]]


def test_what_is_detached_from_inference_tensors_can_be_written_to() -> None:
    with torch.pipeline():
        with torch.inference_mode():
            x = torch.ones(2).exp()
        x.detach().mul_(2)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            x.mul_(2)
    assert x.tolist() == (torch.ones(2).exp() * 4).tolist(), "it is the count of the write that is refused"


def test_calls_like_one_that_was_described_are_not_described_again(monkeypatch: pytest.MonkeyPatch) -> None:
    described = []
    plain = queue.Queue._described
    monkeypatch.setattr(
        queue.Queue,
        "_described",
        lambda self, overload, *rest: described.append(overload.name) or plain(self, overload, *rest),
    )

    def several() -> list[Any]:
        x, y = torch.ones(3, 2), torch.ones(2, 3).t()
        return [x + y, x + x, x.int() + 1, x.int() + 1.0, y.sum(0), x.sum(0, keepdim=True), x.double().exp()]

    expected = [(t.tolist(), t.dtype, t.stride()) for t in several()]
    for _ in range(3):  # kernels that are loaded at a flush have all descriptions dropped
        described.clear()
        with torch.pipeline() as pipeline:
            found = several()
            assert pipeline.flushes == 0
        assert [(t.tolist(), t.dtype, t.stride()) for t in found] == expected
    assert not {"add.Tensor", "add.Scalar", "sum.dim_IntList", "exp"} & set(described)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.pipeline():
            assert (torch.ones(2, dtype=torch.int32) + 1.0).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.pipeline(), torch.inference_mode():
        assert (torch.ones(3, 2) + torch.ones(3, 2)).is_inference()
    with torch.pipeline():
        w = torch.ones(3, 2, requires_grad=True)
        assert (w + w).requires_grad and not (w.detach() + w.detach()).requires_grad


# Threads and processes


def in_thread(function: Callable[[], Any]) -> Any:
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(function())
        except BaseException as error:  # noqa: BLE001 - raised by the test
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome[0]


def test_another_thread_that_reads_has_the_queue_flushed() -> None:
    x = torch.ones(3)
    with torch.pipeline() as pipeline:
        y = x * 2
        x.add_(1)
        assert in_thread(lambda: (y.tolist(), (x + 1).tolist())) == ([2, 2, 2], [3, 3, 3])
        assert pipeline.flushes == 1
        z = x * 10
        assert in_thread(lambda: x.add_(1).tolist()) == [3, 3, 3]
        assert z.tolist() == [20, 20, 20]


def test_threads_have_queues_of_their_own() -> None:
    def other() -> Any:
        eager = torch.ones(2) + 1
        assert not waits(eager)
        with torch.pipeline() as own:
            mixed = y + eager
            assert waits(mixed)
            assert pipeline.flushes == 1, "what another queue has is computed before it is used"
        return own.queued, mixed.tolist()

    with torch.pipeline() as pipeline:
        y = torch.ones(2) * 3
        assert in_thread(other) == (1, [5, 5])
        assert pipeline.flushes == 1


def test_many_threads_at_once() -> None:
    shared = torch.ones(50)
    results: list[Any] = []

    def work(number: int) -> None:
        for _ in range(40):
            with torch.pipeline() if number % 3 else torch.enable_grad():
                x = shared * number
                results.append((number, (x + shared).sum()))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 240
    assert all(total.item() == 50 * (number + 1) for number, total in results)


def test_workers_get_what_was_computed_before_they_were_started() -> None:
    with torch.pipeline():
        data = torch.arange(6.0) * 2
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=3, num_workers=1)
        assert [batch.tolist() for (batch,) in loader] == [[0, 2, 4], [6, 8, 10]]


# Programs without a pipeline


def test_nothing_stays_behind() -> None:
    program = """
import mindtorch as torch
from mt_core.tensor import Tensor
from mt_core.state import tls
import sys
before = set(vars(Tensor))
assert "mt_core.pipeline.queue" not in sys.modules, "loaded without use"
with torch.pipeline():
    assert "__getattr__" in vars(Tensor)
    x = torch.ones(2) + 1
assert set(vars(Tensor)) == before
assert tls.mode == 0 and tls.pipeline is None
try:
    x.missing
except AttributeError as error:
    assert str(error) == "'Tensor' object has no attribute 'missing'", error
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_missing_attributes_are_missed_in_the_same_words() -> None:
    with torch.pipeline(), pytest.raises(AttributeError, match="'Tensor' object has no attribute 'missing'"):
        (torch.ones(2) + 1).missing  # noqa: B018 - it raises


def test_the_page_about_it_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "pipeline.md"
    if not page.exists():
        pytest.skip("the documents are part of the repository, not of the distribution")
    blocks = re.findall(r"^```pycon\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    assert len(examples.examples) > 10
    assert not doctest.DocTestRunner().run(examples).failed
