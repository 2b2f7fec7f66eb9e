"""Programs of two processes with `FullyShardedDataParallel`; each returns what is the same in PyTorch.

They are given ``torch`` and their process group, so that PyTorch runs them on processes, and tests on threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from fully_shard_programs import told

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """List a program."""
    PROGRAMS[function.__name__] = function
    return function


def model_of(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1)))
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_((torch.arange(parameter.numel()).reshape(parameter.shape) + number) / 8)
    return model


def policy_of(torch: Any, name: str) -> Any:
    wrap = __import__(torch.__name__ + ".distributed.fsdp.wrap", fromlist=["wrap"])
    if name == "classes":
        return wrap.ModuleWrapPolicy({torch.nn.Linear})
    if name == "sizes":
        return lambda module, recurse, nonwrapped_numel: wrap.size_based_auto_wrap_policy(
            module, recurse, nonwrapped_numel, min_num_params=10
        )
    return wrap.CustomPolicy(lambda module: getattr(module, "in_features", 0) == 3)


def spread(torch: Any, policy: str | None = "classes", model: Any = None, **options: Any) -> Any:
    fsdp = torch.distributed.fsdp
    model = model_of(torch) if model is None else model
    chosen = None if policy is None else policy_of(torch, policy)
    options.setdefault("device_id", torch.device("cpu"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fsdp.FullyShardedDataParallel(model, auto_wrap_policy=chosen, **options)


def or_message(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except NotImplementedError as error:
        return str(error)


def batch(torch: Any, group: Any) -> Any:
    return torch.ones(2, 2) * (group.rank() + 1)


def named(torch: Any, model: Any) -> Any:
    return [[name, type(p).__name__, list(p.shape), told(p.detach())] for name, p in model.named_parameters()]


def trained(torch: Any, group: Any, kind: str = "AdamW", steps: int = 2, **options: Any) -> Any:
    model = spread(torch, **options)
    given = {"lr": 0.125, "momentum": 0.5} if kind == "SGD" else {"lr": 0.125}
    optimizer = getattr(torch.optim, kind)(model.parameters(), **given)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(batch(torch, group)).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, optimizer, losses


@program
def parameters(torch: Any, group: Any) -> Any:
    found = []
    for policy in (None, "classes", "sizes", "custom"):
        for originals in (False, True):
            model = spread(torch, policy, use_orig_params=originals)
            found.append([str(model), named(torch, model)])
    return found


@program
def gradients(torch: Any, group: Any) -> Any:
    found = []
    for originals in (False, True):
        model = spread(torch, use_orig_params=originals)
        for _ in range(2):
            model(batch(torch, group)).sum().backward()
            found.append(told([p.grad for p in model.parameters()]))
    return found


@program
def strategies(torch: Any, group: Any) -> Any:
    found = []
    for name in ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"):
        for originals in (False, True):
            strategy = torch.distributed.fsdp.ShardingStrategy[name]
            model, _, losses = trained(torch, group, "SGD", sharding_strategy=strategy, use_orig_params=originals)
            found.append([name, told(losses), named(torch, model)])
    return found


@program
def hybrid(torch: Any, group: Any) -> Any:
    found = []
    mesh = torch.distributed.init_device_mesh("cpu", (1, 2))
    for name in ("HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"):
        strategy = torch.distributed.fsdp.ShardingStrategy[name]
        model, _, losses = trained(torch, group, "SGD", sharding_strategy=strategy, device_mesh=mesh)
        found.append([name, told(losses), named(torch, model)])
    return found


@program
def states(torch: Any, group: Any) -> Any:
    model, optimizer, losses = trained(torch, group)
    state = model.state_dict()
    optimizer_state = model.optim_state_dict(model, optimizer)
    # The order of entries is that of names, or of gathering.
    values = {name: dict(sorted(told(value).items())) for name, value in sorted(optimizer_state["state"].items())}
    return told(losses), list(state), told(state), values, told(optimizer_state["param_groups"])


@program
def loaded(torch: Any, group: Any) -> Any:
    found = []
    for originals in (False, True):
        model = spread(torch, use_orig_params=originals)
        state = {name: value.clone() for name, value in model.state_dict().items()}
        for number, value in enumerate(state.values()):
            value.fill_(number / 4)
        found += [str(model.load_state_dict(state)), told(named(torch, model)), told(model(batch(torch, group)))]
    return found


@program
def optimizer_loaded(torch: Any, group: Any) -> Any:
    model, optimizer, _ = trained(torch, group)
    state = model.optim_state_dict(model, optimizer)
    again, other, _ = trained(torch, group, steps=0)
    other.load_state_dict(again.optim_state_dict_to_load(again, other, state))
    again.load_state_dict({name: value.clone() for name, value in model.state_dict().items()})
    for one, chosen in ((model, optimizer), (again, other)):
        chosen.zero_grad()
        one(batch(torch, group)).sum().backward()
        chosen.step()
    return named(torch, model), named(torch, again)


@program
def without_synchronization(torch: Any, group: Any) -> Any:
    model = spread(torch)
    with model.no_sync():
        model(batch(torch, group)).sum().backward()
    model(batch(torch, group)).sum().backward()
    return told([p.grad for p in model.parameters()])


@program
def clipped(torch: Any, group: Any) -> Any:
    found = []
    for order in (2.0, 1.0, float("inf")):
        for strategy in ("FULL_SHARD", "NO_SHARD"):
            model = spread(torch, sharding_strategy=torch.distributed.fsdp.ShardingStrategy[strategy])
            model(batch(torch, group)).sum().backward()
            norm = model.clip_grad_norm_(0.5, order)
            found += [told(norm), told([p.grad for p in model.parameters()])]
    return found


@program
def dtypes(torch: Any, group: Any) -> Any:
    fsdp = torch.distributed.fsdp
    found = []
    for options in (
        {},
        {"reduce_dtype": torch.float32},
        {"cast_forward_inputs": True, "cast_root_forward_inputs": True},
    ):
        mixed = fsdp.MixedPrecision(param_dtype=torch.bfloat16, **options)
        model = spread(torch, mixed_precision=mixed)
        output = model(batch(torch, group))
        output.sum().backward()
        found += [told(output), told([p.grad for p in model.parameters()]), named(torch, model)]
    return found


@program
def buffers(torch: Any, group: Any) -> Any:
    model = model_of(torch)
    model.register_buffer("mean", torch.arange(3) / 8)
    mixed = torch.distributed.fsdp.MixedPrecision(buffer_dtype=torch.bfloat16)
    model = spread(torch, None, model, mixed_precision=mixed)
    model(batch(torch, group))
    return told(dict(model.named_buffers())), told(model.state_dict())


@program
def summoned(torch: Any, group: Any) -> Any:
    found = []
    for originals in (False, True):
        model = spread(torch, use_orig_params=originals)
        for keeps in (True, False):
            with model.summon_full_params(model, writeback=keeps):
                found.append(named(torch, model))
                with torch.no_grad():
                    for parameter in model.parameters():
                        parameter.add_(1)
            found.append(named(torch, model))
    return found


@program
def frozen(torch: Any, group: Any) -> Any:
    base = model_of(torch)
    base[0].weight.requires_grad_(False)
    base[2].requires_grad_(False)
    model = spread(torch, model=base, use_orig_params=True)
    model(batch(torch, group)).sum().backward()
    return [[name, p.requires_grad, told(p.grad)] for name, p in model.named_parameters()]


@program
def ignored(torch: Any, group: Any) -> Any:
    base = model_of(torch)
    model = spread(torch, None, base, ignored_states=[base[2][0]])
    model(batch(torch, group)).sum().backward()
    return named(torch, model), told([p.grad for p in model.parameters()])


@program
def refused(torch: Any, group: Any) -> Any:
    """The classes of what is raised, and the words where they are of the programmer's mistake."""
    base, doubled = model_of(torch), model_of(torch)
    base[0].weight.requires_grad_(False)
    doubled[0].double()
    wrapped = spread(torch)
    hybrid = torch.distributed.fsdp.ShardingStrategy.HYBRID_SHARD
    found = []
    for call in (
        lambda: spread(torch, None, base),
        lambda: spread(torch, None, doubled),
        lambda: spread(torch, None, sharding_strategy=hybrid),
        lambda: spread(torch, model=wrapped),
    ):
        try:
            call()
        except ValueError as error:
            found.append(str(error).splitlines()[0])
    return found


