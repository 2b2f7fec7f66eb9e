"""Programs of two processes with `DistributedDataParallel`; each returns what is the same in PyTorch.

They are given ``torch`` and their process group, so that PyTorch runs them on processes, and tests on threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """List a program."""
    PROGRAMS[function.__name__] = function
    return function


def wrap(torch: Any, group: Any, use: str = "ab", sizes: tuple[int, ...] = (2, 2), **options: Any) -> Any:
    """A model of linear layers without biases, all ones, of which a forward uses those that `use` names."""

    class Parts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name in "abcdef":
                layer = torch.nn.Linear(*sizes, bias=False)
                torch.nn.init.ones_(layer.weight)
                self.add_module(name, layer)
            self.use = use

        def forward(self, x: Any) -> Any:
            return sum(getattr(self, name)(x) for name in self.use)

    parts = Parts()
    for name in "abcdef":
        if name not in use and not options.get("find_unused_parameters") and not options.get("static_graph"):
            delattr(parts, name)
    return torch.nn.parallel.DistributedDataParallel(parts, process_group=group, **options)


def batch(torch: Any, group: Any) -> Any:
    return torch.ones(1, 2) * (group.rank() + 1)


def grads(model: Any) -> list[Any]:
    return [None if p.grad is None else p.grad.flatten()[0].item() for p in model.parameters()]


def refused(function: Callable[[], Any]) -> Any:
    try:
        function()
    except (RuntimeError, ValueError, TypeError) as error:
        return [type(error).__name__, str(error)]
    return None


def iterations(torch: Any, group: Any, model: Any, uses: list[str]) -> list[Any]:
    """The gradients after each iteration; they are never zeroed."""
    seen = []
    for use in uses:
        model.module.use = use
        model(batch(torch, group)).sum().backward()
        seen.append(grads(model))
    return seen


@program
def averages(torch: Any, group: Any) -> Any:
    return iterations(torch, group, wrap(torch, group), ["ab", "ab", "ab"])


@program
def averages_in_views(torch: Any, group: Any) -> Any:
    model = wrap(torch, group, gradient_as_bucket_view=True)
    seen = iterations(torch, group, model, ["ab", "ba", "ab"])
    return [seen, [p.grad._base is not None for p in model.parameters()]]


@program
def unused_here_or_everywhere(torch: Any, group: Any) -> Any:
    model = wrap(torch, group, find_unused_parameters=True)
    here = "ab" if group.rank() else "a"
    return iterations(torch, group, model, [here, "a", here, "cd", "e" if group.rank() else "f"])


@program
def unused_with_views(torch: Any, group: Any) -> Any:
    model = wrap(torch, group, find_unused_parameters=True, gradient_as_bucket_view=True)
    here = "ab" if group.rank() else "a"
    return iterations(torch, group, model, [here, "a", here, "cd"])


@program
def outputs_without_loss(torch: Any, group: Any) -> Any:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(2, 2)
            self.b = torch.nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return {"a": self.a(x), "rest": [self.b(x)]}

    model = torch.nn.parallel.DistributedDataParallel(Two(), process_group=group, find_unused_parameters=True)
    output = model(batch(torch, group))
    output["a"].sum().backward()
    return [type(output["rest"][0].grad_fn).__name__, grads(model)]


@program
def unsynchronized(torch: Any, group: Any) -> Any:
    model = wrap(torch, group)
    seen = []
    for syncs in (False, False, True, True, False):
        model.require_backward_grad_sync = syncs
        seen += iterations(torch, group, model, ["ab"])
    return seen


@program
def used_while_unsynchronized(torch: Any, group: Any) -> Any:
    model = wrap(torch, group, find_unused_parameters=True)
    with model.no_sync():
        seen = iterations(torch, group, model, ["b" if group.rank() else "c"])
    return [*seen, *iterations(torch, group, model, ["a", "a"])]


@program
def static(torch: Any, group: Any) -> Any:
    model = wrap(torch, group, static_graph=True)
    seen = iterations(torch, group, model, ["aba", "aba", "aba"])
    return [seen, type(model(batch(torch, group)).grad_fn).__name__]


@program
def static_graph_that_changes(torch: Any, group: Any) -> Any:
    model = wrap(torch, group, static_graph=True)
    seen = iterations(torch, group, model, ["ab"])
    return [seen, refused(lambda: iterations(torch, group, model, ["ac"]))]


@program
def twice(torch: Any, group: Any) -> Any:
    model = wrap(torch, group)
    output = model(batch(torch, group))
    output.sum().backward(retain_graph=True)
    return refused(lambda: output.sum().backward())


@program
def unfinished(torch: Any, group: Any) -> Any:
    model = wrap(torch, group, "abc")
    model.module.use = "a"
    model(batch(torch, group)).sum().backward()
    return refused(lambda: model(batch(torch, group)))


@program
def order_of_buckets(torch: Any, group: Any) -> Any:
    """Which parameters are in which bucket, for several sizes: in the first iteration, and in the next ones."""
    result = []
    for options in (
        {},
        {"bucket_cap_mb": 0.00002},
        {"bucket_cap_mb": 0.00004},
        {"bucket_cap_mb_list": [0.00001, 0.00004]},
        {"find_unused_parameters": True, "bucket_cap_mb": 0.00002},
        {"static_graph": True, "bucket_cap_mb": 0.00002},
    ):
        model = wrap(torch, group, "cadbfe", **options)
        numbers = {id(parameter): index for index, parameter in enumerate(model.parameters())}
        seen: list[Any] = []

        def hook(state: Any, bucket: Any, seen: list[Any] = seen, numbers: Any = numbers) -> Any:
            seen.append([bucket.index(), bucket.is_last(), [numbers[id(p)] for p in bucket.parameters()]])
            future = torch.futures.Future()
            future.set_result(bucket.buffer() * 3)
            return future

        hook.__annotations__.clear()  # what registers a hook reads them
        model.register_comm_hook(None, hook)
        seen.append(iterations(torch, group, model, ["cadbfe"] * 3))
        result.append(seen)
    return result


@program
def compressed(torch: Any, group: Any) -> Any:
    hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
    result = []
    for hook in (hooks.allreduce_hook, hooks.fp16_compress_hook, hooks.fp16_compress_wrapper(hooks.allreduce_hook)):
        model = wrap(torch, group)
        model.register_comm_hook(group, hook)
        model(batch(torch, group) / 3).sum().backward()
        result.append([grads(model), str(model.module.a.weight.grad.dtype)])
    return result


@program
def factored(torch: Any, group: Any) -> Any:
    """PowerSGD; its first factors are random, and the same for one seed."""
    name = torch.__name__ + ".distributed.algorithms.ddp_comm_hooks.powerSGD_hook"
    hooks = __import__(name, fromlist=["powerSGD_hook"])
    result = []
    for hook, options in (
        (hooks.powerSGD_hook, {}),
        (hooks.powerSGD_hook, {"matrix_approximation_rank": 2, "random_seed": 3}),
        (hooks.powerSGD_hook, {"use_error_feedback": False, "orthogonalization_epsilon": 1e-8}),
        (hooks.powerSGD_hook, {"warm_start": False, "batch_tensors_with_same_shape": True}),
        (hooks.powerSGD_hook, {"min_compression_rate": 100}),
        (hooks.powerSGD_hook, {"warm_start": False, "use_error_feedback": False, "random_seed": 1}),
    ):
        linears = [torch.nn.Linear(9, 8), torch.nn.Tanh(), torch.nn.Linear(8, 9), torch.nn.Linear(9, 8)]
        model = torch.nn.Sequential(*linears)
        with torch.no_grad():
            for number, parameter in enumerate(model.parameters()):
                values = torch.arange(parameter.numel()).reshape(parameter.shape)
                parameter.copy_(torch.sin(values * (number + 1.0)))
        model = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
        state = hooks.PowerSGDState(group, start_powerSGD_iter=2, **options)
        model.register_comm_hook(state, hook)
        seen = []
        for step in range(5):
            x = torch.cos(torch.arange(36.0).reshape(4, 9) * (step + 1 + group.rank()))
            model.zero_grad()
            model(x).square().sum().backward()
            seen.append([[round(v, 2) + 0.0 for v in p.grad.flatten()[:5].tolist()] for p in model.parameters()])
        stats = [round(float(number), 3) for number in state.compression_stats()]
        result.append([seen, stats, state.iter, state.__getstate__()["start_powerSGD_iter"]])
    return [*result, refused(lambda: hooks.PowerSGDState(group, start_powerSGD_iter=1))]


@program
def hooks_that_are_refused(torch: Any, group: Any) -> Any:
    model = wrap(torch, group)
    answer = torch.futures.Future[torch.Tensor]

    def of_number(state: Any, bucket: Any) -> Any:
        return None

    of_number.__annotations__ = {"bucket": int}

    def to_number(state: Any, bucket: Any) -> Any:
        return None

    to_number.__annotations__ = {"return": int}

    def hook(state: Any, bucket: Any) -> Any:
        return bucket.buffer()

    hook.__annotations__ = {"bucket": torch.distributed.GradBucket, "return": answer}
    result = [refused(lambda wrong=wrong: model.register_comm_hook(None, wrong)) for wrong in (3, of_number, to_number)]
    model.register_comm_hook(None, hook)
    return [*result, refused(lambda: model.register_comm_hook(None, hook))]


@program
def uneven(torch: Any, group: Any) -> Any:
    result = []
    for joining, options in (
        ({}, {}),
        ({"divide_by_initial_world_size": False}, {"find_unused_parameters": True}),
        ({"divide_by_initial_world_size": False}, {"gradient_as_bucket_view": True}),
    ):
        model = wrap(torch, group, **options)
        seen = []
        with model.join(**joining):
            for number in range(2 + 2 * group.rank()):
                seen += iterations(torch, group, model, ["ab"])
                with torch.no_grad():
                    model.module.a.weight.sub_(number + model.module.a.weight.grad)
                model.zero_grad(set_to_none=number % 2 == 0)
        result.append([seen, model.module.a.weight.flatten()[0].item()])
    return result


@program
def uneven_and_refused(torch: Any, group: Any) -> Any:
    model = wrap(torch, group)

    def run() -> None:
        with model.join(throw_on_early_termination=True):
            iterations(torch, group, model, ["ab"] * (1 + group.rank()))

    return refused(run)


@program
def unused_here_after_use(torch: Any, group: Any) -> Any:
    """What a bucket held before is not what a process adds that has no gradient."""
    seen = []
    for options in ({}, {"gradient_as_bucket_view": True}):
        model = wrap(torch, group, find_unused_parameters=True, **options)
        seen += iterations(torch, group, model, ["ab"])
        model.zero_grad()
        seen += iterations(torch, group, model, ["ab" if group.rank() else "a"])
    return seen


@program
def even_after_uneven(torch: Any, group: Any) -> Any:
    """Gradients are divided by the number of all processes again."""
    model = wrap(torch, group)
    with model.join(divide_by_initial_world_size=False):
        iterations(torch, group, model, ["ab"] * (1 + group.rank()))
    model.zero_grad()
    return iterations(torch, group, model, ["ab", "ab"])


@program
def orders_that_differ(torch: Any, group: Any) -> Any:
    """Buckets follow rank 0's order on all processes."""
    model = wrap(torch, group, "abc", bucket_cap_mb=0.00001)
    return iterations(torch, group, model, ["abbccc" if group.rank() else "cccbba"] * 3)


