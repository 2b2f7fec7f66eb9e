"""``create_selective_checkpoint_contexts``: which results of the first call the second one takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch as torch
from mindtorch.utils._python_dispatch import TorchDispatchMode
from mindtorch.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
    set_checkpoint_debug_enabled,
)

aten = torch.ops.aten


class Names(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.called: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.called.append(func)
        return func(*args, **(kwargs or {}))


def chain(x: Any, y: Any) -> Any:
    return torch.sigmoid(torch.matmul(torch.matmul(x, y), y)) * y.exp()


def run(policy: Any, function: Callable[..., Any] = chain, between: Any = None, **options: Any) -> Any:
    """The operators of backward, and the gradients, which are those without checkpoint."""
    torch.manual_seed(0)
    x, y = torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
    wanted = torch.autograd.grad(function(x, y).sum(), (x, y))
    context_fn = functools.partial(create_selective_checkpoint_contexts, policy, **options)
    result = checkpoint(function, x, y, use_reentrant=False, context_fn=context_fn)
    if between is not None:
        between(result)
    with Names() as names:
        found = torch.autograd.grad(result.sum(), (x, y))
    return names.called, all(torch.allclose(a, b) for a, b in zip(found, wanted, strict=True))


def count(called: list[Any], operator: Any) -> int:
    return sum(call is operator or call == operator for call in called)


@pytest.mark.parametrize(
    "policy, multiplied, exponents",
    [
        ([aten.mm.default], 4, 1),
        (lambda context, op, *args, **kwargs: CheckpointPolicy.MUST_SAVE, 4, 0),
        (lambda context, op, *args, **kwargs: CheckpointPolicy.PREFER_SAVE, 4, 0),
        (lambda context, op, *args, **kwargs: op == aten.exp.default, 6, 0),
        (lambda context, op, *args, **kwargs: CheckpointPolicy.PREFER_RECOMPUTE, 6, 1),
        (lambda context, op, *args, **kwargs: CheckpointPolicy.MUST_CPU_OFFLOAD, 6, 1),
    ],
)
def test_what_is_kept_is_not_computed_again(policy: Any, multiplied: int, exponents: int) -> None:
    called, is_right = run(policy)
    assert (count(called, aten.mm.default), count(called, aten.exp.default)) == (multiplied, exponents)
    assert is_right


def test_a_policy_sees_calls_and_results() -> None:
    seen: list[Any] = []

    def policy(context: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any) -> bool:
        seen.append((op, context.is_recompute, context.op_output.shape, len(args)))
        return False

    run(policy)
    assert seen[0] == (aten.mm.default, False, (4, 4), 2) and len(seen) == 5


def test_views_and_several_results_are_kept() -> None:
    def several(x: Any, y: Any) -> Any:
        largest, _ = x.max(1)
        return largest * y.unbind(0)[1].exp().view(4)

    called, is_right = run(lambda context, op, *args, **kwargs: True, several)
    assert is_right and not count(called, aten.max.dim) and not count(called, aten.exp.default)


def test_what_is_kept_must_not_be_changed_unless_that_is_allowed() -> None:
    made: list[Any] = []

    def keeping(x: Any, y: Any) -> Any:
        product = torch.matmul(x, y)
        made.append(product.detach())
        return torch.sigmoid(torch.matmul(product, y))

    def change(_: Any) -> None:
        made[-1].add_(1)

    with pytest.raises(RuntimeError, match="Tensor cached during selective activation checkpoint has been mutated"):
        run([aten.mm.default], keeping, change)
    run([aten.mm.default], keeping, change, allow_cache_entry_mutation=True)


def test_the_second_backward_finds_nothing() -> None:
    x = torch.randn(3, 3, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, [aten.mm.default])
    result = checkpoint(lambda x: torch.mm(x, x).exp(), x, use_reentrant=False, context_fn=contexts)
    result.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        result.sum().backward()


def test_other_operators_than_the_first_time_are_refused() -> None:
    calls = iter(range(9))

    def changing(x: Any) -> Any:
        return x.sin() if next(calls) == 0 else x.sinh().sin()

    x = torch.ones(2, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, [aten.sin.default])
    result = checkpoint(changing, x, use_reentrant=False, context_fn=contexts)
    with pytest.raises(RuntimeError, match="aten.sinh.default encountered during backward but not found in storage"):
        result.sum().backward()


@pytest.mark.parametrize(
    "policy, error, words",
    [
        (3, TypeError, "policy_fn_or_list must be either a function or a list of ops."),
        (["x"], ValueError, "Expected op in `op_list` to be an OpOverload but got: x of type <class 'str'>. "),
        ([aten.mm], ValueError, "Please update the OpOverloadPacket to a specific OpOverload."),
    ],
)
def test_what_is_no_policy_is_refused(policy: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        create_selective_checkpoint_contexts(policy)


# debug=True


def differing() -> Callable[[Any], Any]:
    """A function that does something else the second time."""
    calls = iter(range(9))
    return lambda x: x.sin().exp() if next(calls) == 0 else x.sin() * torch.tensor([1.0, 2.0])


def refused(**options: Any) -> CheckpointError:
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(CheckpointError) as caught:
        checkpoint(differing(), x, use_reentrant=False, **options).sum().backward()
    return caught.value


def test_both_computations_are_told_where_they_differ() -> None:
    error = refused(debug=True)
    words = str(error)
    assert "You are seeing this error because you passed `debug=True` to checkpoint" in words
    first, second = words.split("Operations executed during recomputation:")
    assert "$2: f32[1] = torch._ops.aten.exp.default($1)" in first and "aten.mul.Tensor" in second
    assert "test_selective_checkpoint.py" in first and "different metadata" in str(error.__cause__)


def test_the_setting_goes_before_the_argument() -> None:
    with set_checkpoint_debug_enabled(True):
        assert "passed `debug=True`" in str(refused())
    with set_checkpoint_debug_enabled(False):
        assert "different metadata" in str(refused(debug=True))


def test_debugged_checkpoints_give_the_same_gradients() -> None:
    x = torch.randn(3, requires_grad=True)
    checkpoint(lambda x: (x.sin() * x).exp(), x, use_reentrant=False, debug=True).sum().backward()
    assert torch.allclose(x.grad, torch.autograd.grad((x.sin() * x).exp().sum(), x)[0])


def test_where_debug_is_refused() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="Passing `context_fn` or `debug` is only supported when use_reentrant=False"):
        checkpoint(torch.sin, x, use_reentrant=True, debug=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, [aten.mm.default])
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        checkpoint(torch.sin, x, use_reentrant=False, debug=True, context_fn=contexts)