@program
def gathered_ahead(torch: Any, group: Any) -> Any:
    fsdp = torch.distributed.fsdp
    found = []
    for options in ({"forward_prefetch": True}, {"backward_prefetch": fsdp.BackwardPrefetch.BACKWARD_POST}):
        model = spread(torch, **options)
        optimizer = torch.optim.SGD(model.parameters(), 0.125)
        for _ in range(3):
            optimizer.zero_grad()
            model(batch(torch, group)).sum().backward()
            optimizer.step()
            with torch.no_grad():
                found.append(told(model(batch(torch, group))))
    return found


@program
def summoned_by_some(torch: Any, group: Any) -> Any:
    """Whole parameters for the first rank alone, and gradients with them; what is written to these."""
    fsdp = torch.distributed.fsdp
    found = []
    for originals in (False, True):
        for options in (
            {"rank0_only": True},
            {"rank0_only": True, "writeback": False},
            {"with_grads": True},
            {"with_grads": True, "writeback": False},
        ):
            model = spread(torch, use_orig_params=originals)
            (model(batch(torch, group)) ** 2).sum().backward()

            def look(model: Any = model, options: Any = options) -> Any:
                with fsdp.FullyShardedDataParallel.summon_full_params(model, **options):
                    seen = [
                        [name, list(p.shape), told(p.detach()), told(p.grad) if "with_grads" in options else None]
                        for name, p in model.named_parameters()
                    ]
                    if "with_grads" in options:
                        for number, parameter in enumerate(model.parameters()):
                            parameter.grad.fill_(number)
                return seen

            found.append(or_message(look))
            found.append([None if p.grad is None else told(p.grad) for p in model.parameters()])
    return found
