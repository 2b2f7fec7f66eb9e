"""Learning rate schedulers: PyTorch's rates (snapshots/make_lr_schedulers.py), and what holds for all of them."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
import warnings
import weakref
from pathlib import Path

import pytest

import mt_core as mt
from mt_nn import optim
from mt_nn.optim import lr_scheduler, swa_utils
from mt_nn.parameter import Parameter

COURSES = json.loads((Path(__file__).parent / "snapshots" / "lr_schedulers.json").read_text())
FUNCTIONS = {"decay": lambda epoch: 0.95**epoch, "wobble": lambda epoch: 0.9 + 0.01 * epoch}

#: One of each, with options under which every epoch of ten has a rate.
SCHEDULERS = {
    "LambdaLR": {"lr_lambda": FUNCTIONS["decay"]},
    "MultiplicativeLR": {"lr_lambda": FUNCTIONS["wobble"]},
    "StepLR": {"step_size": 3},
    "MultiStepLR": {"milestones": [2, 5]},
    "ConstantLR": {},
    "LinearLR": {},
    "ExponentialLR": {"gamma": 0.9},
    "PolynomialLR": {"total_iters": 12, "power": 2.0},
    "CosineAnnealingLR": {"T_max": 7, "eta_min": 0.01},
    "CosineAnnealingWarmRestarts": {"T_0": 2, "T_mult": 2},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 3},
    "OneCycleLR": {"max_lr": 0.5, "total_steps": 20},
}
WITH_CLOSED_FORM = [name for name in SCHEDULERS if hasattr(getattr(lr_scheduler, name), "_get_closed_form_lr")]


def optimizer_of(*rates, cls=optim.SGD, **options):
    groups = [{"params": [Parameter(mt.ones(2))], "lr": rate} for rate in rates or (0.1,)]
    return cls(groups, **({"momentum": 0.9} if cls is optim.SGD else {}), **options)


def rates_of(optimizer):
    return [float(group["lr"]) for group in optimizer.param_groups]


def new(name, optimizer, **options):
    cls = getattr(lr_scheduler, name, None) or getattr(swa_utils, name)
    return cls(optimizer, **{**SCHEDULERS.get(name, {}), **options})


def go(optimizer, scheduler, epochs):
    seen = []
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        seen.append(rates_of(optimizer))
    return seen


def build(spec, optimizer):
    given = {
        key: FUNCTIONS.get(value, value) if key == "lr_lambda" else value for key, value in spec["options"].items()
    }
    if "parts" not in spec:
        return new(spec["name"], optimizer, **given)
    parts = [build(part, optimizer) for part in spec["parts"]]
    if spec["name"] == "ChainedScheduler":
        return lr_scheduler.ChainedScheduler(parts)
    return lr_scheduler.SequentialLR(optimizer, parts, **given)


def one_epoch(optimizer, scheduler, epoch):
    optimizer.step()
    scheduler.step(*[epoch[key] for key in ("metric", "epoch") if key in epoch])
    if epoch["reload"]:
        scheduler.load_state_dict(copy.deepcopy(scheduler.state_dict()))
    groups = optimizer.param_groups
    momenta = [group["betas"][0] if "betas" in group else group["momentum"] for group in groups]
    return [rates_of(optimizer), momenta, [float(rate) for rate in scheduler.get_last_lr()]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(len(COURSES)))
def test_follows_the_course_of_pytorch(number):
    course = COURSES[number]

    def rate(value):
        return mt.tensor(value) if course["tensor_lr"] else value

    optimizer = optimizer_of(rate(0.1), rate(0.03), cls=getattr(optim, course["optimizer"]))
    if course["resume"] >= 0:
        for group in optimizer.param_groups:
            group["initial_lr"] = rate(0.2)
    seen, raised, scheduler = [], None, None
    try:
        scheduler = build(course["scheduler"], optimizer)
        for epoch in course["epochs"]:
            seen.append(one_epoch(optimizer, scheduler, epoch))
    except Exception as error:  # noqa: BLE001 - compared with what PyTorch raised
        raised = type(error).__name__
    assert raised == course.get("error")
    for epoch, (found, wanted) in enumerate(zip(seen, course["seen"], strict=True)):
        for one, other in zip(found, wanted, strict=True):
            assert one == pytest.approx(other, rel=1e-5, abs=1e-8), f"epoch {epoch}"
    if "state" in course:
        assert sorted(scheduler.state_dict()) == course["state"]


# What holds for all


@pytest.mark.parametrize("name", SCHEDULERS)
def test_stopping_and_resuming_changes_nothing(name):
    straight = optimizer_of(0.1, 0.03)
    wanted = go(straight, new(name, straight), 9)
    first = optimizer_of(0.1, 0.03)
    scheduler = new(name, first)
    found = go(first, scheduler, 4)
    second = optimizer_of(0.1, 0.03)
    resumed = new(name, second)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    resumed.load_state_dict(pickle.loads(pickle.dumps(scheduler.state_dict())))
    assert found + go(second, resumed, 5) == wanted


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("name", WITH_CLOSED_FORM)
def test_stepping_to_an_epoch_gives_the_rate_of_stepping_through(name):
    through = optimizer_of(0.1)
    for epoch, (wanted,) in enumerate(go(through, new(name, through), 10), start=1):
        at_once = optimizer_of(0.1)
        scheduler = new(name, at_once)
        at_once.step()
        scheduler.step(epoch)
        assert rates_of(at_once) == pytest.approx([wanted], rel=1e-6)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_the_last_rates_are_those_of_the_groups(name):
    optimizer = optimizer_of(0.1, 0.03)
    scheduler = new(name, optimizer)
    for _ in range(5):
        go(optimizer, scheduler, 1)
        assert scheduler.get_last_lr() == rates_of(optimizer)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_rate_in_a_tensor_is_written_into(name):
    rate = mt.tensor(0.1)
    optimizer = optimizer_of(rate)
    scheduler = new(name, optimizer)
    with_number = optimizer_of(0.1)
    twin = new(name, with_number)
    for found, wanted in zip(go(optimizer, scheduler, 6), go(with_number, twin, 6)):
        assert found == pytest.approx(wanted, rel=1e-5)
    assert optimizer.param_groups[0]["lr"] is rate


#: Options that may be tensors, and with which `go` takes another course than without.
BOUNDS = {
    "CyclicLR": {"base_lr": 0.1, "max_lr": 0.3, "base_momentum": 0.6, "max_momentum": 0.8, "step_size_up": 2},
    "OneCycleLR": {"max_lr": 0.1, "base_momentum": 0.6, "max_momentum": 0.8, "total_steps": 10},
    "SWALR": {"swa_lr": 0.05, "anneal_epochs": 3},
}


@pytest.mark.parametrize("in_lists", [False, True])
@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_in_tensors_are_copied(name, in_lists):
    """A group's rate is written into: a bound that was the same tensor would move with it."""

    def course(rate, options, changed):
        optimizer = optimizer_of(rate)
        scheduler = new(name, optimizer, **options)
        found = go(optimizer, scheduler, 2)
        for tensor in changed:
            tensor.mul_(0.5)
        return found + go(optimizer, scheduler, 3), float(optimizer.param_groups[0]["momentum"])

    tensors = {k: mt.tensor(v) for k, v in BOUNDS[name].items() if isinstance(v, float)}
    given = {k: [v] if in_lists else v for k, v in tensors.items()}
    rate = next(iter(tensors.values()))  # the group's own rate is a bound, too
    found, momentum = course(rate, {**BOUNDS[name], **given}, [v for v in tensors.values() if v is not rate])
    wanted, wanted_momentum = course(float(rate_at_start(name)), BOUNDS[name], [])
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, rel=1e-5)
    assert momentum == pytest.approx(wanted_momentum, rel=1e-5)