@program
def buffers(torch: Any, group: Any) -> Any:
    """Buffers are rank 0's in each forward, evaluation included, or only at first."""
    result = []
    for options in ({}, {"forward_sync_buffers": False}):
        layer = torch.nn.BatchNorm1d(2)
        with torch.no_grad():
            layer.weight.fill_(group.rank() + 1)
            layer.running_mean.fill_(group.rank() + 1)
        model = torch.nn.parallel.DistributedDataParallel(layer, process_group=group, **options)
        seen = [[layer.weight.tolist(), layer.running_mean.tolist()]]
        x = torch.arange(6.0).reshape(3, 2) * (group.rank() + 1)
        for training in (True, True, False):
            model.train(training)
            y = model(x)
            seen.append([round(y[0, 0].item(), 4), layer.running_mean.tolist(), layer.num_batches_tracked.item()])
        result.append(seen)
    return result


@program
def names_and_errors(torch: Any, group: Any) -> Any:
    wrapped = torch.nn.parallel.DistributedDataParallel
    model = wrap(torch, group)
    linear = torch.nn.Linear(2, 2)
    return [
        sorted(model.state_dict()),
        repr(model),
        refused(lambda: wrapped(torch.nn.ReLU(), process_group=group)),
        refused(lambda: wrapped(linear, device_ids=[0, 1], process_group=group)),
        refused(lambda: wrapped(linear, device_ids=[0], process_group=group)),
        refused(lambda: wrapped(torch.nn.LazyLinear(2), process_group=group)),
        refused(lambda: wrapped(linear, process_group=group, device_mesh=1)),
        refused(lambda: wrapped(linear, process_group=group, param_to_hook_all_reduce=1)),
    ]