def rate_at_start(name):
    return next(v for v in BOUNDS[name].values() if isinstance(v, float))


def test_one_cycle_goes_on_from_a_state_that_names_its_function():
    optimizer, twin = optimizer_of(), optimizer_of()
    scheduler, wanted = new("OneCycleLR", optimizer), new("OneCycleLR", twin)
    state = scheduler.state_dict()
    del state["_anneal_func_type"], scheduler._anneal_func_type
    scheduler.load_state_dict({**state, "anneal_func": lr_scheduler.OneCycleLR._annealing_linear})
    wanted.load_state_dict({**wanted.state_dict(), "_anneal_func_type": "linear"})
    assert go(optimizer, scheduler, 5) == go(twin, wanted, 5)


def test_a_scheduler_keeps_no_optimizer_alive():
    optimizer = optimizer_of()
    lr_scheduler.StepLR(optimizer, 1)
    gone = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer
        assert gone() is None
    finally:
        gc.enable()


# The base class


def test_warns_when_stepped_before_the_optimizer():
    optimizer = optimizer_of()
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        lr_scheduler.StepLR(optimizer, 1).step()
    optimizer = optimizer_of()
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match=r"Seems like `optimizer.step\(\)` has been overridden"):
        scheduler.step()


def test_warns_of_deprecated_calls():
    optimizer = optimizer_of()
    scheduler = lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    with pytest.warns(UserWarning, match=r"To get the last learning rate .* please use `get_last_lr\(\)`"):
        scheduler.get_lr()
    with pytest.warns(UserWarning, match=r"The epoch parameter in `scheduler.step\(\)` was not necessary"):
        scheduler.step(3)


def test_does_not_warn_otherwise():
    optimizer = optimizer_of()
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        go(optimizer, scheduler, 12)


def test_wants_an_optimizer_and_initial_rates_to_resume():
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr_scheduler.StepLR(5, 1)
    with pytest.raises(KeyError, match=r"param 'initial_lr' is not specified in param_groups\[0\]"):
        lr_scheduler.StepLR(optimizer_of(), 1, last_epoch=3)


def test_classes_pickle_by_their_public_module():
    # mindtorch gives them PyTorch's.
    assert lr_scheduler.StepLR.__module__ in ("mt_nn.optim.lr_scheduler", "torch.optim.lr_scheduler")
    assert pickle.loads(pickle.dumps(lr_scheduler.CosineAnnealingLR)) is lr_scheduler.CosineAnnealingLR


def test_a_callable_object_keeps_its_attributes_in_the_state():
    class Decay:
        def __init__(self, rate):
            self.rate = rate

        def __call__(self, epoch):
            return self.rate**epoch

    optimizer = optimizer_of()
    scheduler = lr_scheduler.LambdaLR(optimizer, Decay(0.5))
    other = lr_scheduler.LambdaLR(optimizer_of(), Decay(0.9))
    other.load_state_dict(scheduler.state_dict())
    assert other.lr_lambdas[0].rate == 0.5
    assert scheduler.state_dict()["lr_lambdas"] == [{"rate": 0.5}]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda o: lr_scheduler.LambdaLR(o, [FUNCTIONS["decay"]]), "Expected 2 lr_lambdas, but got 1"),
        (
            lambda o: lr_scheduler.ConstantLR(o, factor=2),
            "Constant multiplicative factor expected to be between 0 and 1.",
        ),
        (
            lambda o: lr_scheduler.LinearLR(o, start_factor=0),
            "Starting multiplicative factor expected to be greater than 0",
        ),
        (
            lambda o: lr_scheduler.LinearLR(o, end_factor=2),
            "Ending multiplicative factor expected to be between 0 and 1.",
        ),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 0), "Expected positive integer T_0, but got 0"),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 1, 0), "Expected integer T_mult >= 1, but got 0"),
        (lambda o: lr_scheduler.CyclicLR(o, 0.1, 1.0, mode="x"), "mode is invalid and scale_fn is None"),
        (
            lambda o: lr_scheduler.CyclicLR(o, [0.1], 1.0),
            "base_lr must have the same length as optimizer.param_groups.",
        ),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0), "You must define either total_steps OR"),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=0), "Expected positive integer total_steps, but got 0"),
        (
            lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=5, pct_start=2.0),
            "Expected float between 0 and 1 pct_start",
        ),
        (lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=5, anneal_strategy="x"), "instead got x"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=1.0), "Factor should be < 1.0."),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, mode="x"), "mode x is unknown!"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, threshold_mode="x"), "threshold mode x is unknown!"),
        (lambda o: lr_scheduler.ReduceLROnPlateau(o, min_lr=[1.0]), "expected 2 min_lrs, got 1"),
        (lambda o: lr_scheduler.SequentialLR(o, [], []), "SequentialLR expects at least one scheduler"),
        (
            lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(o, 1)], [1]),
            "Sequential Schedulers expects number of schedulers provided to be one more",
        ),
        (
            lambda o: lr_scheduler.SequentialLR(o, [lr_scheduler.StepLR(optimizer_of(), 1)], []),
            "expects all schedulers to belong to the same optimizer, but got scheduler StepLR at index 0",
        ),
        (lambda o: lr_scheduler.ChainedScheduler([]), "ChainedScheduler expects at least one scheduler to be chained"),
        (
            lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ReduceLROnPlateau(o)]),
            "ChainedScheduler does not support `ReduceLROnPlateau` scheduler",
        ),
        (lambda o: swa_utils.SWALR(o, [0.1]), "swa_lr must have the same length as optimizer.param_groups."),
        (lambda o: swa_utils.SWALR(o, 0.1, anneal_epochs=-1), "anneal_epochs must be equal or greater than 0, got -1"),
    ],
)
def test_refuses_bad_options(make, message):
    with pytest.raises(ValueError, match=message):
        make(optimizer_of(0.1, 0.2))


def test_cycling_the_momentum_needs_one():
    adagrad = optim.Adagrad([Parameter(mt.ones(2))])
    with pytest.raises(
        ValueError, match="optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
    ):
        lr_scheduler.CyclicLR(adagrad, 0.1, 1.0)
    scheduler = lr_scheduler.CyclicLR(adagrad, 0.1, 1.0, step_size_up=2, cycle_momentum=False)
    assert go(adagrad, scheduler, 2)[-1] == [1.0]


def test_one_cycle_ends():
    optimizer = optimizer_of()
    scheduler = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=2)
    with pytest.raises(ValueError, match="Tried to step 3 times. The specified number of total steps is 2"):
        go(optimizer, scheduler, 3)


def test_cyclic_scaling_of_ones_own():
    optimizer = optimizer_of()
    scheduler = lr_scheduler.CyclicLR(
        optimizer, 0.0, 1.0, step_size_up=1, scale_fn=lambda x: 1 / x, cycle_momentum=False
    )
    peaks = [rate for (rate,) in go(optimizer, scheduler, 6)][::2]
    assert peaks == pytest.approx([1.0, 1 / 2, 1 / 3])
    assert scheduler.state_dict()["_scale_fn_custom"] is None


# Plateaus


def test_a_plateau_reduces_after_its_patience_and_rests_in_its_cooldown():
    optimizer = optimizer_of(1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=2)
    seen = []
    for _ in range(9):
        scheduler.step(mt.tensor(1.0))
        seen.append(rates_of(optimizer)[0])
    assert seen == [1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_a_plateau_takes_groups_that_came_later():
    optimizer = optimizer_of(1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0, min_lr=0.4)
    optimizer.add_param_group({"params": [Parameter(mt.ones(2))], "lr": 2.0})
    scheduler.step(1.0)
    scheduler.step(1.0)
    assert rates_of(optimizer) == [0.5, 1.0]
    fixed = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, min_lr=[0.1, 0.1])
    optimizer.add_param_group({"params": [Parameter(mt.ones(2))]})
    fixed.step(1.0)
    with pytest.raises(RuntimeError, match="differs from when `ReduceLROnPlateau` was initialized"):
        fixed.step(1.0)


def test_a_metric_that_is_nan_is_no_improvement():
    optimizer = optimizer_of(1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    scheduler.step(math.nan)
    assert rates_of(optimizer) == [0.5]
    assert scheduler.best == math.inf
